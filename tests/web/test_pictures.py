"""Pictures of every page in every shape, to be looked at: `scripts/pictures FOLDER`.

Both languages, dark and light, three widths, a small and a large cluster, and each state a page can
be in. People look at the pictures; here every page only has to appear and to fit its width.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.harness import Job
from tests.api.people_harness import PASSWORD, Someone, caller, public_key
from tests.support.server import DanluServer
from tests.web.conftest import PICTURES
from tests.web.harness import CLUSTER, WebHarness
from tests.web.test_many import LARGE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PICTURES is None, reason="set DANLU_TEST_PICTURES to a folder"),
]
LOOKS = [(lang, theme) for lang in ("en", "zh") for theme in ("dark", "light")]
WIDTHS = (1440, 390, 320)
TRAINING = r"""
for i in $(seq 1 400); do printf 'step %05d loss 0.%04d lr 1.8e-05\n' $i $((9999 - i * 20)); done
printf '\033[33mWARN\033[0m dataloader waited 1.8 s\n'
printf '10%%\r60%%\r100%% saved\n'
sleep 1000
"""


@dataclass
class Filled:
    web: WebHarness
    me: Someone  # an admin who leads a group
    newcomer: Someone
    running: Job
    waiting: Job
    failed: Job
    hidden: Job

    def pages(self) -> dict[str, tuple[str, str]]:
        """Address, and what is there once it is drawn."""
        (group,) = self.me.get("/whoami")["leads"]
        admin = ("users", "invitations", "groups", "quotas", "queues", "nodes", "volumes")
        return {
            "map": ("/", ".gpu-row"),
            "map-table": ("/?table=1", "[data-twin] td"),
            "map-wall": ("/?wall=1", ".gpu-row"),
            "submit": ("/submit", ".verdict .sentence"),
            "jobs": ("/jobs?owner=all", "tbody tr"),
            "job-waiting": (f"/jobs/{self.waiting['id']}", ".why-card .sentence"),
            "job-running": (f"/jobs/{self.running['id']}", ".charts figure"),
            "job-failed": (f"/jobs/{self.failed['id']}", ".end-card"),
            "account": ("/account", ".manage .table"),
            "group": (f"/group/{group}", ".usage"),
            **{f"admin-{tab}": (f"/admin/{tab}", ".manage") for tab in (*admin, "audit", "backup")},
        }


@pytest.fixture(scope="module")
def filled(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    server = DanluServer(tmp_path_factory.mktemp("pictures") / "data", CLUSTER).start()
    web = WebHarness(server, browser, Path(PICTURES or ""))
    yield fill(web)
    web.close()
    server.cleanup()


def fill(web: WebHarness) -> Filled:
    people = web.people
    group = people.group()
    me, bob = people.person(leads=group, name="zhangyue"), people.person(group, name="bob")
    alice, hui = people.person(group, name="alice"), people.person(name="wanghui")
    people.admin.do("PATCH", f"/users/{me.name}", {"role": "admin", "full_name": "张悦"})
    people.admin.do("PUT", f"/quotas/user/{me.name}", {"gpus": 8})
    people.admin.do("PUT", f"/quotas/group/{group}", {"gpus": 12, "guaranteed": 4})
    people.admin.do("PUT", "/queues/vision", {"nodes": ["n3", "n4"], "order": "fair"})
    me.do("POST", "/ssh-keys", {"key": public_key("zhangyue@laptop")})
    me.do("POST", "/tokens", {"label": "nightly evaluation"})
    with caller(web.server, None) as http:
        asked = {"name": "newstudent", "password": PASSWORD, "group": group, "note": "from Mon"}
        assert http.post("/sign-up", json=asked).status_code == 201
    web.run(alice, name="mnist", gpus=2, time_limit="3h", group=group)
    running = web.run(me, name="vit-base", gpus=1, time_limit="9h", group=group, command=TRAINING)
    web.run(bob, name="a-rather-long-name-for-a-job", gpus=2, group=group)
    web.run(hui, name="clip-zh", gpus=4, time_limit="14h")
    web.run(hui, name="seg", gpus=3, time_limit="4h")
    people.admin.do("POST", "/nodes/n4/drain", {"reason": "new power supply"})
    waiting = web.queue(me, name="llava-ft", gpus=4, time_limit="5h", group=group)
    web.queue(bob, name="bert", gpus=5, time_limit="8h", group=group)
    web.queue(alice, name="sweep", gpus=1, array="0-7", held=True, group=group)
    failed = web.queue(
        me, name="swin", group=group, command="echo 'CUDA out of memory' >&2; exit 1"
    )
    web.harness.wait(failed)
    hidden = web.queue(hui, name="secret", held=True)
    return Filled(web, me, people.person(), running, waiting, failed, hidden)


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
    for name, path in {"jobs": "/jobs", "account": "/account"}.items():
        page.goto(f"{url}{path}")
        expect(page.locator(".empty, .none").first).to_be_visible()
        wrong += shoot(web, page, f"state-empty-{name}-{look}")
    for name, path in {"job": f"/jobs/{filled.hidden['id']}", "admin": "/admin/users"}.items():
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
