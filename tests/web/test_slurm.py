"""The map and the reasons why a job waits, on a real Slurm that is shared with sbatch users."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.people_harness import PASSWORD
from tests.real.slurm.danlu import server_on
from tests.support.server import DanluServer
from tests.support.slurm import NODES, Slurm, real_slurm
from tests.support.waiting import until
from tests.web.conftest import PICTURES
from tests.web.harness import WebHarness


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    slurm = real_slurm()
    try:
        yield slurm
    finally:
        slurm.close()


@pytest.fixture(scope="module")
def site(slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DanluServer]:
    data = tmp_path_factory.mktemp("slurm") / "data"
    server = server_on(slurm, data, slurm.people["cy"])
    yield server
    for job in server.get("/jobs?active=true")["jobs"]:
        server.post(f"/jobs/{job['id']}/stop", {"now": True})
    until(lambda: not server.get("/jobs?active=true")["jobs"])
    server.cleanup()


@pytest.fixture(scope="module")
def full(site: DanluServer, slurm: Slurm) -> str:
    """All GPUs are held by bob, who uses sbatch, but for one node's, which ann holds; she waits."""
    ann, bob = slurm.people["ann"], slurm.people["bob"]
    code = site.post("/invites", {})["code"]
    site.post("/sign-up", {"name": ann.name, "password": PASSWORD, "code": code})
    token = site.post("/login", {"user": ann.name, "password": PASSWORD})["token"]
    for node in NODES[:3]:
        slurm.sbatch(
            bob, "-J", "bert", "-w", node, "--gres=gpu:3090:5", "-t", "60", "--wrap=sleep 600"
        )
    job = {"name": "mine", "command": "sleep 600", "gpus": 5, "cpus": 1, "memory": "1G"}
    as_ann = {"DANLU_TOKEN": token}
    for name in ("mine", "next"):
        words = ("submit", "--name", name, "-g", "5", "-c", "1", "-m", "1G", "--time", "30m")
        done = site.cli(*words, "--", *str(job["command"]).split(), env=as_ann)
        assert done.returncode == 0, done.stderr
    until(lambda: site.get("/cluster")["gpus"]["outside"] == 15)
    until(lambda: site.get("/cluster")["gpus"]["used"] == 5)
    until(lambda: _waits(site))
    return ann.name


@pytest.fixture
def web(site: DanluServer, browser: Browser) -> Iterator[WebHarness]:
    web = WebHarness(site, browser, Path(PICTURES) if PICTURES else None)
    yield web
    assert web.broken == []


@pytest.fixture
def page(web: WebHarness, full: str) -> Page:
    return web.sign_in(web.page(), full)


def _waits(site: DanluServer) -> bool:
    (job,) = site.get("/jobs?state=queued")["jobs"]
    why = site.get(f"/jobs/{job['id']}/why")
    return bool(why["causes"] and why["causes"][0]["numbers"].get("code") and why["eta"])


def test_the_map_shows_whose_slurm_job_holds_a_gpu(
    web: WebHarness, page: Page, slurm: Slurm
) -> None:
    bob = slurm.people["bob"]
    expect(page.locator(".gpu")).to_have_count(20)
    outside = page.locator(".block.outside")
    expect(outside).to_have_count(3)
    expect(outside.first).to_contain_text(re.compile(r"slurm \d+"))
    expect(outside.first.locator(".title")).to_have_attribute(
        "title", re.compile(rf"used from outside: {bob.name}, slurm job \d+ \(bert\)")
    )
    expect(page.locator(".block.mine .gpu")).to_have_count(5)
    expect(page.locator("[data-figure=free]")).to_contain_text("15 outside")
    # A job in Slurm's queue waits like any other.
    expect(page.locator("[data-figure=waiting]")).to_contain_text(re.compile(r"Waiting\s*1\s*job"))
    outside.first.locator(".gpu").first.hover()
    expect(page.get_by_role("tooltip")).to_contain_text(f"used from outside: {bob.name}")
    web.picture(page, "slurm-map")


def test_the_page_of_a_waiting_job_tells_slurms_reason_and_the_holders(
    web: WebHarness, page: Page, slurm: Slurm, site: DanluServer
) -> None:
    (job,) = site.get("/jobs?state=queued")["jobs"]
    page.goto(f"{site.url}/jobs/{job['ref'].replace('/', '~')}")
    card = page.locator(".why-card")
    expect(card.locator(".sentence")).to_contain_text("Waiting in the queue of engine slurm:")
    expect(card.locator(".sentence")).to_contain_text(
        re.compile(r"slurm says (Resources|Priority)")
    )
    expect(card).to_contain_text("basis: the engine's plan")
    expect(card).not_to_contain_text("place 1")
    expect(page.locator(".lanes")).to_contain_text(slurm.people["bob"].name)
    expect(page.locator(".lanes")).to_contain_text("outside")
    expect(page.locator(".causes tbody tr")).to_have_count(4)
    web.picture(page, "slurm-why")


def test_the_reason_is_told_in_chinese(web: WebHarness, full: str, site: DanluServer) -> None:
    page = web.sign_in(web.page(lang="zh"), full)
    (job,) = site.get("/jobs?state=queued")["jobs"]
    page.goto(f"{site.url}/jobs/{job['ref'].replace('/', '~')}")
    sentence = page.locator(".why-card .sentence")
    expect(sentence).to_contain_text("在引擎 slurm 的队列中等待：")
    expect(page.locator(".why-card")).to_contain_text("依据：引擎的调度计划")
    web.picture(page, "slurm-why-zh")
