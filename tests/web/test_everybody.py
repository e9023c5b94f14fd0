"""The pages are for everybody: screen readers, keyboards, narrow screens, both languages."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.web.axe import serious
from tests.web.harness import WebHarness


@pytest.mark.parametrize(("lang", "theme"), [("en", "dark"), ("zh", "light")])
def test_no_page_has_a_serious_flaw_or_scrolls_sideways(
    web: WebHarness, lang: str, theme: str
) -> None:
    alice, bob = web.people.person(), web.people.person()
    running = web.run(alice, name="a-name-that-is-rather-long-to-read", gpus=2, time_limit="3h")
    for _ in range(3):
        web.run(bob, name="long", gpus=5, time_limit="2h")
    waiting = web.queue(alice, name="waits", gpus=5, time_limit="1h")
    failed = web.queue(alice, name="fails", command="echo boom >&2; exit 3")
    web.harness.wait(failed)
    page = web.page(lang, theme)
    page.goto(web.server.url)
    expect(page.locator("input[name=user]")).to_be_visible()
    assert serious(page) == []
    web.sign_in(page, alice.name)
    places = {
        "map": ("/", ".gpu-row"),
        "table": ("/?table=1", "[data-twin]"),
        "submit": ("/submit", ".verdict .sentence"),
        "jobs": ("/jobs", "tbody tr"),
        "waiting": (f"/jobs/{waiting['id']}", ".why-card .sentence"),
        "running": (f"/jobs/{running['id']}", ".log"),
        "ended": (f"/jobs/{failed['id']}", ".end-card"),
        "account": ("/account", "input[name=key]"),
        "nothing": ("/no/such/page", "h1"),
    }
    wrong: dict[str, list[str]] = {}
    for name, (path, sign) in places.items():
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto(f"{web.server.url}{path}")
        expect(page.locator(sign).first).to_be_visible()
        expect(page.locator("h1")).to_have_count(1)
        web.picture(page, f"{name}-{lang}-{theme}-1440")
        wrong[name] = serious(page)
        for width in (390, 320):
            page.set_viewport_size({"width": width, "height": 800})
            wide = page.evaluate("document.documentElement.scrollWidth")
            if wide > width:
                wrong[name].append(f"{wide} pixels at {width}")
            web.picture(page, f"{name}-{lang}-{theme}-{width}")
    assert {name: found for name, found in wrong.items() if found} == {}
