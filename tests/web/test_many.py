"""A cluster of 1,600 GPUs: one picture that can be read, walked and added up."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.server import DanluServer
from tests.web.axe import serious
from tests.web.conftest import PICTURES
from tests.web.harness import WebHarness

MODELS = {"a800": (96, "A800"), "rtx": (72, "RTX4090"), "v": (32, "V100")}
LARGE = "[server]\ncircle_of_trust = true\n" + "".join(
    f'[[nodes]]\nname = "{stem}-{number:02}"\ncpus = 64\nmemory = "512G"\ngpus = "8:{model}"\n'
    for stem, (count, model) in MODELS.items()
    for number in range(1, count + 1)
)


def _free(page: Page) -> int:
    """Of all rows of the table behind the map."""
    texts = page.locator("[data-twin] tbody tr td:nth-of-type(3)").all_inner_texts()
    return sum(int(text) for text in texts)


@pytest.mark.slow
def test_the_map_of_many_gpus(browser: Browser, tmp_path: Path) -> None:
    server = DanluServer(tmp_path / "data", LARGE).start()
    web = WebHarness(server, browser, Path(PICTURES) if PICTURES else None)
    try:
        alice, bob = web.people.person(), web.people.person()
        for who, gpus in ((alice, 8), (bob, 5), (bob, 8), (alice, 2)):
            last = web.run(who, name="some", gpus=gpus)
        page = web.sign_in(web.page(), alice.name)
        expect(page.locator(".small-map canvas")).to_have_count(3)
        expect(page.locator("[data-figure=free]")).to_contain_text("1577/ 1600")
        expect(page.locator("[data-twin] tbody tr")).to_have_count(200)
        assert _free(page) == 1577
        page.locator(".small-map .canvas").first.focus()
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("ArrowRight")
        expect(page.locator(".ring")).to_be_visible()
        expect(page.locator(".tip")).to_contain_text("a800-02")
        web.picture(page, "map-1600")
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        web.picture(page, "map-1600-390")
        web.harness.stop(last, now=True)
        expect(page.locator("[data-figure=free]")).to_contain_text("1579/ 1600")
        # The hidden table follows in parts; its caption comes when all of its rows are there.
        expect(page.locator("[data-twin] caption")).to_contain_text("1579")
        assert _free(page) == 1579
        for theme in ("dark", "light"):
            page = web.sign_in(web.page(theme=theme), alice.name)
            expect(page.locator(".small-map canvas")).to_have_count(3)
            assert serious(page) == []
    finally:
        web.close()
        server.cleanup()
