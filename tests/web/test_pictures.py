"""Pictures of every page in every shape, to be looked at: `scripts/pictures FOLDER`.

Both languages, dark and light, three widths, a small and a large cluster, and each state a page can
be in. People look at the pictures; here every page only has to appear and to fit its width.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.server import DanluServer
from tests.web.conftest import PICTURES
from tests.web.filled import Filled
from tests.web.harness import WebHarness
from tests.web.test_many import LARGE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PICTURES is None, reason="set DANLU_TEST_PICTURES to a folder"),
]
LOOKS = [(lang, theme) for lang in ("en", "zh") for theme in ("dark", "light")]
WIDTHS = (1440, 390, 320)


def shoot(web: WebHarness, page: Page, name: str) -> list[str]:
    """At every width. Returns the widths at which the page scrolls sideways."""
    wrong = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900 if width > 1000 else 844})
        page.wait_for_timeout(150)  # the canvas follows the window one frame later
        web.picture(page, f"{name}-{width}")
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wrong.append(f"{name}-{width}")
    page.set_viewport_size({"width": 1440, "height": 900})
    return wrong


@pytest.mark.parametrize(("lang", "theme"), LOOKS)
def test_every_page(filled: Filled, lang: str, theme: str) -> None:
    web, look = filled.web, f"{lang}-{theme}"
    page = web.page(lang, theme)
    page.goto(web.server.url)
    expect(page.locator("input[name=user]")).to_be_visible()
    wrong = shoot(web, page, f"sign-in-{look}")
    page.goto(f"{web.server.url}/sign-up")
    expect(page.locator("input[name=code]")).to_be_visible()
    wrong += shoot(web, page, f"sign-up-{look}")
    web.sign_in(page, filled.me.name)
    for name, (path, sign) in filled.pages().items():
        page.goto(f"{web.server.url}{path}")
        expect(page.locator(sign).first).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        wrong += shoot(web, page, f"{name}-{look}")
    assert wrong == []


@pytest.mark.parametrize(("lang", "theme"), LOOKS)
def test_every_state(filled: Filled, lang: str, theme: str) -> None:
    web, look = filled.web, f"{lang}-{theme}"
    url = web.server.url
    page = web.sign_in(web.page(lang, theme), filled.newcomer.name)
    wrong: list[str] = []
    empty = {"jobs": "/jobs", "environments": "/environments", "account": "/account"}
    for name, path in empty.items():
        page.goto(f"{url}{path}")
        expect(page.locator(".empty, .none").first).to_be_visible()
        wrong += shoot(web, page, f"state-empty-{name}-{look}")
    hidden = {
        "job": f"/jobs/{filled.hidden['id']}",
        "environment": f"/environments/{filled.me.name}~dev",
        "admin": "/admin/users",
    }
    for name, path in hidden.items():
        page.goto(f"{url}{path}")
        expect(page.get_by_role("alert")).to_be_visible()
        wrong += shoot(web, page, f"state-refused-{name}-{look}")

    page.route("**/danlu/v1/jobs*", lambda route: route.fulfill(status=500, body="{}"))
    page.goto(f"{url}/jobs")
    expect(page.get_by_role("alert")).to_be_visible()
    wrong += shoot(web, page, f"state-error-{look}")
    page.unroute_all()

    page.route("**/danlu/v1/stream*", lambda route: None)
    page.route("**/danlu/v1/jobs*", lambda route: None)
    for name, path in {"map": "/", "jobs": "/jobs"}.items():
        page.goto(f"{url}{path}")
        expect(page.locator("header.top")).to_be_visible()
        wrong += shoot(web, page, f"state-loading-{name}-{look}")
    page.unroute_all(behavior="ignoreErrors")

    page.goto(url)
    expect(page.locator(".gpu-row").first).to_be_visible()
    # Only a server that is gone ends the stream: an offline browser keeps what is open.
    web.server.stop()
    try:
        expect(page.locator(".away-bar")).to_be_visible()
        wrong += shoot(web, page, f"state-away-{look}")
    finally:
        web.server.start()
    assert wrong == []


def test_a_large_cluster(browser: Browser, tmp_path: Path) -> None:
    server = DanluServer(tmp_path / "data", LARGE).start()
    web = WebHarness(server, browser, Path(PICTURES or ""))
    try:
        alice, bob = web.people.person(), web.people.person()
        for who, gpus in ((alice, 8), (bob, 5), (bob, 8), (alice, 2), (bob, 3)):
            web.run(who, name="some", gpus=gpus, time_limit="5h")
        wrong: list[str] = []
        for lang, theme in LOOKS:
            page = web.sign_in(web.page(lang, theme), alice.name)
            expect(page.locator(".small-map canvas")).to_have_count(3)
            wrong += shoot(web, page, f"map-1600-{lang}-{theme}")
        assert wrong == []
    finally:
        web.close()
        server.cleanup()
