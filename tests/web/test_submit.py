"""Submitting in the browser: form, YAML and pasted files are one job, judged while typing."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.web.harness import WebHarness

OPENPAI = """
protocolVersion: 2
name: mnist_pai
type: job
prerequisites:
  - type: dockerimage
    uri: 'python:3.11'
    name: docker_image_0
taskRoles:
  worker:
    instances: 2
    dockerImage: docker_image_0
    resourcePerInstance: {gpu: 1, cpu: 2, memoryMB: 2048}
    commands: [python train.py]
"""


def yaml_of(page: Page) -> str:
    return page.get_by_label("YAML").input_value()


SIGNING_UP = {
    "en": ("The account has been created", "Back to signing in", "2 GPUs", "Starts now", "Start"),
    "zh": ("账号已创建", "返回登录", "2 卡", "立即开始", "开始"),
}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_from_signing_up_to_a_finished_job(web: WebHarness, lang: str) -> None:
    made, back, two, now, start = SIGNING_UP[lang]
    code = web.people.admin.do("POST", "/invites", {})["code"]
    name = web.people.name("new")
    page = web.page(lang)
    page.goto(f"{web.server.url}/sign-up?code={code}")
    page.locator("input[name=user]").fill(name)
    page.locator("input[name=password]").fill("a password of many words")
    page.locator("button.primary").click()
    expect(page.get_by_role("status")).to_contain_text(made)
    page.get_by_role("link", name=back).click()
    web.sign_in(page, name, "/submit", "a password of many words")
    page.locator("textarea[name=command]").fill("echo it ran in the browser")
    page.get_by_role("button", name=re.compile(f"^{two}")).click()
    expect(page.locator(".verdict.go .sentence")).to_contain_text(now)
    expect(page.locator(".mini-row i.mine")).to_have_count(2)
    assert "gpus: 2" in yaml_of(page)
    web.picture(page, f"submit-now-{lang}")
    page.get_by_role("button", name=start).first.click()
    expect(page.locator(".end-card.succeeded")).to_be_visible()
    expect(page.locator(".lines")).to_contain_text("it ran in the browser")


def test_what_can_never_run_is_said_and_cannot_be_sent(web: WebHarness) -> None:
    page = web.sign_in(web.page("zh", "light"), web.people.person().name, "/submit")
    page.get_by_label("YAML").fill("command: python train.py\ngpus: 8\n")
    expect(page.locator(".verdict.bad .sentence")).to_contain_text("8 卡")
    expect(page.locator("button.primary").first).to_be_disabled()
    expect(page.locator(".counts button[aria-pressed=true]")).to_have_text("8")
    web.picture(page, "submit-never")
    page.get_by_label("YAML").fill("command: python train.py\ngpuz: 1\n")
    expect(page.locator(".verdict.bad")).to_contain_text("gpuz")


def test_when_all_is_taken_the_verdict_tells_the_time_and_a_change_that_helps(
    web: WebHarness,
) -> None:
    alice, bob = web.people.person(), web.people.person()
    for _ in range(4):
        web.run(bob, name="long", gpus=4, time_limit="2h")
    page = web.sign_in(web.page(), alice.name, "/submit")
    page.get_by_label("YAML").fill(
        "name: mine\ncommand: sleep 1000\ncpus: 1\nmemory: 1G\ngpus: 2\n"
    )
    expect(page.locator(".verdict.wait .sentence")).to_contain_text(f"after {bob.name}/long")
    web.picture(page, "submit-later")
    page.locator(".verdict .what-if", has_text="1 GPU").first.click()
    expect(page.locator(".verdict.go")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    web.picture(page, "submit-390")


PASTING = {
    "en": ("Paste anything", "Read it", "Use it", "line 15: extras.submitFrom: has no effect"),
    "zh": ("粘贴任务", "识别", "使用", "第 15 行：extras.submitFrom：在这里不起作用"),
}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_pasted_openpai_file_is_recognised_and_told_line_by_line(
    web: WebHarness, lang: str
) -> None:
    paste, read, use, line = PASTING[lang]
    page = web.sign_in(web.page(lang), web.people.person().name, "/submit")
    page.get_by_role("button", name=paste).click()
    dialog = page.get_by_role("dialog")
    dialog.locator("textarea").fill(f"{OPENPAI}extras: {{submitFrom: webportal}}\n")
    dialog.get_by_role("button", name=read).click()
    expect(dialog).to_contain_text(re.compile("openpai", re.IGNORECASE))
    expect(dialog.locator("li").first).to_contain_text(line)
    dialog.get_by_role("button", name=use).click()
    assert "mnist_pai" in yaml_of(page)


def test_the_list_finds_folds_and_opens(web: WebHarness) -> None:
    alice = web.people.person()
    web.queue(alice, name="sweep", command="echo $DANLU_ARRAY_INDEX", array="0-3", held=True)
    web.queue(alice, name="other", held=True)
    page = web.sign_in(web.page(), alice.name, "/jobs")
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.locator("tbody")).to_contain_text("4 elements")
    page.get_by_role("button", name=re.compile("4 elements")).click()
    expect(page.locator("tbody tr")).to_have_count(2 + 4)
    web.picture(page, "jobs")
    page.get_by_role("searchbox").fill("other")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile("text=other"))
    page.get_by_role("link", name="other-1").click()
    expect(page.locator("h1")).to_have_text(f"{alice.name}/other-1")


TWO = """name: one
command: echo one
---
name: two
command: echo two
"""


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_two_pasted_jobs_are_both_shown_and_both_submitted(web: WebHarness, lang: str) -> None:
    paste, read, use, submit = {
        "en": ("Paste anything", "Read it", "Use all 2", "Submit all 2"),
        "zh": ("粘贴任务", "识别", "使用全部 2 个", "提交全部 2 个"),
    }[lang]
    alice = web.people.person()
    page = web.sign_in(web.page(lang), alice.name, "/submit")
    page.get_by_role("button", name=paste).click()
    dialog = page.get_by_role("dialog")
    dialog.locator("textarea").fill(TWO)
    dialog.get_by_role("button", name=read).click()
    expect(dialog.locator(".pasted li")).to_have_text(["one", "two"])
    dialog.get_by_role("button", name=use).click()
    expect(page.locator(".several li")).to_have_count(2)
    web.picture(page, f"submit-two-{lang}")
    page.locator(".right").get_by_role("button", name=submit).click()
    names = page.locator("tbody td.name a")
    expect(names).to_have_count(2)
    assert sorted(names.all_inner_texts()) == ["one-1", "two-1"]


def test_repeating_an_array_repeats_all_of_it(web: WebHarness) -> None:
    alice = web.people.person()
    web.queue(alice, name="grid", array="0-119", held=True)
    page = web.sign_in(web.page(), alice.name, "/submit")
    page.get_by_role("button", name="Repeat my last").click()
    expect(page.get_by_label("YAML")).to_have_value(re.compile("array: ['\"]?0-119"))


def test_a_link_with_a_broken_change_shows_the_job_and_says_so(web: WebHarness) -> None:
    alice = web.people.person()
    job = web.queue(alice, name="linked", held=True)
    page = web.sign_in(web.page(), alice.name, f"/submit?clone={job['id']}&change=%7Bbad")
    expect(page.get_by_role("alert")).to_contain_text("cannot be read")
    assert "linked" in yaml_of(page)


def test_a_job_with_roles_has_a_form_for_each(web: WebHarness) -> None:
    page = web.sign_in(web.page(), web.people.person().name, "/submit")
    gang = (
        "name: gang\nroles:\n  ps:\n    command: echo ps\n"
        "  worker:\n    command: echo w\n    count: 2 # two\n"
    )
    page.get_by_label("YAML").fill(gang)
    worker = page.get_by_role("group", name="Role worker")
    expect(page.get_by_role("group", name=re.compile("^Role "))).to_have_count(2)
    expect(worker.get_by_label("Tasks")).to_have_value("2")
    worker.get_by_label("Tasks").fill("3")
    assert "count: 3 # two" in yaml_of(page)
    expect(page.locator(".gutter")).to_contain_text("7")
    web.picture(page, "submit-roles")
