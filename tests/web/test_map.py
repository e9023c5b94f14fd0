"""The map of GPUs, as users see it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.web.axe import serious
from tests.web.harness import WebHarness


def test_signing_in_shows_the_map_with_numbers_that_add_up(web: WebHarness) -> None:
    alice, bob = web.people.person(), web.people.person()
    web.run(alice, name="mnist", gpus=2, time_limit="2h")
    web.run(bob, name="vit", gpus=5)
    web.queue(bob, name="llava", gpus=5, count=4)
    page = web.sign_in(web.page(), alice.name)

    expect(page.locator("h1")).to_have_text("GPUs")
    expect(page.locator(".gpu-row")).to_have_count(4)
    expect(page.locator(".gpu")).to_have_count(20)
    expect(page.locator(".block.mine")).to_contain_text("mnist-1")
    expect(page.locator(".block.others")).to_contain_text("vit-1")
    expect(page.locator(".block.mine .gpu")).to_have_count(2)
    free = page.locator("[data-figure=free] b")
    expect(free).to_have_text(str(web.harness.get("/cluster")["gpus"]["free"]).removesuffix(".0"))
    web.picture(page, "map")


def test_a_job_that_ends_frees_its_gpus_on_an_open_page(web: WebHarness) -> None:
    alice = web.people.person()
    job = web.run(alice, name="short", gpus=3)
    page = web.sign_in(web.page(), alice.name)
    expect(page.locator(".block.mine .gpu")).to_have_count(3)
    web.harness.stop(job, now=True)
    expect(page.locator(".block.mine")).to_have_count(0)
    expect(page.locator("[data-figure=free] b")).to_have_text("20")


def test_a_wrong_password_is_told_and_nobody_gets_in(web: WebHarness) -> None:
    page = web.page()
    page.goto(web.server.url)
    page.locator("input[name=user]").fill("nobody-here")
    page.locator("input[name=password]").fill("not the password")
    page.locator("button.primary").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator("header.top")).to_have_count(0)


def test_fits_fades_the_nodes_that_cannot_hold_so_many(web: WebHarness) -> None:
    alice = web.people.person()
    web.run(alice, name="wide", gpus=4)
    page = web.sign_in(web.page(), alice.name)
    page.get_by_role("button", name="Show nodes that can take 4 GPUs now").click()
    expect(page.locator(".gpu-row.faded")).to_have_count(1)
    expect(page.locator(".gpu-row.fits")).to_have_count(3)
    expect(page).to_have_url(re.compile(r"fits=4"))


def test_the_map_is_walked_by_keys(web: WebHarness) -> None:
    page = web.sign_in(web.page(), web.people.person().name)
    page.locator(".gpu").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    expect(page.locator(":focus")).to_have_accessible_name(re.compile("^n2, GPU 1: free"))


def test_an_admin_takes_a_node_out_and_back_a_member_cannot(web: WebHarness) -> None:
    boss, member = web.people.person(), web.people.person()
    web.people.admin.do("PATCH", f"/users/{boss.name}", {"role": "admin"})
    page = web.sign_in(web.page("zh"), boss.name)
    page.get_by_role("button", name="n3 详情").click()
    # Of the dialog: the figure of what is out has a button of the same name.
    page.get_by_role("dialog").get_by_role("button", name="停用").click()
    expect(page.get_by_role("button", name="恢复使用")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".block.drained")).to_have_count(1)
    expect(page.locator("[data-figure=out] b")).to_have_text("5")
    other = web.sign_in(web.page(), member.name)
    other.get_by_role("button", name="Details of n3").click()
    expect(other.get_by_role("dialog")).to_be_visible()
    expect(other.get_by_role("button", name="Take back into service")).to_have_count(0)
    page.get_by_role("button", name="n3 详情").click()
    page.get_by_role("button", name="恢复使用").click()
    expect(other.locator(".block.drained")).to_have_count(0)


def test_the_table_says_the_same_as_the_map(web: WebHarness) -> None:
    alice = web.people.person()
    web.run(alice, name="some", gpus=2)
    page = web.sign_in(web.page(), alice.name, "/?table=1")
    expect(page.locator("[data-figure=free] b")).to_have_text("18")
    expect(page.locator("[data-twin] tbody tr").first).to_be_visible()  # all() does not wait
    cells = [row.locator("td, th") for row in page.locator("[data-twin] tbody tr").all()]
    free = sum(int(cell.nth(3).inner_text()) for cell in cells)
    used = sum(int(cell.nth(4).inner_text()) for cell in cells)
    assert (free, used) == (18, 2)


def test_markup_in_a_name_stays_text(web: WebHarness) -> None:
    alice = web.people.person()
    web.run(alice, name="b", command="echo '<img src=x onerror=alert(1)>'; sleep 1000", gpus=1)
    page = web.sign_in(web.page(), alice.name)
    expect(page.locator(".block.mine")).to_be_visible()
    expect(page.locator("img")).to_have_count(0)


def test_an_open_page_survives_a_restart_of_the_server(web: WebHarness) -> None:
    alice = web.people.person()
    web.run(alice, name="goes-on", gpus=2)
    page = web.sign_in(web.page(), alice.name)
    expect(page.locator(".block.mine .gpu")).to_have_count(2)
    web.server.stop()
    expect(page.locator(".away-bar")).to_be_visible()
    expect(page.locator(".block.mine .gpu")).to_have_count(2)
    web.picture(page, "server-away")
    web.server.start()
    expect(page.locator(".away-bar")).to_have_count(0)
    expect(page.locator(".live")).to_have_text("live")
    expect(page.locator(".block.mine .gpu")).to_have_count(2)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_mine_counts_all_of_mine_and_shows_what_runs_first(web: WebHarness, lang: str) -> None:
    alice = web.people.person()
    for number in range(4):
        web.run(alice, name=f"goes{number}", gpus=1)
    web.queue(alice, name="grid", array="0-119", held=True)
    page = web.sign_in(web.page(lang), alice.name)
    mine = page.get_by_role("region", name={"en": "Mine", "zh": "我的"}[lang])
    said = {"en": "4 running · 120 waiting", "zh": "4 运行 · 120 排队"}[lang]
    expect(mine.locator(".head")).to_contain_text(said)
    rows = mine.locator(".side-row")
    expect(rows).to_have_count(5)
    expect(rows.first).to_contain_text("goes3")
    expect(rows.last).to_contain_text("× 120")


def test_the_whole_queue_is_shown_to_everybody(web: WebHarness) -> None:
    alice, bob = web.people.person(), web.people.person()
    web.run(bob, name="full", gpus=5, count=4)
    for number in range(7):
        web.queue(bob, name=f"later{number}", gpus=1)
    page = web.sign_in(web.page(), alice.name)
    queue = page.get_by_role("region", name="Queue")
    expect(queue).not_to_contain_text("later6")
    queue.get_by_role("button", name="and 2 more").click()
    expect(queue).to_contain_text("later6-1")
    expect(page).to_have_url(re.compile("queue=all"))
    assert serious(page) == []
    web.picture(page, "map-whole-queue")
    page.reload()
    expect(queue).to_contain_text("later6-1")


def test_pointing_at_somebody_in_the_queue_keeps_only_their_gpus(web: WebHarness) -> None:
    alice, bob = web.people.person(), web.people.person()
    web.run(alice, name="mine", gpus=5, count=3)
    web.run(bob, name="theirs", gpus=5)
    web.queue(bob, name="later", gpus=1)
    page = web.sign_in(web.page(), alice.name)
    page.get_by_role("region", name="Queue").get_by_text("later-1").hover()
    expect(page.locator(".block.mine.faded")).to_have_count(3)
    expect(page.locator(".block.others")).not_to_have_class(re.compile("faded"))
    page.locator("h1").hover()
    expect(page.locator(".block.faded")).to_have_count(0)


def test_each_figure_opens_its_list(web: WebHarness) -> None:
    alice = web.people.person()
    web.run(alice, name="some", gpus=5)
    page = web.sign_in(web.page(), alice.name)
    page.locator("[data-figure=free]").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="free")).to_have_count(3)
    dialog.press("Escape")
    for figure in ("idle", "out"):
        expect(dialog).to_have_count(0)
        page.locator(f"[data-figure={figure}]").click()
        expect(dialog).to_contain_text("None at the moment.")
        dialog.press("Escape")
    expect(dialog).to_have_count(0)
    page.locator("[data-figure=waiting]").click()
    expect(page).to_have_url(re.compile("queue=all"))
    page.locator("[data-figure=quota]").click()
    expect(page.locator("tbody td.name a")).to_have_text(["some-1"])


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_who_asked_to_be_told_is_told_on_another_page_and_after_a_reload(
    web: WebHarness, lang: str
) -> None:
    ask, waits, told = {
        "en": ("Tell me when 1 is free", "Waiting for 1 GPU: cancel", "1 GPU free on one node: n1"),
        "zh": ("空出 1 卡时通知我", "正在等 1 卡：取消", "单机空出了 1 卡：n1"),
    }[lang]
    alice, bob = web.people.person(), web.people.person()
    job = web.run(bob, name="full", gpus=5, count=4)
    page = web.sign_in(web.page(lang), alice.name)
    page.get_by_role("button", name=ask).click()
    expect(page.get_by_role("button", name=waits)).to_be_visible()
    page.goto(f"{web.server.url}/jobs")
    expect(page.locator(".live")).to_have_class(re.compile("live live"))
    expect(page.locator(".told")).to_be_empty()
    web.harness.stop(job, now=True)
    expect(page.locator(".told")).to_contain_text(told)
    assert serious(page) == []
    web.picture(page, f"told-{lang}")
    page.locator(".told button").click()
    page.reload()
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator(".told")).to_be_empty()


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1920, 1080)])
def test_a_wall_fits_one_screen_and_has_nothing_personal(
    web: WebHarness, width: int, height: int
) -> None:
    alice, bob = web.people.person(), web.people.person()
    web.run(alice, name="mine-with-a-name", gpus=1)
    for number in range(4):
        web.run(bob, name=f"theirs-with-a-name-{number}", gpus=3)
    for number in range(6):
        web.queue(bob, name=f"later{number}", gpus=5)
    page = web.sign_in(web.page(width=width, height=height), alice.name)
    page.goto(f"{web.server.url}/?wall=1")
    expect(page.locator(".gpu")).to_have_count(20)
    expect(page.locator(".next-line")).to_contain_text("later4")
    fits = "document.documentElement.scrollHeight <= innerHeight"
    # Not wait_for_function: it asks again by eval, which the page's policy refuses.
    for _ in range(300):
        if page.evaluate(fits):
            break
        page.wait_for_timeout(100)
    page.wait_for_timeout(1500)
    assert page.evaluate(fits)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.get_by_role("region", name="Mine")).to_have_count(0)
    expect(page.locator("[data-figure=quota]")).to_have_count(0)
    expect(page.locator("main :is(.block.mine, .mark.mine, .person.me)")).to_have_count(0)
    web.picture(page, f"wall-{width}")


def test_eight_people_with_the_viewer_share_no_tint_and_keep_it(web: WebHarness) -> None:
    people = [web.people.person() for _ in range(7)]
    for number, person in enumerate(people):
        web.run(person, name=f"tint{number}", gpus=1)
    page = web.sign_in(web.page(), web.people.person().name)
    blocks = page.locator(".block.others")
    tints = "(all) => all.map((one) => getComputedStyle(one).getPropertyValue('--tint'))"
    expect(blocks).to_have_count(7)
    seen = blocks.evaluate_all(tints)
    assert len(set(seen)) == 7, seen
    page.reload()
    expect(blocks).to_have_count(7)
    assert blocks.evaluate_all(tints) == seen
