"""Environments in the browser: created, entered, stopped, started again, shared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.api.harness import eventually
from tests.api.people_harness import Someone
from tests.support.events import for_everybody
from tests.support.folders import open_python
from tests.support.server import DanluServer
from tests.support.tools import give, tools_venv
from tests.web.axe import serious
from tests.web.harness import CLUSTER, WebHarness, with_doors

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "title": "Environments",
        "new": "New environment",
        "name": "Name",
        "now": "Starts now",
        "create": "Create and start",
        "queue": "Create and queue",
        "running": "Running",
        "waiting": "Waiting",
        "terminal": "Terminal",
        "stop": "Stop",
        "stopped": "Stopped by",
        "again": "Start again",
        "delete": "Delete",
        "person": "Name of the person",
        "share": "Share",
        "remove": "Remove",
        "extend": "1 h more",
        "idle": "Nobody uses it",
        "idle_end": "its idle limit",
        "used": "Still in use",
        "drop": "Drop the GPU",
        "drops": "Drop the GPUs",
        "taken": "You already have an environment dev",
        "rules": "with at least one letter",
        "gone": "Not found",
        "port": "Open port",
        "any": "Another port",
        "open": "Open",
        "nothing": "No environment yet",
        "mine": "Mine",
        "shared": "Shared with me",
        "others": "Other people's",
    },
    "zh": {
        "title": "开发环境",
        "new": "新建环境",
        "name": "名称",
        "now": "立即开始",
        "create": "创建并启动",
        "queue": "创建并排队",
        "running": "运行中",
        "waiting": "排队中",
        "terminal": "终端",
        "stop": "停止",
        "stopped": "停止",
        "again": "再次启动",
        "delete": "删除",
        "person": "对方的用户名",
        "share": "共享",
        "remove": "取消共享",
        "extend": "延长 1 小时",
        "idle": "无人使用",
        "idle_end": "闲置达到上限",
        "used": "仍在使用",
        "drop": "释放显卡",
        "drops": "释放显卡",
        "taken": "你已有环境 dev",
        "rules": "至少一个字母",
        "gone": "找不到",
        "port": "打开端口",
        "any": "其他端口",
        "open": "打开",
        "nothing": "还没有开发环境",
        "mine": "我的",
        "shared": "共享给我的",
        "others": "其他人的",
    },
}
LANGUAGES = pytest.mark.parametrize("lang", ["en", "zh"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    """With doors for SSH clients and browsers."""
    folder = tmp_path_factory.mktemp("environments")
    server = DanluServer(folder / "data", with_doors(CLUSTER))
    give(server.data, tools_venv())
    server.start()
    yield server
    server.cleanup()


@pytest.fixture
def alice(web: WebHarness) -> Someone:
    return web.people.person()


def create(web: WebHarness, who: Someone, name: str = "dev", **keys: Any) -> dict[str, Any]:
    """One that runs."""
    who.do("POST", "/environments", {"name": name, "cpus": 1, "memory": "1G", **keys})

    def runs() -> dict[str, Any] | None:
        found: dict[str, Any] = who.get(f"/environments/{name}")
        return found if found["state"] == "running" else None

    return eventually(runs)


def path_of(who: Someone, name: str = "dev") -> str:
    return f"/environments/{who.name}~{name}"


def sure(page: Page, name: str) -> None:
    """Presses a button that asks, and then says yes."""
    page.get_by_role("button", name=name, exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()


@LANGUAGES
def test_from_the_form_to_a_terminal_to_a_second_start(
    web: WebHarness, alice: Someone, lang: str
) -> None:
    words = WORDS[lang]
    page = web.sign_in(web.page(lang), alice.name)
    page.locator("header nav").get_by_role("link", name=words["title"]).click()
    expect(page.locator(".empty")).to_contain_text(words["nothing"])
    page.get_by_role("link", name=words["new"]).first.click()
    expect(page.get_by_label(words["name"], exact=True)).to_have_value("dev")
    page.get_by_role("button", name=re.compile("^1 (GPU|卡)")).click()
    expect(page.locator(".verdict.go .sentence")).to_contain_text(words["now"])
    web.picture(page, f"environment-new-{lang}")
    page.locator(".right").get_by_role("button", name=words["create"]).click()

    expect(page.locator("h1")).to_have_text("dev")
    expect(page.locator(".page-head .badge.go")).to_contain_text(words["running"])
    expect(page.locator(".steps .step.done").first).to_be_visible()
    page.get_by_role("button", name=re.compile("^" + words["terminal"])).click()
    expect(page.locator(".xterm-rows")).to_contain_text("$")
    page.locator(".xterm-helper-textarea").focus()
    page.keyboard.type("echo in-$((40+2))\n")
    expect(page.locator(".xterm-rows")).to_contain_text("in-42")
    web.picture(page, f"environment-terminal-{lang}")

    sure(page, words["stop"])
    expect(page.locator(".end-card .sentence")).to_contain_text(words["stopped"])
    expect(page.locator(".xterm")).to_have_count(0)
    web.picture(page, f"environment-stopped-{lang}")
    page.get_by_role("button", name=words["again"]).click()
    expect(page.locator(".page-head .badge.go")).to_contain_text(words["running"])
    assert alice.get("/environments/dev")["job"]["number"] == 2

    sure(page, words["delete"])
    expect(page.locator(".empty")).to_contain_text(words["nothing"])
    assert alice.get("/environments")["environments"] == []


@LANGUAGES
def test_it_is_shared_with_one_person_and_seen_by_no_other(
    web: WebHarness, alice: Someone, lang: str
) -> None:
    words = WORDS[lang]
    bob, carol = web.people.person(), web.people.person()
    create(web, alice)
    mine = web.sign_in(web.page(lang), alice.name, path_of(alice))
    mine.get_by_label(words["person"]).fill(bob.name)
    mine.get_by_role("button", name=words["share"], exact=True).click()
    expect(mine.locator(".people li")).to_contain_text(bob.name)

    his = web.sign_in(web.page(lang), bob.name, "/environments")
    group = his.get_by_role("region", name=words["shared"])
    group.get_by_role("link", name=f"{alice.name}/dev", exact=True).click()
    expect(his.locator("h1")).to_have_text(f"{alice.name}/dev")
    for name in ("stop", "delete", "share"):
        expect(his.get_by_role("button", name=words[name], exact=True)).to_have_count(0)
    line = f"{bob.name}+{alice.name}+dev@127.0.0.1"
    expect(his.locator(".ssh-line code")).to_contain_text(line)
    his.get_by_role("button", name=re.compile("^" + words["terminal"])).click()
    expect(his.locator(".xterm-rows")).to_contain_text("$")
    his.locator(".xterm-helper-textarea").focus()
    his.keyboard.type("echo in-$((40+2))\n")
    expect(his.locator(".xterm-rows")).to_contain_text("in-42")

    hers = web.sign_in(web.page(lang), carol.name, "/environments")
    expect(hers.locator(".empty")).to_contain_text(words["nothing"])
    expect(hers.get_by_text(alice.name)).to_have_count(0)
    hers.goto(f"{web.server.url}{path_of(alice)}")
    expect(hers.get_by_role("alert")).to_contain_text(words["gone"])

    sure(mine, words["remove"])
    expect(mine.locator(".people li")).to_have_count(0)
    his.reload()
    expect(his.get_by_role("alert")).to_contain_text(words["gone"])


def test_an_unknown_person_is_told_at_the_field(web: WebHarness, alice: Someone) -> None:
    alice.do("POST", "/environments", {"name": "dev", "start": False})
    page = web.sign_in(web.page(), alice.name, path_of(alice))
    page.get_by_label("Name of the person").fill("nobody-here")
    page.get_by_role("button", name="Share", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("user nobody-here")


def test_an_admin_sees_those_of_others_and_starts_none(web: WebHarness, alice: Someone) -> None:
    alice.do("POST", "/environments", {"name": "dev", "start": False})
    admin = web.people.person()
    web.people.admin.do("PATCH", f"/users/{admin.name}", {"role": "admin"})
    page = web.sign_in(web.page(), admin.name, "/environments")
    others = page.get_by_role("region", name="Other people's")
    link = others.get_by_role("link", name=f"{alice.name}/dev", exact=True)
    expect(link).to_be_visible()
    expect(others.get_by_role("button", name="Start")).to_have_count(0)
    link.click()
    expect(page.locator(".end-card")).to_contain_text(f"Only {alice.name} can start it")


@LANGUAGES
def test_what_is_wrong_is_told_at_its_field(web: WebHarness, alice: Someone, lang: str) -> None:
    words = WORDS[lang]
    alice.do("POST", "/environments", {"name": "dev", "start": False})
    page = web.sign_in(web.page(lang), alice.name, "/environments/new")
    name = page.get_by_label(words["name"], exact=True)
    expect(name).to_have_value("dev2")
    button = page.locator(".right button.primary")
    expect(button).to_be_enabled()
    for wrong, told in (("dev", "taken"), ("my-env", "rules"), ("12_3", "rules"), ("", "rules")):
        name.fill(wrong)
        expect(name).to_have_attribute("aria-invalid", "true")
        expect(page.locator(".field", has=name)).to_contain_text(words[told])
        expect(button).to_be_disabled()
    # A wrong name does not hide when it would start.
    expect(page.locator(".verdict.go")).to_be_visible()
    name.fill("dev2")
    memory = page.get_by_label("Memory" if lang == "en" else "内存", exact=True)
    memory.fill("many")
    expect(memory).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".field", has=memory)).to_contain_text("many")
    expect(button).to_be_disabled()
    web.picture(page, f"environment-refused-{lang}")
    memory.fill("<img src=x onerror=alert(1)>")
    expect(page.locator(".field", has=memory).locator("small")).to_contain_text("<img")
    expect(page.locator("img")).to_have_count(0)
    memory.fill("1G")
    expect(button).to_be_enabled()


@LANGUAGES
def test_one_that_waits_says_why_and_starts_without_gpus(
    web: WebHarness, alice: Someone, lang: str
) -> None:
    words = WORDS[lang]
    bob = web.people.person()
    for _ in range(4):
        web.run(bob, name="long", gpus=5, time_limit="2h")
    page = web.sign_in(web.page(lang), alice.name, "/environments/new")
    page.get_by_role("button", name=re.compile("^2 (GPU|卡)")).click()
    expect(page.locator(".verdict.wait")).to_be_visible()
    page.locator(".right").get_by_role("button", name=words["queue"]).click()
    expect(page.locator(".page-head .badge.wait")).to_contain_text(words["waiting"])
    expect(page.locator(".why-card .sentence")).not_to_be_empty()
    web.picture(page, f"environment-waiting-{lang}")
    page.goto(f"{web.server.url}/environments")
    card = page.locator(".environment")
    expect(card.locator(".badge.wait")).to_contain_text(words["waiting"])
    page.goto(f"{web.server.url}{path_of(alice)}")
    sure(page, words["drops"])
    expect(page.locator(".page-head .badge.go")).to_contain_text(words["running"])
    assert alice.get("/environments/dev")["job"]["gpus"] == 0


@LANGUAGES
def test_time_left_is_shown_and_extended(web: WebHarness, alice: Someone, lang: str) -> None:
    words = WORDS[lang]
    made = create(web, alice, time_limit="20m")
    page = web.sign_in(web.page(lang), alice.name, path_of(alice))
    expect(page.locator(".ends-soon")).to_be_visible()
    web.picture(page, f"environment-ends-soon-{lang}")
    page.get_by_role("button", name=words["extend"]).click()
    expect(page.locator(".ends-soon")).to_have_count(0)
    later = alice.get("/environments/dev")["ends_at"]
    assert later == pytest.approx(made["ends_at"] + 3600, abs=5)


@LANGUAGES
def test_one_that_nobody_uses_is_warned_of_kept_and_stopped(
    web: WebHarness, alice: Someone, lang: str
) -> None:
    words = WORDS[lang]
    create(web, alice, idle_limit="30s")
    page = web.sign_in(web.page(lang), alice.name, path_of(alice))
    expect(page.locator(".ends-soon")).to_contain_text(words["idle"], timeout=90_000)
    web.picture(page, f"environment-idle-{lang}")
    page.get_by_role("button", name=words["used"]).click()
    expect(page.locator(".ends-soon")).to_have_count(0)
    sentence = page.locator(".end-card .sentence")
    expect(sentence).to_contain_text(words["idle_end"], timeout=90_000)


@LANGUAGES
def test_the_gpu_is_dropped_and_the_rest_kept(web: WebHarness, alice: Someone, lang: str) -> None:
    words = WORDS[lang]
    create(web, alice, gpus=1, time_limit="8h")
    page = web.sign_in(web.page(lang), alice.name, path_of(alice))
    sure(page, words["drop"])
    expect(page.get_by_role("button", name=words["drop"])).to_have_count(0)
    expect(page.locator(".page-head .badge.go")).to_contain_text(words["running"])
    found = alice.get("/environments/dev")
    assert (found["job"]["number"], found["job"]["gpus"]) == (2, 0)
    assert found["request"]["time_limit"] == "8h"


@LANGUAGES
def test_ports_open_in_tabs_of_their_own(web: WebHarness, alice: Someone, lang: str) -> None:
    words = WORDS[lang]
    serve = f"exec {open_python()} -u -m http.server --bind 127.0.0.1 $PORT_HTTP"
    job = web.run(alice, name="site", command=serve, ports=["http"])
    port = alice.get(f"/jobs/{job['id']}")["tasks"][0]["ports"][0]
    eventually(lambda: "Serving" in alice.http.get(f"/jobs/{job['id']}/logs").text)
    page = web.sign_in(web.page(lang), alice.name, f"/jobs/{job['id']}")
    page.get_by_role("button", name=words["port"], exact=True).click()
    dialog = page.get_by_role("dialog")
    with page.expect_popup() as opened:
        dialog.get_by_role("button", name=re.compile(str(port))).click()
    tab = opened.value
    expect(tab).to_have_title(re.compile("Directory listing"))
    assert tab.evaluate("window.opener") is None
    assert not tab.url.startswith(web.server.url)

    create(web, alice)
    page.goto(f"{web.server.url}{path_of(alice)}")
    page.get_by_label(words["any"]).fill(str(port))
    with page.expect_popup() as opened:
        page.get_by_label(words["any"]).press("Enter")
    expect(opened.value).to_have_title(re.compile("Directory listing"))


def test_the_button_of_a_job_that_wrote_event_files_leads_to_its_curve(
    web: WebHarness, alice: Someone
) -> None:
    events = for_everybody(web.server.data.parent / "events")
    copy = f"mkdir -p runs/first && cp {events}/* runs/first"
    job = web.harness.until(web.queue(alice, name="train", command=copy), "succeeded")
    page = web.sign_in(web.page(), alice.name, f"/jobs/{job['id']}")
    with page.expect_popup() as opened:
        page.get_by_role("button", name="TensorBoard").click()
    tab = opened.value
    expect(tab.get_by_text("loss").first).to_be_visible(timeout=120_000)
    expect(tab.locator("line-chart canvas, line-chart svg path").first).to_be_visible()
    web.picture(tab, "tensorboard-of-a-job")


def test_a_refused_door_closes_its_tab_and_says_why(web: WebHarness, alice: Someone) -> None:
    create(web, alice)
    page = web.sign_in(web.page(), alice.name, path_of(alice))
    button = page.get_by_role("button", name=re.compile("^JupyterLab .* dev$"))
    expect(button).to_be_enabled()
    page.route(
        "**/doors",
        lambda route: route.fulfill(
            status=409,
            json={
                "error": {
                    "code": "web_off",
                    "message_en": "No web doors <b>here</b>",
                    "message_zh": "没有网页入口",
                    "details": [],
                }
            },
        ),
    )
    with page.expect_popup() as opened:
        button.click()
    expect(page.get_by_role("alert")).to_have_text("No web doors <b>here</b>")
    if not opened.value.is_closed():
        opened.value.wait_for_event("close")


def test_a_browser_that_blocks_the_tab_is_given_a_link(web: WebHarness, alice: Someone) -> None:
    create(web, alice)
    page = web.page()
    page.add_init_script("window.open = () => null")
    web.sign_in(page, alice.name, path_of(alice))
    page.get_by_role("button", name=re.compile("^JupyterLab .* dev$")).click()
    link = page.get_by_role("link", name="Open it here")
    expect(link).to_have_attribute("href", re.compile(r"^http://127\.0\.0\.1:\d+/\.danlu/enter"))
    expect(link).to_have_attribute("rel", "noopener noreferrer")


def test_the_ssh_line_is_copied(web: WebHarness, alice: Someone) -> None:
    create(web, alice)
    page = web.page()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    web.sign_in(page, alice.name, path_of(alice))
    port = alice.get("/server")["ssh_port"]
    line = f"ssh -p {port} {alice.name}+dev@127.0.0.1"
    expect(page.locator(".ssh-line code")).to_have_text(line)
    page.locator(".ssh-line").get_by_role("button").click()
    expect(page.locator(".ssh-line")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == line
    expect(page.get_by_text(alice.get("/server")["ssh_host_key"])).to_be_visible()
    page.get_by_text("For ~/.ssh/config").click()
    expect(page.locator(".ssh-block pre")).to_contain_text("Host dev.danlu")
    expect(page.locator(".ssh-block pre")).to_contain_text(f"User {alice.name}+dev")


@pytest.mark.parametrize(("lang", "theme"), [("en", "dark"), ("zh", "light")])
def test_pages_are_for_everybody_and_fit_a_phone(
    web: WebHarness, alice: Someone, lang: str, theme: str
) -> None:
    create(web, alice, "A_" + "n" * 25, gpus=1, time_limit="8h")
    alice.do("POST", "/environments", {"name": "later", "start": False})
    page = web.sign_in(web.page(lang, theme), alice.name, "/environments")
    longest = path_of(alice, "A_" + "n" * 25)
    for path, sign in (
        ("/environments", ".environment .open-buttons"),
        ("/environments/new", ".verdict.go"),
        (longest, ".limits"),
        (path_of(alice, "later"), ".end-card"),
    ):
        page.goto(f"{web.server.url}{path}")
        expect(page.locator(sign)).to_be_visible()
        assert serious(page) == []
        for width in (390, 320):
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        page.set_viewport_size({"width": 1440, "height": 900})


def test_g_e_goes_there_and_the_phone_has_it_in_its_bar(web: WebHarness, alice: Someone) -> None:
    page = web.sign_in(web.page(width=390, height=844), alice.name)
    expect(page.locator("nav.bottom").get_by_role("link", name="Environments")).to_be_visible()
    page.locator("body").press("g")
    page.locator("body").press("e")
    expect(page.locator("h1")).to_have_text("Environments")


def test_the_list_follows_what_happens_and_says_when_the_server_is_away(
    web: WebHarness, alice: Someone
) -> None:
    page = web.sign_in(web.page(), alice.name, "/environments")
    expect(page.locator(".empty")).to_be_visible()
    create(web, alice)
    expect(page.locator(".environment .badge.go")).to_be_visible()
    web.server.stop()
    try:
        expect(page.locator(".away-bar")).to_be_visible()
        expect(page.locator(".stale .environment")).to_be_visible()
    finally:
        web.server.start()
    alice.do("POST", "/environments/dev/stop")
    expect(page.get_by_role("button", name="Start again")).to_be_visible()
