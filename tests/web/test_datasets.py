"""Datasets that people propose and admins accept; disks and who uses them."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.web.axe import serious
from tests.web.harness import WebHarness

WORDS = {
    "en": {"propose": "Propose a dataset", "accept": "Accept", "dry": "Show what would be removed"},
    "zh": {"propose": "提议数据集", "accept": "接受", "dry": "先看会清掉什么"},
}
MARKUP = "<img src=x onerror=document.title='owned'>"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_dataset_is_proposed_and_accepted(web: WebHarness, lang: str) -> None:
    words = WORDS[lang]
    alice, boss = web.people.person(), web.people.person()
    web.people.admin.do("PATCH", f"/users/{boss.name}", {"role": "admin"})
    name = web.people.name("d")
    folder = web.server.data / "gdata" / name
    folder.mkdir(parents=True)
    (folder / "labels.csv").write_text("a,b\n")
    page = web.sign_in(web.page(lang), alice.name, "/datasets")
    page.get_by_role("button", name=words["propose"]).first.click()
    page.locator("input[name=name]").fill(name)
    page.locator("textarea[name=how]").fill(f"pd.read_csv('/gdata/{name}/labels.csv')\n{MARKUP}")
    page.get_by_role("dialog").locator(".button.primary").click()
    card = page.locator(".card.dataset", has_text=name)
    expect(card.locator(".badge.wait")).to_be_visible()
    expect(card).to_contain_text("onerror")
    expect(page.locator("main img")).to_have_count(0)
    expect(card.get_by_role("button", name=words["accept"])).to_have_count(0)

    judge = web.sign_in(web.page(lang), boss.name, f"/datasets/{name}")
    proposed = judge.locator(".card.dataset", has_text=name)
    proposed.get_by_role("button", name=words["accept"]).click()
    expect(proposed.locator(".badge.wait")).to_have_count(0)
    page.reload()
    expect(card.locator("code")).to_have_text(f"/gdata/{name}")
    expect(card.locator(".badge.wait")).to_have_count(0)
    expect(page.locator(".decisions")).to_contain_text(boss.name)
    expect(page.locator(".decisions")).to_contain_text(f"/gdata/{name}")
    judge.reload()
    expect(judge.locator(".card.dataset", has_text=name)).to_be_visible()
    expect(judge.locator(".decisions")).to_have_count(0)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_disks_are_shown_to_admins_and_one_s_own_to_everybody(web: WebHarness, lang: str) -> None:
    alice, boss = web.people.person(), web.people.person()
    web.people.admin.do("PATCH", f"/users/{boss.name}", {"role": "admin"})
    page = web.sign_in(web.page(lang), alice.name, "/disks")
    expect(page.locator(".manage .table")).to_contain_text("/userhome")
    expect(page.locator(".card.disk")).to_have_count(0)
    full = web.sign_in(web.page(lang), boss.name, "/admin/disks")
    expect(full.locator(".card.disk").first).to_contain_text(str(web.server.data))
    full.get_by_role("button", name=WORDS[lang]["dry"]).click()
    expect(full.locator(".manage [role=status]")).to_be_visible()


@pytest.mark.parametrize(("lang", "theme"), [("en", "dark"), ("zh", "light")])
def test_these_pages_have_no_serious_flaw_at_any_width(
    web: WebHarness, lang: str, theme: str
) -> None:
    boss = web.people.person()
    web.people.admin.do("PATCH", f"/users/{boss.name}", {"role": "admin"})
    (web.server.data / "gdata" / "imagenet-1k").mkdir(parents=True, exist_ok=True)
    for name, title in {
        f"imagenet-1k-{lang}": "ImageNet 2012",
        f"coco-{lang}": "COCO 2017",
    }.items():
        how = "import torchvision\n" * 6
        asked = {"name": name, "title": title, "folder": "imagenet-1k", "how": how}
        boss.do("POST", "/datasets", {**asked, "licence": "research only"})
    page = web.sign_in(web.page(lang, theme), boss.name)
    wrong: dict[str, list[str]] = {}
    for name, (path, sign) in {
        "datasets": ("/datasets", ".card.dataset h3"),
        "disks": ("/disks", ".card.disk"),
    }.items():
        page.goto(f"{web.server.url}{path}")
        expect(page.locator(sign).first).to_be_visible()
        wrong[name] = serious(page)
        for width in (1440, 390, 320):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(100)
            web.picture(page, f"{name}-{lang}-{theme}-{width}")
            if (wide := page.evaluate("document.documentElement.scrollWidth")) > width:
                wrong[name].append(f"{wide} pixels at {width}")
        page.set_viewport_size({"width": 1440, "height": 900})
    assert {name: found for name, found in wrong.items() if found} == {}
