"""The strip inside JupyterLab and VS Code, in a real browser."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Error, Locator, Page, TimeoutError, expect

from tests.api.harness import eventually
from tests.api.people_harness import Someone
from tests.containers.conftest import docker_daemon
from tests.containers.test_saved_images import config as docker_config
from tests.support.containers import BUSYBOX, ContainerDaemon
from tests.support.server import DanluServer
from tests.support.tools import give, tools_tree, tools_venv
from tests.web.harness import CLUSTER, WebHarness, with_doors

__all__ = ["docker_daemon"]

PATIENCE = 120_000  # milliseconds; VS Code is large, and the machine may be busy
TRIES = 4
HOUR = 3600
WORDS: dict[str, dict[str, str]] = {
    "en": {
        "left": r"^\s*1 h \d+ min left$",
        "more": r"^\s*2 h \d+ min left$",
        "extend": "+1 h",
        "save": "Save",
        "save_on_page": "Save as an image, on Danlu's page",
        "stop": "Stop",
        "stopping": "Stopping",
        "cancel": "Cancel",
        "hour": "One hour more",
        "soon": "dev will be stopped in",
        "only": "Only {owner} can extend",
    },
    "zh": {
        "left": r"^\s*剩余 1 小时 \d+ 分钟$",
        "more": r"^\s*剩余 2 小时 \d+ 分钟$",
        "extend": "延长 1 小时",
        "save": "保存",
        "save_on_page": "在丹炉页面上保存为镜像",
        "stop": "停止",
        "stopping": "正在停止",
        "cancel": "取消",
        "hour": "延长 1 小时",
        "soon": "dev 将在",
        "only": "只有 {owner} 可以延长",
    },
}
ITEM = ".statusbar-item[id*='danlu.strip']"
LANGUAGES = pytest.mark.parametrize("lang", ["en", "zh"])


@pytest.fixture(scope="module")
def server(
    docker_daemon: ContainerDaemon, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DanluServer]:
    config = with_doors(CLUSTER) + docker_config(docker_daemon)
    server = DanluServer(tmp_path_factory.mktemp("strip") / "data", config)
    give(server.data, tools_venv(), tools_tree())
    server.start()
    yield server
    server.cleanup()


@pytest.fixture
def alice(web: WebHarness) -> Someone:
    return web.people.person()


def create(who: Someone, **keys: Any) -> None:
    who.do("POST", "/environments", {"name": "dev", "cpus": 2, "memory": "4G", **keys})
    eventually(lambda: state(who) == "running")


def state(who: Someone) -> str:
    return str(who.get("/environments/dev")["state"])


def ends_at(who: Someone) -> float:
    return float(who.get("/environments/dev")["ends_at"])


def opened(page: Page, tool: str) -> Page:
    """As the button on the environment's page does it, in a tab of its own."""
    with page.expect_popup() as popup:
        page.get_by_role("button", name=re.compile(f"^{tool}")).first.click()
    popup.value.set_default_timeout(PATIENCE)
    return popup.value


def on_page(web: WebHarness, lang: str, who: Someone, owner: Someone) -> Page:
    return web.sign_in(web.page(lang), who.name, f"/environments/{owner.name}~dev")


def strip_of(page: Page) -> Locator:
    strip = page.locator("#danlu-strip")
    expect(strip).to_be_visible(timeout=PATIENCE)
    return strip


def item_of(page: Page) -> Locator:
    """VS Code gives up on extensions in the browser if the machine is too busy to start them within
    a minute; people reload the page then. That breaks off if the page reloads itself at that
    moment, as it does while VS Code has not started.
    """
    item = page.locator(ITEM)
    for _ in range(2):
        try:
            item.wait_for(timeout=PATIENCE)
            return item
        except TimeoutError:
            with contextlib.suppress(Error):
                page.reload()
    item.wait_for(timeout=PATIENCE)
    return item


def saved(web: WebHarness, page: Page, alice: Someone, image: str) -> None:
    """On the page of the platform to which Save has led."""
    expect(page).to_have_url(re.compile(rf"^{web.server.url}/environments/{alice.name}~dev\?save"))
    sheet = page.get_by_role("dialog")
    sheet.locator("input[name=image]").fill(image)
    web.picture(page, f"strip-save-{image.rpartition('/')[2].replace(':', '-')}")
    sheet.locator(".button.primary").click()
    expect(page.locator("[data-save=saved]")).to_be_visible(timeout=PATIENCE)
    assert image in str(alice.get("/images"))
    assert state(alice) == "running"
    page.close()


