"""The map of GPUs, as users see it."""

from __future__ import annotations

import re

from playwright.sync_api import expect

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
    page.get_by_role("button", name="停用").click()
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
