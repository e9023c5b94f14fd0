"""On a phone nothing is cut, squeezed or out of line."""

from __future__ import annotations

from functools import partial

from playwright.sync_api import Page, expect

from tests.support.waiting import until
from tests.web.filled import Filled
from tests.web.harness import WebHarness

_WIDER = """() => [...document.querySelectorAll('.manage .list')]
    .filter((each) => each.scrollWidth > each.clientWidth)
    .map((each) => each.innerText.slice(0, 60))"""
_AT_THE_EDGE = """() => [...document.querySelectorAll('.manage .table tr')]
    .map((row) => [...row.children].filter((cell) => cell.offsetWidth > 0).at(-1))
    .filter((cell) => parseFloat(getComputedStyle(cell).paddingRight) < 12)
    .map((cell) => cell.innerText)"""
_TOMORROW = """() => {
    const times = document.querySelectorAll('.when b, .causes .table td:last-child');
    for (const each of times) each.textContent = 'tomorrow 02:53';
    return document.documentElement.scrollWidth;
}"""
_SPLIT = """(names) => names.filter((name) => {
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let text = walk.nextNode(); text !== null; text = walk.nextNode()) {
        if (text.data !== name) continue;
        const range = document.createRange();
        range.selectNodeContents(text);
        if (new Set([...range.getClientRects()].map((each) => each.top)).size > 1) return true;
    }
    return false;
})"""


def _lines(page: Page, selector: str) -> list[int]:
    """How many of these stand beside each other, line by line."""
    boxes = [each.bounding_box() for each in page.locator(selector).all()]
    tops = [round(box["y"]) for box in boxes if box is not None]
    return [tops.count(top) for top in sorted(set(tops))]


def _stand(page: Page, lines: list[int]) -> bool:
    return _lines(page, ".figure") == lines


def _squeezed(page: Page) -> list[str]:
    names = ["zhangyue", "alice", "bob", "newstudent", "default", "vision"]
    found: list[str] = page.evaluate(_WIDER) + page.evaluate(_AT_THE_EDGE)
    return found + page.evaluate(_SPLIT, names)


def test_tables_keep_their_names_and_edges(filled: Filled) -> None:
    web = filled.web
    page = web.sign_in(web.page(width=320, height=800), filled.me.name)
    pages = filled.pages()
    wrong: dict[str, list[str]] = {}
    for name in ("group", "account", "admin-users", "admin-queues", "admin-nodes", "admin-quotas"):
        path, sign = pages[name]
        page.goto(f"{web.server.url}{path}")
        expect(page.locator(sign).first).to_be_visible()
        for width in (320, 390):
            page.set_viewport_size({"width": width, "height": 800})
            if found := _squeezed(page):
                wrong[f"{name}-{width}"] = found
    assert wrong == {}


def test_figures_stand_in_pairs(filled: Filled) -> None:
    web = filled.web
    page = web.sign_in(web.page(width=390, height=844), filled.me.name)
    for name, lines in {"map": [2, 2, 1], "map-wall": [2, 2], "group": [2, 2]}.items():
        path, sign = filled.pages()[name]
        page.goto(f"{web.server.url}{path}")
        expect(page.locator(sign).first).to_be_visible()
        until(partial(_stand, page, lines))


def test_times_and_rows_are_not_squeezed(filled: Filled) -> None:
    web = filled.web
    page = web.sign_in(web.page("zh", width=390, height=844), filled.me.name)
    page.goto(f"{web.server.url}/jobs/{filled.waiting['id']}")
    cells = page.locator(".causes .table td:last-child")
    expect(cells.first).to_be_visible()
    style = "(cells) => cells.map((each) => getComputedStyle(each).whiteSpace)"
    assert set(cells.evaluate_all(style)) == {"nowrap"}
    page.goto(f"{web.server.url}/?table=1")
    expect(page.locator("[data-twin] tbody tr").first).to_be_visible()
    heights = page.locator("[data-twin] tbody tr").evaluate_all(
        "(rows) => rows.map((row) => row.offsetHeight)"
    )
    assert max(heights) <= 2 * min(heights)


def test_a_start_tomorrow_fits_a_phone(filled: Filled) -> None:
    """It is longer than one of today."""
    web = filled.web
    page = web.sign_in(web.page(width=320, height=800), filled.me.name)
    for name in ("job-waiting", "environment-waiting"):
        path, sign = filled.pages()[name]
        page.goto(f"{web.server.url}{path}")
        expect(page.locator(sign).first).to_be_visible()
        expect(page.locator(".causes .table td").first).to_be_visible()
        wide = page.evaluate(_TOMORROW)
        assert wide <= 320, name


def test_the_name_over_the_door_is_one_line_in_the_middle(web: WebHarness) -> None:
    page = web.page("zh", width=320, height=800)
    page.goto(web.server.url)
    brand = page.locator(".door .brand")
    expect(brand).to_be_visible()
    box = brand.bounding_box()
    assert box is not None
    assert box["height"] <= 40
    assert abs(box["x"] + box["width"] / 2 - 160) <= 2
    assert brand.evaluate("(each) => each.scrollWidth <= each.clientWidth")
