"""An admin sees who keeps how much in their folders, and says how much they may."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.api.people_harness import Someone
from tests.web.axe import serious
from tests.web.harness import WebHarness

WORDS = {
    "en": {
        "title": "Disk quotas",
        "every": "Every other user",
        "set": "Set",
        "change": "Change",
        "save": "Save",
        "back": "As everyone else",
        "remove": "Remove",
        "unlimited": "no limit",
        "common": "as everyone else",
        "over": "over the quota",
    },
    "zh": {
        "title": "磁盘配额",
        "every": "其他所有用户",
        "set": "设置",
        "change": "修改",
        "save": "保存",
        "back": "同其他人",
        "remove": "移除",
        "unlimited": "不限",
        "common": "同其他人",
        "over": "已超出配额",
    },
}


@pytest.fixture
def boss(web: WebHarness) -> Iterator[Someone]:
    boss = web.people.person()
    web.people.admin.do("PATCH", f"/users/{boss.name}", {"role": "admin"})
    yield boss
    web.harness.http.delete("/disks/quotas/user/*")


def put(page: Page, row: Locator, button: str, size: str, save: str) -> Locator:
    row.get_by_role("button", name=button).click()
    sheet = page.get_by_role("dialog")
    sheet.locator("input[name=size]").fill(size)
    sheet.get_by_role("button", name=save, exact=True).click()
    return sheet


@pytest.mark.parametrize(("lang", "theme"), [("en", "dark"), ("zh", "light")])
def test_quotas_of_folders_are_seen_set_and_taken_back(
    web: WebHarness, boss: Someone, lang: str, theme: str
) -> None:
    words = WORDS[lang]
    user, group = web.people.person(), web.people.group()
    home = web.server.data / "home" / user.name
    user.do("GET", "/files/roots")
    (home / "checkpoints").write_bytes(b"x" * (3 << 20))
    user.do("GET", "/files/usage?path=/userhome&fresh=true")
    page = web.sign_in(web.page(lang, theme), boss.name, "/admin/quotas")
    section = page.get_by_role("region", name=words["title"])

    def row(name: str) -> Locator:
        return section.get_by_role("row").filter(has=page.get_by_text(name, exact=True))

    mine, every = row(f"{'user' if lang == 'en' else '用户'} {user.name}"), row(words["every"])
    expect(mine).to_contain_text(words["unlimited"])
    expect(row(f"{'group' if lang == 'en' else '课题组'} {group}")).to_be_visible()
    sheet = put(page, every, words["set"], "lots", words["save"])
    expect(sheet.get_by_role("alert")).to_contain_text("lots")
    sheet.locator("input[name=size]").fill("200G")
    sheet.get_by_role("button", name=words["save"], exact=True).click()
    expect(sheet).to_have_count(0)
    expect(every).to_contain_text("200 GB")
    expect(mine).to_contain_text(words["common"])
    put(page, mine, words["set"], "1M", words["save"])
    expect(mine).to_contain_text("1 MB")
    web.picture(page, f"disk-quotas-{lang}-{theme}-1440")
    refused = user.http.post(
        "/files/copy", json={"paths": ["/userhome/checkpoints"], "to": "/userhome/2"}
    )
    assert refused.status_code == 413, refused.text
    page.reload()
    expect(mine).to_contain_text(words["over"])
    wrong = serious(page)
    for width in (1440, 390, 320):
        page.set_viewport_size({"width": width, "height": 800})
        web.picture(page, f"disk-quotas-over-{lang}-{theme}-{width}")
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wrong.append(f"scrolls sideways at {width}")
    assert wrong == []
    page.set_viewport_size({"width": 1440, "height": 900})
    mine.get_by_role("button", name=words["change"]).click()
    expect(page.get_by_role("dialog").locator("input[name=size]")).to_have_value("1M")
    page.keyboard.press("Escape")
    for one, name in ((mine, words["back"]), (every, words["remove"])):
        one.get_by_role("button", name=name).click()
        page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()
        expect(page.get_by_role("dialog")).to_have_count(0)
    expect(mine).to_contain_text(words["unlimited"])
    expect(mine).not_to_contain_text(re.compile("GB$"))


def test_many_people_are_searched(web: WebHarness, boss: Someone) -> None:
    people = [web.people.person() for _ in range(12)]
    page = web.sign_in(web.page(), boss.name, "/admin/quotas")
    section = page.get_by_role("region", name="Disk quotas")
    section.get_by_role("searchbox").fill(people[3].name)
    expect(section.get_by_role("row").filter(has_text=f"user {people[3].name}")).to_be_visible()
    expect(section.get_by_role("row").filter(has_text=f"user {people[5].name}")).to_have_count(0)
    section.get_by_role("searchbox").fill("nobody-of-this-name")
    expect(section.get_by_role("row").filter(has_text=re.compile("^user "))).to_have_count(0)