@LANGUAGES
def test_jupyterlab_shows_the_time_left_extends_saves_and_stops(
    web: WebHarness, alice: Someone, lang: str
) -> None:
    words = WORDS[lang]
    create(alice, time_limit="2h", image=BUSYBOX)
    page = opened(on_page(web, lang, alice, alice), "JupyterLab")
    strip = strip_of(page)
    expect(strip.locator(".time")).to_have_text(re.compile(words["left"]))
    before = ends_at(alice)
    strip.get_by_role("button", name=words["extend"]).click()
    expect(strip.locator(".time")).to_have_text(re.compile(words["more"]))
    assert ends_at(alice) == pytest.approx(before + HOUR, abs=5)
    page.locator(".jp-LauncherCard").first.wait_for()
    web.picture(page, f"strip-lab-{lang}")

    with page.context.expect_page() as popup:
        strip.get_by_role("button", name=words["save"], exact=True).click()
    saved(web, popup.value, alice, f"{alice.name}/from-lab-{lang}:1")

    strip.get_by_role("button", name=words["stop"]).click()
    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_contain_text("dev")
    web.picture(page, f"strip-lab-stop-{lang}")
    dialog.get_by_role("button", name=words["cancel"]).click()
    assert state(alice) == "running"
    strip.get_by_role("button", name=words["stop"]).click()
    page.locator(".jp-Dialog").get_by_role("button", name=words["stop"]).click()
    expect(strip.locator(".time")).to_have_text(words["stopping"])
    eventually(lambda: state(alice) == "stopped")


@LANGUAGES
def test_vs_code_shows_the_time_left_extends_saves_and_stops(
    web: WebHarness, alice: Someone, lang: str
) -> None:
    words = WORDS[lang]
    create(alice, time_limit="2h", image=BUSYBOX)
    item = item_of(page := opened(on_page(web, lang, alice, alice), "VS Code"))
    expect(item).to_have_text(re.compile(words["left"]), timeout=PATIENCE)
    before = ends_at(alice)
    chosen(page, item, words["hour"])
    expect(item).to_have_text(re.compile(words["more"]))
    assert ends_at(alice) == pytest.approx(before + HOUR, abs=5)
    web.picture(page, f"strip-code-{lang}")

    with page.context.expect_page() as popup:
        chosen(page, item, words["save_on_page"])
    saved(web, popup.value, alice, f"{alice.name}/from-code-{lang}:1")

    chosen(page, item, words["stop"])
    dialog = page.locator(".monaco-dialog-box")
    expect(dialog).to_contain_text("dev")
    web.picture(page, f"strip-code-stop-{lang}")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert state(alice) == "running"
    chosen(page, item, words["stop"])
    dialog.get_by_role("button", name=words["stop"]).click()
    eventually(lambda: state(alice) == "stopped")


def chosen(page: Page, item: Locator, what: str) -> None:
    """From the menu of the status bar's item. VS Code closes a menu when something else takes the
    focus, as parts of it do that open late on a busy machine; people click again then.
    """
    found = page.locator(".quick-input-list").get_by_text(what)
    for _ in range(TRIES - 1):
        item.click()
        try:
            found.click(timeout=PATIENCE / TRIES)
            return
        except TimeoutError:
            page.keyboard.press("Escape")
    item.click()
    found.click()


def test_an_end_that_is_near_is_warned_of(web: WebHarness, alice: Someone) -> None:
    create(alice, time_limit="9m")
    page = opened(on_page(web, "en", alice, alice), "JupyterLab")
    strip = strip_of(page)
    expect(strip.locator(".save")).to_be_hidden()  # without an image there is nothing to save
    warning = page.locator(".jp-toastContainer, .Toastify").get_by_text(WORDS["en"]["soon"])
    expect(warning).to_be_visible(timeout=PATIENCE)
    web.picture(page, "strip-lab-soon-en")
    page.get_by_role("button", name=WORDS["en"]["hour"]).last.click()
    expect(strip.locator(".time")).to_have_text(re.compile(r"^1 h \d+ min left$"))


def test_who_it_is_shared_with_sees_the_time_and_no_buttons(
    web: WebHarness, alice: Someone
) -> None:
    bob = web.people.person()
    create(alice, time_limit="2h")
    alice.do("PUT", f"/environments/dev/shares/{bob.name}")
    page = on_page(web, "en", bob, alice)
    strip = strip_of(opened(page, "JupyterLab"))
    expect(strip.locator(".time")).to_have_text(re.compile(WORDS["en"]["left"]))
    for name in (".extend", ".save", ".stop"):
        expect(strip.locator(name)).to_be_hidden()
    code = opened(page, "VS Code")
    item_of(code).click()
    only = WORDS["en"]["only"].format(owner=alice.name)
    expect(code.locator(".quick-input-list")).to_contain_text(only, timeout=PATIENCE)
