"""JupyterLab, VS Code and TensorBoard of an environment in a real browser, across a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.gateway.client import Client, eventually
from tests.gateway.web import WebServer
from tests.support.parts import need
from tests.support.tools import give, tools_tree, tools_venv

TRIES = 4
PATIENCE = 120_000  # milliseconds; VS Code is large, and the machine may be busy
EVENTS = """
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
writer = EventFileWriter("/userhome/runs/first")
for step in range(20):
    value = Summary.Value(tag="loss", simple_value=1 / (step + 1))
    writer.add_event(Event(step=step, wall_time=step, summary=Summary(value=[value])))
writer.close()
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    server = WebServer(tmp_path_factory.mktemp("tools") / "data")
    give(server.data, tools_venv(), tools_tree())
    server.start()
    yield server
    server.cleanup()


@pytest.fixture(scope="module")
def alice(site: WebServer) -> Client:
    person = site.person("alice")
    person.call("POST", "/environments", {"name": "dev", "cpus": 2, "memory": "4G"})
    eventually(lambda: person.call("GET", "/environments/dev")["state"] == "running")
    person.job = "dev"
    return person


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = need("chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        yield launched
        launched.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


def opened(context: BrowserContext, alice: Client, door: str) -> Page:
    url = alice.call("POST", "/jobs/dev/doors", {"door": door})["url"]
    page = context.new_page()
    answer = page.goto(url, timeout=PATIENCE)
    assert answer is not None
    # On a crowded machine it takes its time to start: the page says so and tries again by itself.
    assert answer.status in (200, 503)
    return page


def home(site: WebServer) -> Path:
    return site.data / "home" / "alice"


def contents(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def ran(page: Page, code: str, answer: str) -> None:
    """A cell of its own at the end, and what it printed. Asks again, as people do, where the
    notebook was not listening yet.
    """
    output = page.locator(".jp-OutputArea-output", has_text=answer)
    for _ in range(TRIES):
        cells = page.locator(".jp-Notebook .jp-CodeCell")
        page.keyboard.press("Escape")
        last = cells.last.locator(".cm-content")
        last.click()
        page.keyboard.press("Control+A")
        page.keyboard.insert_text(code)
        expect(last).to_have_text(code)
        page.keyboard.press("Shift+Enter")
        try:
            expect(output.first).to_be_visible(timeout=PATIENCE / TRIES)
            return
        except AssertionError:
            continue
    expect(output.first).to_be_visible(timeout=PATIENCE)


def test_a_notebook_goes_on_while_the_server_restarts(
    context: BrowserContext, site: WebServer, alice: Client
) -> None:
    """And when the gateway is killed: kernels live in the task."""
    page = opened(context, alice, "lab")
    page.locator('.jp-LauncherCard[data-category="Notebook"]').first.click()
    page.locator(".jp-Notebook .jp-CodeCell .cm-content").first.wait_for(timeout=PATIENCE)
    page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for(timeout=PATIENCE)
    ran(page, "x = 6 * 7; print('x is', x)", "x is 42")
    site.kill()
    ran(page, "print('still', x + 1)", "still 43")
    site.launch()
    site.wait_until_up()
    ran(page, "print('again', x + 2)", "again 44")
    site.end_gateway()
    eventually(lambda: site.gateway is not None)
    ran(page, "print('after', x + 3)", "after 45")


def test_vs_code_edits_a_file_and_has_a_terminal(
    context: BrowserContext, site: WebServer, alice: Client
) -> None:
    alice.said("echo first > ~/hello.txt")
    page = opened(context, alice, "code")
    page.locator(".explorer-viewlet").get_by_text("hello.txt").click()
    editor = page.locator(".monaco-editor", has_text="first")
    editor.first.click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("edited ")
    page.keyboard.press("Control+S")
    eventually(lambda: contents(home(site) / "hello.txt") == "edited first\n")
    page.keyboard.press("Control+`")
    page.locator(".terminal-wrapper.active .xterm-screen").click()
    page.keyboard.type("echo $((40 + 2)) > made.txt\n")
    eventually(lambda: contents(home(site) / "made.txt") == "42\n")


def test_tensorboard_shows_a_curve(context: BrowserContext, alice: Client) -> None:
    python = "$DANLU_TOOLS/bin/python"
    alice.said(f"mkdir -p ~/runs && {python} -I - <<'END'\n{EVENTS}\nEND")
    page = opened(context, alice, "tensorboard")
    expect(page.get_by_text("loss").first).to_be_visible(timeout=PATIENCE)
    expect(page.locator("svg path.line, line-chart, canvas").first).to_be_attached()
