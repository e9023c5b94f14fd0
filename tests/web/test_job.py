"""The page of one job: waiting, running and ended."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.harness import Job
from tests.api.people_harness import Someone
from tests.support.server import DanluServer
from tests.web.axe import serious
from tests.web.harness import CLUSTER, WebHarness


@pytest.mark.parametrize(("lang", "waiting"), [("en", "Waiting"), ("zh", "排队中")])
def test_a_waiting_job_names_its_cause_its_holder_and_a_time(
    web: WebHarness, lang: str, waiting: str
) -> None:
    alice, bob = web.people.person(), web.people.person()
    for _ in range(4):
        web.run(bob, name="long", gpus=4, time_limit="2h")
    job = web.queue(alice, name="waits", gpus=3, time_limit="1h")
    page = web.sign_in(web.page(lang), alice.name, f"/jobs/{job['ref'].replace('/', '~')}")
    expect(page.locator("h1")).to_have_text(job["ref"])
    expect(page.locator(".badge.wait").first).to_contain_text(waiting)
    sentence = web.harness.why(job)[f"sentence_{lang}"]
    expect(page.locator(".why-card .sentence")).to_have_text(sentence)
    # An estimate, rounded as everywhere else.
    expect(page.locator(".why-card .p50")).to_have_text(re.compile(r"\d\d:\d[05]$"))
    expect(page.locator(".lanes .p50")).to_have_text(re.compile(r"\d\d:\d[05]$"))
    expect(page.locator(".causes tbody tr")).to_have_count(4)
    expect(page.locator(".causes .fails").first).to_have_text("1")
    expect(page.locator(".causes")).to_contain_text(f"{bob.name}/long")
    expect(page.locator(".lanes .bar").first).to_be_visible()
    web.picture(page, f"job-waiting-{lang}")
    page.set_viewport_size({"width": 390, "height": 844})
    web.picture(page, f"job-waiting-{lang}-390")
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390

    web.harness.clear()
    expect(page.locator(".end-card")).to_be_visible()


def test_a_log_looks_as_a_terminal_shows_it_and_markup_stays_text(web: WebHarness) -> None:
    alice = web.people.person()
    prints = (
        r"printf '\033[31mred\033[0m plain\n'; printf '10%%\r50%%\rdone\n'; "
        r"echo '<b onclick=alert(1)>not bold</b>'; "
        r"for i in $(seq 1 3000); do echo line $i; done; echo needle; sleep 1000"
    )
    job = web.run(alice, name="prints", command=prints, gpus=1)
    page = web.sign_in(web.page(theme="light"), alice.name, f"/jobs/{job['id']}")
    log = page.locator(".lines")
    expect(log).to_contain_text("needle")
    expect(page.locator(".following")).to_be_visible()
    log.evaluate("box => { box.scrollTop = 0 }")
    expect(log.locator(".c-red")).to_have_text("red")
    expect(log.locator(".line").nth(1)).to_contain_text("done")
    expect(log.locator(".line").nth(1)).not_to_contain_text("50%")
    expect(log).to_contain_text("<b onclick=alert(1)>not bold</b>")
    expect(log.locator("b")).to_have_count(0)
    # Of thousands of lines only those in sight are elements.
    assert log.locator(".line").count() < 200
    page.locator(".log input[name=q]").fill("line 1500")
    page.keyboard.press("Enter")
    expect(page.locator(".line.chosen")).to_contain_text("line 1500")
    web.picture(page, "job-running")


def test_a_failed_job_says_what_ended_it_and_runs_again(web: WebHarness) -> None:
    alice = web.people.person()
    job = web.queue(alice, name="fails", command="echo boom >&2; exit 3")
    web.harness.wait(job)
    page = web.sign_in(web.page("zh", "light"), alice.name, f"/jobs/{job['id']}")
    expect(page.locator(".end-card.failed")).to_contain_text("退出码 3")
    expect(page.locator(".lines")).to_contain_text("boom")
    web.picture(page, "job-failed")
    page.get_by_role("button", name="再次运行").click()
    expect(page.locator("h1")).to_have_text(f"{alice.name}/fails-2")


def test_a_job_is_stopped_after_one_question(web: WebHarness) -> None:
    alice = web.people.person()
    job = web.run(alice, name="stops", gpus=1)
    page = web.sign_in(web.page(), alice.name, f"/jobs/{job['id']}")
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(page.locator(".end-card.stopped")).to_be_visible()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_does_not_end_by_itself_is_cleaned_up(web: WebHarness, lang: str) -> None:
    alice = web.people.person()
    command = "trap '' TERM INT; while :; do sleep 1; done"
    job = web.run(alice, name="stubborn", command=command, grace="10m")
    page = web.sign_in(web.page(lang), alice.name, f"/jobs/{job['id']}")
    stop = "Stop" if lang == "en" else "停止"
    page.get_by_role("button", name=stop, exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=stop, exact=True).click()
    page.get_by_role("button", name="Clean up now" if lang == "en" else "立即清理").click()
    expect(page.locator(".end-card.stopped")).to_be_visible()


def test_a_terminal_opens_inside_a_running_task(web: WebHarness) -> None:
    alice = web.people.person()
    job = web.run(alice, name="shell", gpus=1)
    page = web.sign_in(web.page(), alice.name, f"/jobs/{job['id']}")
    page.get_by_role("button", name="Terminal").click()
    expect(page.locator(".xterm-screen")).to_be_visible()
    page.locator(".xterm-helper-textarea").focus()
    page.keyboard.type("echo in-$DANLU_JOB\n")
    expect(page.locator(".xterm-rows")).to_contain_text("in-")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_terminal_survives_a_reload(web: WebHarness, lang: str) -> None:
    alice = web.people.person()
    job = web.run(alice, name="shell", gpus=1)
    page = web.sign_in(web.page(lang), alice.name, f"/jobs/{job['id']}")
    page.get_by_role("button", name="Terminal" if lang == "en" else "终端", exact=True).click()
    expect(page.locator(".xterm-rows")).to_contain_text("$")
    page.locator(".xterm-helper-textarea").focus()
    page.keyboard.type("kept=ye; echo before-${kept}s\n")
    expect(page.locator(".xterm-rows")).to_contain_text("before-yes")
    page.reload()
    expect(page.locator(".xterm-rows")).to_contain_text("before-yes")
    page.locator(".xterm-helper-textarea").focus()
    page.keyboard.type("echo after-${kept}s\n")
    expect(page.locator(".xterm-rows")).to_contain_text("after-yes")
    web.picture(page, f"terminal-{lang}")
    close = "Close the terminal" if lang == "en" else "关闭终端"
    page.get_by_role("button", name=close).click()
    page.reload()
    expect(page.locator(".log")).to_be_visible()
    expect(page.locator(".xterm")).to_have_count(0)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_terminal_survives_a_restart_of_the_server(
    browser: Browser, tmp_path: Path, lang: str
) -> None:
    server = DanluServer(tmp_path / "data", CLUSTER).start()
    web = WebHarness(server, browser, None)
    alice = web.people.person()
    job = web.run(alice, name="shell", gpus=1)
    page = web.sign_in(web.page(lang), alice.name, f"/jobs/{job['id']}")
    page.get_by_role("button", name="Terminal" if lang == "en" else "终端", exact=True).click()
    expect(page.locator(".xterm-rows")).to_contain_text("$")
    page.locator(".xterm-helper-textarea").focus()
    page.keyboard.type("kept=ye; echo before-${kept}s\n")
    expect(page.locator(".xterm-rows")).to_contain_text("before-yes")
    for end in (server.kill, server.stop):
        end()
        lost = page.get_by_text("Connection lost" if lang == "en" else "连接已断开")
        expect(lost).to_be_visible()
        server.start()
        expect(lost).to_have_count(0)
        expect(page.locator(".xterm-rows")).to_contain_text("before-yes")
        page.keyboard.type("echo after-${kept}s\n")
        expect(page.locator(".xterm-rows")).to_contain_text("after-yes")
        page.keyboard.type("clear; echo before-${kept}s\n")
        expect(page.locator(".xterm-rows")).not_to_contain_text("after-yes")
    web.close()
    server.cleanup()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_logs_of_several_tasks_stand_side_by_side(web: WebHarness, lang: str) -> None:
    alice = web.people.person()
    job = web.run(
        alice, name="pair", count=3, gpus=1, command="echo I am $DANLU_TASK_INDEX; sleep 1000"
    )
    page = web.sign_in(web.page(lang), alice.name, f"/jobs/{job['id']}")
    boxes = page.locator(".tasks input[type=checkbox]")
    expect(boxes).to_have_count(3)
    boxes.nth(2).check()
    logs = page.locator(".log .lines")
    expect(logs).to_have_count(2)
    expect(logs.nth(0)).to_contain_text("I am 0")
    expect(logs.nth(1)).to_contain_text("I am 2")
    left, right = (page.locator(".log").nth(n).bounding_box() for n in (0, 1))
    assert left is not None and right is not None
    assert left["y"] == right["y"] and left["x"] < right["x"]
    assert serious(page) == []
    web.picture(page, f"side-by-side-{lang}")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_a_log_of_100_megabytes_is_read_in_parts(web: WebHarness) -> None:
    alice = web.people.person()
    line = "x" * 89
    job = web.queue(
        alice,
        name="long",
        command=f"awk 'BEGIN{{for(i=1;i<=1100000;i++) printf \"%07d {line}\\n\",i}}'",
    )
    web.harness.wait(job)
    # Made once and read in both languages: it takes longer to write than to read.
    for lang, to_start, to_end in (
        ("en", "Go to the start", "Go to the end"),
        ("zh", "回到开头", "到末尾"),
    ):
        read_in_parts(web, alice, job, web.page(lang), to_start, to_end)


def read_in_parts(
    web: WebHarness, alice: Someone, job: Job, page: Page, to_start: str, to_end: str
) -> None:
    got: list[int] = []
    page.on(
        "response",
        lambda answer: (
            got.append(int(answer.headers.get("content-length", "0")))
            if "/logs?" in answer.url
            else None
        ),
    )
    web.sign_in(page, alice.name, f"/jobs/{job['id']}")
    lines = page.locator(".lines")
    expect(lines).to_contain_text("1100000 x")
    expect(page.locator(".log-foot")).to_contain_text("103 MB")
    assert sum(got) < 2_000_000, got
    page.get_by_role("button", name=to_start).click()
    expect(lines).to_contain_text("0000001 x")
    page.locator(".log input[name=q]").fill("0500000 x")
    page.keyboard.press("Enter")
    expect(page.locator(".line.chosen")).to_contain_text("0500000 x")
    # Scrolling up for long keeps neither all lines nor all elements.
    for _ in range(40):
        lines.evaluate("box => { box.scrollTop = 0 }")
        page.wait_for_timeout(50)
    assert lines.locator(".line").count() < 200
    assert sum(got) < 30_000_000
    page.get_by_role("button", name=to_end).click()
    expect(lines).to_contain_text("1100000 x")


@pytest.mark.parametrize(("lang", "refusal"), [("en", "Not found"), ("zh", "找不到")])
def test_anothers_job_is_refused_in_words(web: WebHarness, lang: str, refusal: str) -> None:
    alice, bob = web.people.person(), web.people.person()
    job = web.queue(bob, name="secret", held=True)
    page = web.sign_in(web.page(lang), alice.name, f"/jobs/{job['ref'].replace('/', '~')}")
    expect(page.get_by_role("alert")).to_contain_text(refusal)
    expect(page.get_by_role("alert")).not_to_contain_text("sleep")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_verified_what_if_starts_the_waiting_job_in_place(web: WebHarness, lang: str) -> None:
    alice, bob = web.people.person(), web.people.person()
    for _ in range(4):
        web.run(bob, name="long", gpus=4, time_limit="2h")
    job = web.queue(alice, name="waits", gpus=3, time_limit="1h")
    page = web.sign_in(web.page(lang), alice.name, f"/jobs/{job['id']}")
    helps = [one for one in web.harness.why(job)["suggestions"] if one["effect"] == "starts_now"]
    button = page.locator("button.what-if", has_text=helps[0][lang]).first
    expect(button.locator(".starts_now")).to_be_visible()
    button.click()
    expect(page.locator(".badge.go").first).to_be_visible()
    expect(page.locator("h1")).to_have_text(job["ref"])
    now = alice.get(f"/jobs/{job['id']}")
    assert now["state"] == "running"
    kinds = [event["kind"] for event in alice.get(f"/jobs/{job['id']}/events")["events"]]
    assert kinds.count("submitted") == kinds.count("edited") == 1
    kept = ("id", "ref", "seq", "submitted_at")
    assert {key: now[key] for key in kept} == {key: job[key] for key in kept}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_why_table_adds_up_to_its_sentence(web: WebHarness, lang: str) -> None:
    """GPUs of a drained node are idle, but nobody's to have."""
    alice, bob = web.people.person(), web.people.person()
    web.people.admin.do("POST", "/nodes/n4/drain", {"reason": "new fan"})
    try:
        for _ in range(3):
            web.run(bob, name="long", gpus=4, time_limit="2h")
        job = web.queue(alice, name="waits", gpus=3, time_limit="1h")
        page = web.sign_in(web.page(lang), alice.name, f"/jobs/{job['id']}")
        rows = page.locator(".causes tbody tr")
        expect(rows).to_have_count(4)
        shown = [row.locator("td").nth(1).inner_text() for row in rows.all()]
        why = web.harness.why(job)
        assert sum(int(text) for text in shown if text.isdigit()) == 3
        assert why["causes"][0]["numbers"]["free_gpus"] == 3
        drained = page.get_by_role("row", name=re.compile("^n4 "))
        expect(drained.locator("td").nth(1)).to_have_text("–")
        expect(drained).to_contain_text("drained" if lang == "en" else "已停用")
        opens = page.get_by_role("row", name=re.compile("^n1 ")).locator("td").nth(4)
        expect(opens).to_have_text(re.compile(r"\d\d:\d\d"))
        place = "place 1 in the queue" if lang == "en" else "排第 1 位"
        expect(page.locator(".why-card")).to_contain_text(place)
        expect(page.locator(".lane.own .planned")).to_be_visible()
        web.picture(page, f"why-drained-{lang}")
    finally:
        web.people.admin.do("POST", "/nodes/n4/resume")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_job_that_ran_out_of_time_runs_again_with_more(web: WebHarness, lang: str) -> None:
    alice = web.people.person()
    job = web.queue(alice, name="slow", time_limit="1s", grace="1s")
    web.harness.wait(job)
    page = web.sign_in(web.page(lang), alice.name, f"/jobs/{job['id']}")
    page.locator(".end-card").get_by_role("link").click()
    expect(page.get_by_label("YAML")).to_have_value(re.compile("time_limit: 2s"))


@pytest.mark.parametrize("width", [390, 320])
def test_a_long_name_is_not_squeezed_on_a_phone(web: WebHarness, width: int) -> None:
    alice = web.people.person()
    job = web.run(alice, name="vit-base", gpus=1)
    page = web.sign_in(web.page(width=width, height=844), alice.name, f"/jobs/{job['id']}")
    expect(page.get_by_role("button", name="Terminal")).to_be_visible()
    title, tools = (
        page.locator(f".page-head .{part}").bounding_box() for part in ("job-title", "tools")
    )
    assert title is not None and tools is not None
    assert title["y"] + title["height"] <= tools["y"]
    assert title["width"] > 0.8 * width
