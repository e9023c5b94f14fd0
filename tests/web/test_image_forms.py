"""Saving a container and building an image, with the forms of the pages and a real Docker."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.containers.conftest import docker_daemon  # noqa: F401
from tests.containers.test_building import base_image
from tests.containers.test_saved_images import config, until
from tests.support.containers import BUSYBOX, ContainerDaemon
from tests.support.server import PATIENCE, DanluServer
from tests.web.conftest import PICTURES
from tests.web.harness import WebHarness

BASE = "danlu-forms:1"
LONG = PATIENCE * 1000
WORDS = {
    "en": {"save": "Save as image", "start": "Save", "done": "Saved as", "build": "Build"},
    "zh": {"save": "保存为镜像", "start": "保存", "done": "已保存为", "build": "构建"},
}


@pytest.fixture(scope="module")
def docker_web(
    docker_daemon: ContainerDaemon,  # noqa: F811
    browser: Browser,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[WebHarness]:
    docker_daemon.import_image(BASE, base_image())
    data = tmp_path_factory.mktemp("forms") / "data"
    server = DanluServer(data, config(docker_daemon)).start()
    web = WebHarness(server, browser, Path(PICTURES) if PICTURES else None)
    yield web
    web.close()
    server.cleanup()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_job_is_saved_with_the_form(docker_web: WebHarness, lang: str) -> None:
    web, words = docker_web, WORDS[lang]
    alice = web.people.person()
    command = "head -c 3000000 /dev/urandom > /tmp/large; sleep 1000"
    job = web.run(alice, image=BUSYBOX, command=command, memory="64M")
    page = web.sign_in(web.page(lang), alice.name, f"/jobs/{job['ref'].replace('/', '~')}")
    page.get_by_role("button", name=words["save"]).click()
    sheet = page.get_by_role("dialog")
    expect(sheet.get_by_role("status")).to_contain_text(re.compile(r"\d"), timeout=LONG)
    image = sheet.locator("input[name=image]")
    image.fill("somebody-else/x:1")
    sheet.locator(".button.primary").click()
    expect(sheet.get_by_role("alert").first).to_contain_text("somebody-else/x")
    web.picture(page, f"save-refused-{lang}")
    image.fill(f"{alice.name}/saved-{lang}:1")
    sheet.locator(".button.primary").click()
    expect(page.locator("[data-save=saved]")).to_be_visible(timeout=LONG)
    expect(sheet.get_by_role("status")).to_contain_text(f"{alice.name}/saved-{lang}:1")
    web.picture(page, f"saved-{lang}")
    sheet.locator("a.button.primary").click()
    expect(page.locator("h1")).to_contain_text(f"{alice.name}/saved-{lang}:1")
    web.picture(page, f"saved-image-{lang}")
    alice.do("POST", f"/jobs/{job['id']}/stop", {"now": True})


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_image_is_built_with_the_form(docker_web: WebHarness, lang: str) -> None:
    web = docker_web
    alice = web.people.person()
    page = web.sign_in(web.page(lang), alice.name, "/images/new")
    page.locator("input[name=name]").fill(f"{alice.name}/built-{lang}:1")
    page.locator("input[name=base]").fill(BASE)
    page.locator("textarea[name=pip]").fill("numpy==2.1.0 $(reboot)")
    page.locator("form .button.primary").click()
    expect(page.get_by_role("alert").first).to_contain_text("$(reboot)")
    web.picture(page, f"build-refused-{lang}")
    page.locator("textarea[name=pip]").fill("numpy==2.1.0\ntimm")
    page.locator("form .button.primary").click()
    page.wait_for_url(re.compile(r"/jobs/.*build-\d"))
    web.picture(page, f"building-{lang}")
    until(lambda: alice.get("/images")["images"], LONG / 1000)
    page.goto(f"{web.server.url}/images")
    card = page.locator(".card.image", has_text=f"{alice.name}/built-{lang}:1")
    expect(card).to_be_visible(timeout=LONG)
    web.picture(page, f"built-{lang}")
