"""The catalogue of images: add, share, propose and accept; the lines to type for Docker."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.web.axe import serious
from tests.web.harness import WebHarness

WORDS = {
    "en": {
        "add": "Add an image",
        "share": "Share",
        "propose": "Propose as a ready image",
        "accept": "Accept",
        "ready": "ready image",
        "end": "End",
    },
    "zh": {
        "add": "添加镜像",
        "share": "共享",
        "propose": "提名为公共镜像",
        "accept": "接受",
        "ready": "公共镜像",
        "end": "取消共享",
    },
}
MARKUP = "<img src=x onerror=document.title='owned'>"


def confirm(page: Page) -> None:
    page.get_by_role("dialog").locator(".button.primary").click()
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_image_is_added_shared_proposed_and_accepted(web: WebHarness, lang: str) -> None:
    words = WORDS[lang]
    alice, bob, boss = (web.people.person() for _ in range(3))
    web.people.admin.do("PATCH", f"/users/{boss.name}", {"role": "admin"})
    name = f"pytorch/pytorch:{web.people.name('t')}"
    page = web.sign_in(web.page(lang), alice.name, "/images")
    page.get_by_role("button", name=words["add"]).click()
    page.locator("input[name=name]").fill(name)
    page.locator("textarea[name=description]").fill(MARKUP)
    page.get_by_role("dialog").locator(".button.primary").click()
    expect(page.locator("h1")).to_have_text(name)
    expect(page.locator("main")).to_contain_text("onerror")
    expect(page.locator("main img")).to_have_count(0)

    theirs = web.sign_in(web.page(lang), bob.name, "/images")
    expect(theirs.locator("h1")).to_be_visible()
    expect(theirs.locator(".card.image", has_text=name)).to_have_count(0)
    page.goto(f"{web.server.url}/images")
    card = page.locator(".card.image", has_text=name)
    card.get_by_role("button", name=words["share"]).click()
    page.locator("input[name=share-name]").fill(bob.name)
    page.get_by_role("dialog").locator(".button.primary").click()
    expect(page.locator(".shares li")).to_contain_text(bob.name)
    page.keyboard.press("Escape")
    theirs.reload()
    shown = theirs.locator(".card.image", has_text=name)
    expect(shown).to_be_visible()
    expect(shown.get_by_role("button", name=words["share"])).to_have_count(0)

    card.get_by_role("link", name=name, exact=True).click()
    page.get_by_role("button", name=words["end"]).click()
    page.get_by_role("dialog").locator(".button.primary").click()
    expect(page.locator(".shares")).to_have_count(0)
    theirs.reload()
    expect(theirs.locator("h1")).to_be_visible()
    expect(theirs.locator(".card.image", has_text=name)).to_have_count(0)

    page.get_by_role("button", name=words["propose"]).click()
    confirm(page)
    judge = web.sign_in(web.page(lang), boss.name, "/images?which=proposed")
    proposed = judge.locator(".card.image", has_text=name)
    proposed.get_by_role("button", name=words["accept"]).click()
    confirm(judge)
    judge.goto(f"{web.server.url}/images?which=ready")
    expect(judge.locator(".card.image", has_text=name)).to_contain_text(words["ready"])
    theirs.reload()
    expect(theirs.locator(".card.image", has_text=name)).to_be_visible()
    expect(theirs.locator(".decisions")).to_have_count(0)
    page.goto(f"{web.server.url}/images")
    expect(page.locator(".decisions")).to_contain_text(boss.name)
    expect(page.locator(".decisions")).to_contain_text(name)


def test_an_image_goes_into_a_job_and_an_environment(web: WebHarness) -> None:
    alice = web.people.person()
    made = alice.do("POST", "/images", {"name": "debian:12"})
    page = web.sign_in(web.page(), alice.name, f"/images/{made['id']}")
    page.get_by_role("link", name="Use in a job").click()
    expect(page.get_by_label("YAML")).to_have_value(re.compile("image: debian:12"))
    page.go_back()
    page.get_by_role("link", name="New environment").click()
    expect(page.locator("input[value='debian:12']")).to_be_visible()


@pytest.mark.parametrize(("lang", "theme"), [("en", "dark"), ("zh", "light")])
def test_pages_of_images_have_no_serious_flaw_at_any_width(
    web: WebHarness, lang: str, theme: str
) -> None:
    alice = web.people.person()
    long = "registry.lab.example:5000/vision/pytorch-with-a-rather-long-name:2.4.0-cuda12.4-cudnn9"
    made = alice.do("POST", "/images", {"name": long, "description": "PyTorch, timm, 训练脚本"})
    alice.do("POST", "/images", {"name": "debian:12"})
    page = web.sign_in(web.page(lang, theme), alice.name)
    wrong: dict[str, list[str]] = {}
    for name, (path, sign) in {
        "images": ("/images", ".card.image h3"),
        "image": (f"/images/{made['id']}", ".image-grid"),
        "image-new": ("/images/new", "input[name=base]"),
        "image-refused": ("/images/no-such-image", "[role=alert]"),
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
