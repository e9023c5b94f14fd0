"""The map of a demo: usage of each GPU, and every state a GPU can be in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.demo import Visitor
from tests.web.axe import serious

PICTURES = os.environ.get("DANLU_TEST_PICTURES")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    visitor = Visitor(tmp_path_factory.mktemp("demo"))
    visitor.start()
    yield visitor
    visitor.interrupt()


def opened(
    browser: Browser,
    demo: Visitor,
    path: str = "/",
    who: str = "zhangyue",
    lang: str = "en",
    theme: Literal["dark", "light"] = "dark",
) -> Page:
    context = browser.new_context(
        viewport={"width": 1440, "height": 900},
        locale="zh-CN" if lang == "zh" else "en-GB",
        color_scheme=theme,
    )
    page = context.new_page()
    page.goto(f"{demo.address()}{path}")
    page.locator("input[name=user]").fill(who)
    page.locator("input[name=password]").fill(demo.password())
    page.locator("button.primary").click()
    expect(page.locator("[data-figure=free] b").first).to_be_visible()
    expect(page.locator(".gpu .busy").first).to_be_visible()
    return page


def figure(page: Page, name: str) -> int:
    found = page.locator(f"[data-figure={name}] b").first
    return int(found.inner_text()) if found.count() else 0


def test_every_gpu_is_drawn_with_its_state_and_the_numbers_add_up(
    browser: Browser, demo: Visitor
) -> None:
    page = opened(browser, demo)
    expect(page.locator(".demo")).to_contain_text("made up")
    expect(page.locator(".gpu")).to_have_count(20)
    expect(page.locator(".block.idle")).to_contain_text("notebook")
    expect(page.locator(".block.idle")).to_contain_text(re.compile(r"idle 3 h"))
    expect(page.locator(".block.outside")).to_have_count(1)
    expect(page.locator(".block.down")).to_contain_text("Xid 48")
    expect(page.locator(".block.mine .busy").first).to_contain_text("%")
    expect(page.locator(".block.mine svg.recent").first).to_be_visible()
    cells = {
        kind: page.locator(f".block.{kind} .gpu").count()
        for kind in ("free", "mine", "others", "idle", "reserved", "outside", "down")
    }
    assert sum(cells.values()) == 20
    assert figure(page, "free") == cells["free"]
    assert figure(page, "idle") == cells["idle"] == 1
    assert figure(page, "quota") == cells["mine"]
    assert figure(page, "out") == cells["down"] == 1
    held = cells["mine"] + cells["others"] + cells["idle"]
    expect(page.locator("[data-figure=waiting]")).to_contain_text(f"{held} of 20 GPUs in use")
    expect(page.locator("[data-figure=free]")).to_contain_text("1 outside")
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / "demo-map.png")


def test_the_table_has_the_same_numbers(browser: Browser, demo: Visitor) -> None:
    page = opened(browser, demo)
    page.get_by_role("button", name="Table").click()
    expect(page.locator("[data-twin] tbody tr")).to_have_count(4)
    total = 0
    for row in page.locator("[data-twin] tbody tr").all():
        numbers = [int(row.locator("td").nth(at).inner_text()) for at in range(1, 7)]
        assert numbers[0] == sum(numbers[1:]) == 5
        total += numbers[0]
    assert total == 20


def test_a_wall_display_shows_the_map_without_controls(browser: Browser, demo: Visitor) -> None:
    page = opened(browser, demo)
    page.get_by_role("button", name="Wall display").click()
    expect(page.locator(".gpu")).to_have_count(20)
    expect(page.locator("header.top")).not_to_be_visible()
    expect(page.locator(".page-head")).not_to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.keyboard.press("Escape")
    expect(page.locator("header.top")).to_be_visible()


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_every_state_of_a_gpu_is_readable_for_everybody(
    browser: Browser, demo: Visitor, theme: Literal["dark", "light"]
) -> None:
    page = opened(browser, demo, theme=theme)
    wrong: dict[str, list[str]] = {}
    for path in ("/", "/?fits=5", "/?wall=1"):
        page.goto(f"{demo.address()}{path}")
        expect(page.locator(".gpu .busy").first).to_be_visible()
        wrong[path] = serious(page)
    assert {path: found for path, found in wrong.items() if found} == {}
