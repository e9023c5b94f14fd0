"""The list of jobs."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.api.harness import PATIENCE
from tests.support.server import DanluServer
from tests.web.axe import serious
from tests.web.harness import CLUSTER, WebHarness

WORDS = {"en": ("Stop", "4 jobs chosen", "elements"), "zh": ("停止", "已选 4 个任务", "个元素")}


@pytest.mark.parametrize(("lang", "theme"), [("en", "light"), ("zh", "dark")])
def test_what_runs_is_first_arrays_are_folded_and_many_are_stopped_at_once(
    web: WebHarness, lang: str, theme: str
) -> None:
    stop, chosen, elements = WORDS[lang]
    boss, alice = web.people.person(), web.people.person()
    web.people.admin.do("PATCH", f"/users/{boss.name}", {"role": "admin"})
    running = web.run(alice, name="runs", gpus=1)
    web.harness.wait(web.queue(alice, name="over", command="true"))
    web.queue(alice, name="grid", array="0-2", held=True)
    page = web.sign_in(web.page(lang, theme), boss.name, f"/jobs?owner={alice.name}")
    rows = page.locator("tbody tr")
    expect(rows.first).to_contain_text("runs")
    order = [row.split("\n")[0] for row in page.locator("tbody td.name").all_inner_texts()]
    at = {
        name: next(i for i, one in enumerate(order) if one.startswith(name))
        for name in ("runs", "grid", "over")
    }
    assert at["runs"] < at["grid"] < at["over"]
    grid = page.get_by_role("row", name=re.compile(r"grid-\d"))
    expect(grid).to_have_count(1)
    expect(grid).to_contain_text(f"3 {elements}")
    grid.get_by_role("checkbox").check()
    page.get_by_role("row", name=re.compile("runs")).get_by_role("checkbox").check()
    expect(page.locator(".bulk")).to_contain_text(chosen)
    assert serious(page) == []
    web.picture(page, f"jobs-bulk-{lang}-{theme}")
    page.locator(".bulk").get_by_role("button", name=stop).click()
    page.get_by_role("dialog").get_by_role("button", name=stop, exact=True).click()
    expect(page.locator(".bulk")).to_have_count(0)
    web.harness.until(running, "stopped")
    expect(page.get_by_role("row", name=re.compile("over")).get_by_role("checkbox")).to_have_count(
        0
    )


PRIORITY = {"en": ("Priority", "Set the priority"), "zh": ("优先级", "设置优先级")}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_admin_changes_the_priority_of_many_at_once(web: WebHarness, lang: str) -> None:
    name, go = PRIORITY[lang]
    boss, alice = web.people.person(), web.people.person()
    web.people.admin.do("PATCH", f"/users/{boss.name}", {"role": "admin"})
    running = web.run(alice, name="runs", gpus=1)
    waits = web.queue(alice, name="waits", held=True)
    element = web.queue(alice, name="grid", array="0-119", held=True)
    page = web.sign_in(web.page(lang), boss.name, f"/jobs?owner={alice.name}")
    for row in ("runs", "waits", "grid"):
        page.get_by_role("row", name=re.compile(f"{row}-1")).get_by_role("checkbox").check()
    expect(page.locator(".bulk")).to_contain_text("122")
    page.locator(".bulk").get_by_role("button", name=name).click()
    dialog = page.get_by_role("dialog")
    box = dialog.get_by_role("textbox", name=name)
    box.fill("1001")
    expect(dialog.get_by_role("button", name=go)).to_be_disabled()
    box.fill("9")
    assert serious(page) == []
    web.picture(page, f"jobs-priority-{lang}")
    dialog.get_by_role("button", name=go).click()
    expect(page.locator(".bulk")).to_have_count(0)
    assert [web.harness.show(job)["priority"] for job in (waits, element, running)] == [9, 9, 0]


def test_an_array_longer_than_a_page_is_one_row_with_true_counts(web: WebHarness) -> None:
    alice = web.people.person()
    web.queue(alice, name="before", held=True)
    element = web.queue(alice, name="grid", array="0-119", held=True)
    page = web.sign_in(web.page(), alice.name, "/jobs")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    grid = page.get_by_role("row", name=re.compile("grid-1"))
    expect(grid).to_contain_text("120 elements: 120 waiting")
    web.harness.http.post(f"/jobs/{element['id']}/stop")
    expect(grid).to_contain_text("119 waiting, 1 stopped")
    grid.get_by_role("button").click()
    expect(rows).to_have_count(2 + 50 + 1)
    for count in (2 + 100 + 1, 2 + 120):
        page.get_by_role("button", name="More elements").click()
        expect(rows).to_have_count(count)
    grid.first.get_by_role("button").click()
    expect(rows).to_have_count(2)


def test_the_list_is_filtered_by_owner_state_and_queue(web: WebHarness) -> None:
    boss, alice = web.people.person(), web.people.person()
    web.people.admin.do("PATCH", f"/users/{boss.name}", {"role": "admin"})
    web.people.admin.do("PUT", "/queues/filtered", {})
    try:
        web.queue(alice, name="here", held=True)
        web.queue(alice, name="there", queue="filtered", held=True)
        web.harness.wait(web.queue(alice, name="over", command="true"))
        page = web.sign_in(web.page(), boss.name, "/jobs")
        names = page.locator("tbody td.name a")
        expect(page.locator(".empty")).to_be_visible()
        page.get_by_role("combobox", name="Who").select_option(alice.name)
        expect(names).to_have_count(3)
        page.get_by_role("combobox", name="State").select_option("Succeeded")
        expect(names).to_have_text(["over-1"])
        page.get_by_role("combobox", name="State").select_option("Any state")
        page.get_by_role("combobox", name="Queue").select_option("filtered")
        expect(names).to_have_text(["there-1"])
        page.reload()
        expect(names).to_have_text(["there-1"])
        web.picture(page, "jobs-filters")
        page.set_viewport_size({"width": 390, "height": 844})
        row = page.locator("tbody tr").first
        for label in ("GPUs", "Where", "Submitted", "Run time"):
            expect(row.locator(f"[data-label='{label}']")).to_be_visible()
        expect(row).to_contain_text(alice.name)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert serious(page) == []
        web.picture(page, "jobs-phone")
    finally:
        web.harness.clear()
        web.people.admin.do("DELETE", "/queues/filtered")


@pytest.mark.slow
def test_a_hundred_thousand_jobs_are_turned_page_by_page(browser: Browser, tmp_path: Path) -> None:
    server = DanluServer(tmp_path / "data", CLUSTER).start()
    web = WebHarness(server, browser, None)
    try:
        alice = web.people.person()
        job = web.queue(alice, name="many", command="true")
        web.harness.wait(job)
        server.stop()
        multiply(server, job["id"], 100_000)
        server.start()
        page = web.sign_in(web.page(), alice.name, "/jobs")
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(50)
        for count in (100, 150, 200):
            page.get_by_role("button", name="Older jobs").click()
            expect(rows).to_have_count(count)
        names = page.locator("tbody td.name a").all_inner_texts()
        assert names == [f"many-{number}" for number in range(100_001, 99_801, -1)]
        page.get_by_role("searchbox").fill("no-such-job")
        expect(page).to_have_url(re.compile("text=no-such-job"))
        expect(page.locator(".empty")).to_be_visible()
    finally:
        web.close()
        server.cleanup()


def multiply(server: DanluServer, id: str, count: int) -> None:
    """Copies of an ended job, straight into the database."""
    with closing(sqlite3.connect(server.data / "danlu.db", timeout=PATIENCE)) as db, db:
        names = [row[1] for row in db.execute("PRAGMA table_info(jobs)")]
        values = {"seq": "j.seq + n", "id": "j.id || n", "number": "n + 1"}
        chosen = ", ".join(values.get(name, f'j."{name}"') for name in names)
        db.execute(
            f"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {count}) "
            f"INSERT INTO jobs SELECT {chosen} FROM c, jobs j WHERE j.id = ?",
            (id,),
        )
