"""One's own account: password, tokens, SSH keys, language and theme."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.api.harness import eventually
from tests.api.people_harness import PASSWORD, caller, public_key
from tests.web.axe import serious
from tests.web.harness import WebHarness

WORDS = {
    "en": ("Create a token", "Revoke", "Add the key", "Remove", "Change the password"),
    "zh": ("创建令牌", "撤销", "添加密钥", "删除", "修改密码"),
}


@pytest.mark.parametrize(("lang", "theme"), [("en", "light"), ("zh", "dark")])
def test_a_token_is_shown_once_works_and_ends(web: WebHarness, lang: str, theme: str) -> None:
    create, end, *_ = WORDS[lang]
    alice = web.people.person()
    page = web.sign_in(web.page(lang, theme), alice.name, "/account")
    page.locator("input[name=label]").fill("nightly <b>run</b>")
    page.get_by_role("button", name=create).click()
    token = page.get_by_role("dialog").locator("input").input_value()
    with caller(web.server, token) as http:
        assert http.get("/whoami").json()["user"] == alice.name
        web.picture(page, f"account-token-{lang}")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert token not in page.content()
        expect(page.get_by_text("nightly <b>run</b>")).to_be_visible()
        assert serious(page) == []
        page.get_by_role("row", name=re.compile("nightly")).get_by_role("button").click()
        page.get_by_role("dialog").get_by_role("button", name=end, exact=True).click()
        expect(page.get_by_text("nightly")).to_have_count(0)
        assert http.get("/whoami").status_code == 401


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_ssh_key_is_added_and_removed_and_nonsense_is_refused(
    web: WebHarness, lang: str
) -> None:
    _, _, add, remove, _ = WORDS[lang]
    alice = web.people.person()
    page = web.sign_in(web.page(lang), alice.name, "/account")
    page.locator("input[name=key]").fill("-----BEGIN OPENSSH PRIVATE KEY-----")
    page.get_by_role("button", name=add).click()
    expect(page.get_by_role("alert")).to_contain_text("private key" if lang == "en" else "私钥")
    page.locator("input[name=key]").fill(public_key("alice@laptop"))
    page.get_by_role("button", name=add).click()
    (key,) = eventually(lambda: alice.get("/ssh-keys")["keys"] or None)
    expect(page.get_by_text(key["fingerprint"])).to_be_visible()
    expect(page.locator("input[name=key]")).to_have_value("")
    web.picture(page, f"account-{lang}")
    page.get_by_role("row", name=re.compile("alice@laptop")).get_by_role("button").click()
    page.get_by_role("dialog").get_by_role("button", name=remove, exact=True).click()
    expect(page.get_by_text(key["fingerprint"])).to_have_count(0)
    assert alice.get("/ssh-keys")["keys"] == []


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_password_is_changed_from_the_menu(web: WebHarness, lang: str) -> None:
    change = WORDS[lang][-1]
    fresh = "another good passphrase"
    alice = web.people.person()
    page = web.sign_in(web.page(lang), alice.name)
    page.locator(".me > button").click()
    page.get_by_role("menuitem", name=change).click()
    expect(page.locator("input[name=old]")).to_be_focused()
    page.locator("input[name=old]").fill("wrong")
    page.locator("input[name=new]").fill(fresh)
    page.locator("input[name=again]").fill(fresh)
    page.get_by_role("button", name=change).click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.locator("input[name=old]").fill(PASSWORD)
    page.get_by_role("button", name=change).click()
    expect(page.locator("form .done")).to_be_visible()
    assert alice.http.get("/whoami").status_code == 401  # the other session has ended
    web.sign_in(web.page(lang), alice.name, password=fresh)


def test_a_one_time_password_is_changed_at_the_first_sign_in(web: WebHarness) -> None:
    name = web.people.name()
    given = web.people.admin.do("POST", "/users", {"name": name, "trusted": True})["password"]
    page = web.page("zh")
    page.goto(f"{web.server.url}/account")
    page.locator("input[name=user]").fill(name)
    page.locator("input[name=password]").fill(given)
    page.locator("button.primary").click()
    expect(page.locator("input[name=again]")).to_be_visible()
    assert serious(page) == []
    web.picture(page, "one-time-password")
    page.locator("input[name=old]").fill(given)
    page.locator("input[name=new]").fill(PASSWORD)
    page.locator("input[name=again]").fill(PASSWORD)
    page.locator("button.primary").click()
    expect(page.locator("header.top")).to_be_visible()
    web.sign_in(web.page(), name)


def test_language_and_theme_outlast_a_reload(web: WebHarness) -> None:
    page = web.sign_in(web.page("zh", "dark"), web.people.person().name, "/account")
    page.get_by_role("button", name="English").click()
    page.get_by_role("button", name="Light", exact=True).click()
    page.reload()
    expect(page.locator("h1")).to_have_text("Account")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
