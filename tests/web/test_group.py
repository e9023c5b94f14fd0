"""A group's page, for those who lead it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.api.people_harness import PASSWORD, caller
from tests.web.axe import serious
from tests.web.harness import WebHarness

WORDS = {
    "en": ("Approve", "Decline", "Invite", "GPU-hours"),
    "zh": ("批准", "拒绝", "邀请", "卡时"),
}


def ask(web: WebHarness, group: str, note: str = "") -> str:
    name = web.people.name()
    with caller(web.server, None) as http:
        order = {"name": name, "password": PASSWORD, "group": group, "note": note}
        assert http.post("/sign-up", json=order).status_code == 201
    return name


@pytest.mark.parametrize(("lang", "theme"), [("en", "dark"), ("zh", "light")])
def test_a_leader_lets_one_in_refuses_another_and_invites(
    web: WebHarness, lang: str, theme: str
) -> None:
    approve, refuse, invite, hours = WORDS[lang]
    group = web.people.group()
    leader, member = web.people.person(leads=group), web.people.person(group)
    web.harness.wait(member.submit(command="true", gpus=1, held=False, group=group))
    wanted, unwanted = ask(web, group, "<i>new</i> student"), ask(web, group)
    page = web.sign_in(web.page(lang, theme), leader.name, "/group")
    expect(page.locator("h1")).to_contain_text(group)
    expect(page.get_by_text("<i>new</i> student")).to_be_visible()
    web.picture(page, f"group-{lang}-{theme}-1440")
    assert serious(page) == []
    page.get_by_role("row", name=re.compile(wanted)).get_by_role("button", name=approve).click()
    expect(
        page.get_by_role("row", name=re.compile(wanted)).get_by_role("button", name=approve)
    ).to_have_count(0)
    page.get_by_role("row", name=re.compile(unwanted)).get_by_role("button", name=refuse).click()
    page.get_by_role("dialog").get_by_role("button", name=refuse, exact=True).click()
    expect(page.get_by_text(unwanted)).to_have_count(0)
    members = {one["user"] for one in leader.get(f"/groups/{group}")["members"]}
    assert members == {leader.name, member.name, wanted}
    row = page.get_by_role("row", name=re.compile(member.name))
    expect(row).to_be_visible()
    expect(page.locator(".usage")).to_have_attribute("aria-label", re.compile(hours))

    page.get_by_role("button", name=invite, exact=True).click()
    link = page.get_by_role("dialog").locator("input").input_value()
    assert link.startswith(f"{web.server.url}/sign-up?code=")
    page.keyboard.press("Escape")
    newcomer = web.people.name()
    other = web.page(lang)
    other.goto(link)
    other.locator("input[name=user]").fill(newcomer)
    other.locator("input[name=password]").fill(PASSWORD)
    other.locator("button.primary").click()
    expect(other.get_by_role("status")).to_be_visible()
    assert newcomer in {one["user"] for one in leader.get(f"/groups/{group}")["members"]}
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 800})
        web.picture(page, f"group-{lang}-{theme}-{width}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_others_are_refused_in_words(web: WebHarness, lang: str) -> None:
    group, other = web.people.group(), web.people.group()
    member = web.people.person(group)
    page = web.sign_in(web.page(lang), member.name, f"/group/{group}")
    refused = "only the group's leaders" if lang == "en" else "只有组长和管理员"
    expect(page.get_by_role("alert")).to_contain_text(re.compile(refused, re.IGNORECASE))
    web.picture(page, f"group-refused-{lang}")
    page.goto(f"{web.server.url}/group/{other}")
    expect(page.get_by_role("alert")).to_contain_text("Not found" if lang == "en" else "没有")
    expect(page.locator("nav.bottom, header nav").get_by_role("link", name="Group")).to_have_count(
        0
    )
