"""A day in an environment, in a real browser: created on the page, JupyterLab, VS Code, a terminal,
TensorBoard, while the server and the gateway are killed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.api.harness import eventually
from tests.api.people_harness import Someone
from tests.support.events import for_everybody
from tests.support.server import DanluServer
from tests.support.tools import give, tools_tree, tools_venv
from tests.web.harness import CLUSTER, WebHarness, with_doors

TRIES = 4
PATIENCE = 120_000  # milliseconds; VS Code is large, and the machine may be busy
STARTING = 2 * PATIENCE  # until a tool is there that nobody has opened before
WORDS = {
    "en": {
        "create": "Create and start",
        "running": "Running",
        "terminal": "Terminal",
        "lost": "Connection lost",
    },
    "zh": {
        "create": "创建并启动",
        "running": "运行中",
        "terminal": "终端",
        "lost": "连接已断开",
    },
}
LANGUAGES = pytest.mark.parametrize("lang", ["en", "zh"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    server = DanluServer(tmp_path_factory.mktemp("tools") / "data", with_doors(CLUSTER))
    give(server.data, tools_venv(), tools_tree())
    server.start()
    yield server
    server.cleanup()


@pytest.fixture
def alice(web: WebHarness) -> Someone:
    return web.people.person()


def created(web: WebHarness, alice: Someone, lang: str) -> Page:
    """With the form. Its page, once it runs."""
    page = web.sign_in(web.page(lang), alice.name, "/environments/new")
    expect(page.locator(".verdict.go .sentence")).to_be_visible()
    page.locator(".right").get_by_role("button", name=WORDS[lang]["create"]).click()
    expect(page.locator(".page-head .badge.go")).to_contain_text(WORDS[lang]["running"])
    return page


def opened(page: Page, button: re.Pattern[str]) -> Page:
    """As the button on the environment's page does it, in a tab of its own."""
    with page.expect_popup() as popup:
        page.get_by_role("button", name=button).first.click()
    popup.value.set_default_timeout(PATIENCE)
    return popup.value


def contents(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def home(web: WebHarness, who: Someone) -> Path:
    return web.server.data / "home" / who.name


# -- what people do in each ------------------------------------------------------------------------


def new_notebook(lab: Page) -> None:
    lab.locator('.jp-LauncherCard[data-category="Notebook"]').first.click(timeout=STARTING)
    lab.locator(".jp-Notebook .jp-CodeCell .cm-content").first.wait_for()
    lab.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()


def ran(lab: Page, code: str, answer: str) -> None:
    """A cell of its own at the end, and what it printed. Asks again, as people do, where the
    notebook was not listening yet.
    """
    output = lab.locator(".jp-OutputArea-output", has_text=answer)
    for _ in range(TRIES):
        cells = lab.locator(".jp-Notebook .jp-CodeCell")
        lab.keyboard.press("Escape")
        last = cells.last.locator(".cm-content")
        last.click()
        lab.keyboard.press("Control+A")
        lab.keyboard.insert_text(code)
        expect(last).to_have_text(code)
        lab.keyboard.press("Shift+Enter")
        try:
            expect(output.first).to_be_visible(timeout=PATIENCE / TRIES)
            return
        except AssertionError:
            continue
    expect(output.first).to_be_visible(timeout=PATIENCE)


def edited(code: Page, file: Path) -> None:
    """A file that says `first`, in VS Code."""
    code.locator(".explorer-viewlet").get_by_text(file.name).click(timeout=STARTING)
    code.locator(".monaco-editor", has_text="first").first.click()
    code.keyboard.press("Control+Home")
    code.keyboard.type("edited ")
    code.keyboard.press("Control+S")
    eventually(lambda: contents(file) == "edited first\n")


def typed_in_vs_code(code: Page, command: str, makes: Path) -> None:
    code.locator(".terminal-wrapper.active .xterm-screen").click()
    code.keyboard.type(f"{command} > {makes.name}\n")
    eventually(lambda: contents(makes) == "42\n")


def typed(page: Page, command: str, answer: str) -> None:
    """In the terminal on the environment's own page."""
    page.locator(".xterm-helper-textarea").focus()
    page.keyboard.type(f"{command}\n")
    expect(page.locator(".xterm-rows")).to_contain_text(answer)


@LANGUAGES
def test_a_notebook_an_editor_and_a_terminal_go_on_while_the_server_restarts(
    web: WebHarness, alice: Someone, lang: str
) -> None:
    """And when the gateway is killed: kernels, shells and editors live in the task."""
    words = WORDS[lang]
    page, folder = created(web, alice, lang), home(web, alice)
    lab = opened(page, re.compile("^JupyterLab"))
    new_notebook(lab)
    ran(lab, "x = 6 * 7; print('x is', x); print('first', file=open('hello.txt', 'w'))", "x is 42")
    code = opened(page, re.compile("^VS Code"))
    edited(code, folder / "hello.txt")
    code.keyboard.press("Control+`")
    typed_in_vs_code(code, "half=21; echo $((half * 2))", folder / "made.txt")
    page.get_by_role("button", name=re.compile("^" + words["terminal"])).click()
    expect(page.locator(".xterm-rows")).to_contain_text("$")
    typed(page, "kept=ye; echo before-${kept}s", "before-yes")

    web.server.kill()
    lost = page.get_by_text(words["lost"])
    expect(lost).to_be_visible()
    ran(lab, "print('still', x + 1)", "still 43")
    typed_in_vs_code(code, "echo $((half + half))", folder / "while-away.txt")
    web.server.start()
    ran(lab, "print('again', x + 2)", "again 44")
    typed_in_vs_code(code, "echo $((half + 21))", folder / "again.txt")
    expect(lost).to_have_count(0, timeout=PATIENCE)
    expect(page.locator(".xterm-rows")).to_contain_text("before-yes")
    typed(page, "echo after-${kept}s", "after-yes")
    web.picture(page, f"environment-after-a-restart-{lang}")

    web.server.end_gateway()
    eventually(lambda: web.server.gateway is not None)
    ran(lab, "print('after', x + 3)", "after 45")


@LANGUAGES
def test_tensorboard_shows_a_curve(web: WebHarness, alice: Someone, lang: str) -> None:
    events = for_everybody(web.server.data.parent / "events")
    copy = f"mkdir -p /userhome/runs/first && cp {events}/* /userhome/runs/first"
    web.harness.until(web.queue(alice, name="train", command=copy), "succeeded")
    board = opened(created(web, alice, lang), re.compile("TensorBoard"))
    expect(board.get_by_text("loss").first).to_be_visible(timeout=STARTING)
    curve = board.locator("line-chart canvas, line-chart svg path").first
    expect(curve).to_be_visible(timeout=PATIENCE)
    web.picture(board, f"environment-tensorboard-{lang}")
