"""The admin's pages."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.api.people_harness import Someone
from tests.web.axe import serious
from tests.web.harness import WebHarness

TABS = (
    "users",
    "invitations",
    "groups",
    "quotas",
    "queues",
    "nodes",
    "volumes",
    "audit",
    "backup",
)


@pytest.fixture
def boss(web: WebHarness) -> Iterator[Someone]:
    boss = web.people.person()
    web.people.admin.do("PATCH", f"/users/{boss.name}", {"role": "admin"})
    yield boss
    web.people.admin.do("POST", "/nodes/n2/resume")
    for queue in web.harness.get("/queues")["queues"]:
        for name in (*queue["merged"], queue["name"]):
            web.harness.http.delete(f"/queues/{name}")
    web.harness.http.put("/queues/default", json={"nodes": None})


def dialog(page: Page, button: str) -> None:
    page.get_by_role("dialog").last.get_by_role("button", name=button, exact=True).click()


@pytest.mark.parametrize(("lang", "theme"), [("en", "dark"), ("zh", "light")])
def test_every_admin_page_is_sound(web: WebHarness, boss: Someone, lang: str, theme: str) -> None:
    web.people.person(web.people.group())
    web.people.admin.do("PUT", "/quotas/user/*", {"gpus": 8})
    page = web.sign_in(web.page(lang, theme), boss.name, "/admin")
    wrong: dict[str, list[str]] = {}
    for tab in TABS:
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto(f"{web.server.url}/admin/{tab}")
        expect(page.locator(".manage").first).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        expect(page.locator("h1")).to_have_count(1)
        web.picture(page, f"admin-{tab}-{lang}-{theme}-1440")
        wrong[tab] = serious(page)
        for width in (390, 320):
            page.set_viewport_size({"width": width, "height": 800})
            web.picture(page, f"admin-{tab}-{lang}-{theme}-{width}")
            if page.evaluate("document.documentElement.scrollWidth") > width:
                wrong[tab].append(f"scrolls sideways at {width}")
    web.people.admin.do("DELETE", "/quotas/user/*")
    assert {tab: found for tab, found in wrong.items() if found} == {}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_member_is_refused(web: WebHarness, lang: str) -> None:
    page = web.sign_in(web.page(lang), web.people.person().name, "/admin/users")
    expect(page.get_by_role("alert")).to_contain_text("for admins" if lang == "en" else "管理员")
    expect(page.locator(".manage")).to_have_count(0)
    expect(page.locator("a[href='/admin']")).to_have_count(0)


def test_a_user_is_added_disabled_enabled_and_gets_a_new_password(
    web: WebHarness, boss: Someone
) -> None:
    name = web.people.name()
    page = web.sign_in(web.page(), boss.name, "/admin/users")
    page.get_by_role("button", name="Add a user").click()
    page.get_by_role("dialog").locator("input[name=name]").fill(name)
    page.get_by_role("dialog").locator("input[name=full_name]").fill("<script>x</script>")
    page.get_by_role("dialog").locator("input[name=trusted]").check()
    dialog(page, "Add")
    secret = page.get_by_role("textbox", name="One-time password").input_value()
    assert web.people.sign_in(name, secret).get("/whoami")["must_change_password"]
    page.keyboard.press("Escape")
    expect(page.get_by_text("<script>x</script>")).to_be_visible()

    page.get_by_role("button", name=f"Manage {name}").click()
    page.get_by_role("button", name="Disable", exact=True).click()
    dialog(page, "Disable")
    row = page.get_by_role("row", name=re.compile(name))
    expect(row).to_contain_text("disabled")
    page.get_by_role("button", name=f"Manage {name}").click()
    page.get_by_role("button", name="Enable").click()
    expect(row).to_contain_text("active")
    page.get_by_role("button", name=f"Manage {name}").click()
    page.get_by_role("button", name="Reset password").click()
    dialog(page, "Reset password")
    again = page.get_by_role("textbox", name="One-time password").input_value()
    assert again != secret
    web.people.sign_in(name, again)


def test_a_queue_is_split_resized_and_merged(web: WebHarness, boss: Someone) -> None:
    page = web.sign_in(web.page("zh"), boss.name, "/admin/queues")
    page.get_by_role("row", name=re.compile("default")).get_by_role("button", name="拆分").click()
    page.get_by_role("dialog").locator("input[name=name]").fill("fast")
    page.get_by_role("dialog").get_by_label("n3").check()
    page.get_by_role("dialog").get_by_label("n4").check()
    web.picture(page, "admin-split-zh")
    dialog(page, "拆分")
    expect(page.get_by_role("row", name=re.compile("fast"))).to_contain_text("n3, n4")
    queues = {one["name"]: one["nodes"] for one in boss.get("/queues")["queues"]}
    assert queues == {"default": ["n1", "n2"], "fast": ["n3", "n4"]}

    page.get_by_role("row", name=re.compile("fast")).get_by_role("button", name="调整").click()
    page.get_by_role("dialog").get_by_label("n4").uncheck()
    dialog(page, "保存")
    expect(page.get_by_role("row", name=re.compile("fast"))).not_to_contain_text("n4")

    page.get_by_role("row", name=re.compile("fast")).get_by_role("button", name="合并").click()
    dialog(page, "合并")
    expect(page.get_by_role("row", name=re.compile("^fast"))).to_have_count(0)
    queues = {one["name"]: one["merged"] for one in boss.get("/queues")["queues"]}
    assert queues == {"default": ["fast"]}


def test_a_node_is_taken_out_with_a_reason_that_everybody_sees(
    web: WebHarness, boss: Someone
) -> None:
    page = web.sign_in(web.page(), boss.name, "/admin/nodes")
    page.get_by_role("row", name=re.compile("n2")).get_by_role("button", name="Take out").click()
    page.get_by_role("dialog").locator("input[name=reason]").fill("fan <b>broken</b>")
    dialog(page, "Take out")
    expect(page.get_by_role("row", name=re.compile("n2"))).to_contain_text("fan <b>broken</b>")
    member = web.sign_in(web.page(), web.people.person().name)
    member.get_by_role("button", name="Details of n2").click()
    expect(member.get_by_role("dialog")).to_contain_text("fan <b>broken</b>")
    page.get_by_role("row", name=re.compile("n2")).get_by_role("button", name="Take back").click()
    expect(page.get_by_role("row", name=re.compile("n2"))).not_to_contain_text("broken")


def test_quotas_volumes_and_groups_are_made_and_removed(web: WebHarness, boss: Someone) -> None:
    group, volume = web.people.name("g"), web.people.name("v")
    page = web.sign_in(web.page(), boss.name, "/admin/groups")
    page.locator("input[name=name]").fill(group)
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("row", name=re.compile(group))).to_be_visible()
    page.get_by_role("row", name=re.compile(group)).get_by_role("button", name="Members").click()
    page.get_by_role("dialog").locator("select[name=user]").select_option(boss.name)
    dialog(page, "Add")
    expect(page.get_by_role("dialog").locator("li")).to_contain_text(boss.name)
    page.keyboard.press("Escape")

    page.get_by_role("link", name="Quotas").click()
    page.get_by_role("button", name="Set a quota").click()
    page.get_by_role("dialog").locator("select[name=of]").select_option("group")
    page.get_by_role("dialog").locator("input[name=name]").fill(group)
    page.get_by_role("dialog").locator("input[name=gpus]").fill("4")
    page.get_by_role("dialog").locator("input[name=models]").fill("RTX3090=2")
    dialog(page, "Save")
    quotas = page.get_by_role("region", name="Quotas", exact=True)
    row = quotas.get_by_role("row", name=re.compile(group))
    expect(row).to_contain_text("0 / 4")
    expect(row).to_contain_text("RTX3090 2")
    row.get_by_role("button", name="Remove").click()
    dialog(page, "Remove")
    expect(row).to_have_count(0)

    page.get_by_role("link", name="Volumes").click()
    page.get_by_role("button", name="Declare a volume").click()
    page.get_by_role("dialog").locator("input[name=name]").fill(volume)
    page.get_by_role("dialog").locator("input[name=source]").fill("relative")
    dialog(page, "Save")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    page.get_by_role("dialog").locator("input[name=source]").fill("/srv")
    page.get_by_role("dialog").locator("input[name=everywhere]").uncheck()
    dialog(page, "Save")
    row = page.get_by_role("row", name=re.compile(volume))
    expect(row).to_contain_text(f"/mnt/{volume}")
    row.get_by_role("button", name="Remove").click()
    dialog(page, "Remove")
    expect(row).to_have_count(0)


def test_the_audit_log_is_filtered_and_paged(web: WebHarness, boss: Someone) -> None:
    for number in range(60):
        boss.do("PUT", f"/secrets/s{number}", {"value": "x"})
    page = web.sign_in(web.page(), boss.name, "/admin/audit")
    page.locator("input[name=actor]").fill(boss.name)
    page.locator("input[name=act]").fill("secret.set")
    page.get_by_role("button", name="Filter").click()
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(50)
    expect(rows.first).to_contain_text(f"{boss.name} set the secret s59")
    page.get_by_role("button", name="Older lines").click()
    expect(rows).to_have_count(60)
    expect(page).to_have_url(re.compile(f"actor={boss.name}&act=secret.set"))


def test_a_backup_is_downloaded_whole(web: WebHarness, boss: Someone) -> None:
    page = web.sign_in(web.page(), boss.name, "/admin/backup")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download a backup").click()
    path = waiting.value.path()
    assert waiting.value.suggested_filename.endswith(".backup")
    # A file that was cut off does not unpack.
    assert boss.name.encode() in gzip.decompress(path.read_bytes())
    expect(page.get_by_role("status").filter(has_text="Saved")).to_be_visible()
