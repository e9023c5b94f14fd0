"""Uploads in a browser: whole folders, large files, and whatever breaks in between.

`DANLU_TEST_UPLOAD=10000x5120` sends 10,000 files and one of 5,120 MB instead of the few of CI.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.server import DanluServer
from tests.web.files_harness import MB, FileCentre, digest, digests, large, tree
from tests.web.harness import CLUSTER, WebHarness
from tests.web.wire import Wire

COUNT, SIZE = (int(part) for part in os.environ.get("DANLU_TEST_UPLOAD", "300x40").split("x"))
SLOW = 4 * MB  # bytes a second: there is a middle to break it in
CRAWL = MB / 5
MINUTES = 2 + SIZE / 200 + COUNT / 2000


@pytest.fixture
def own(browser: Browser, tmp_path: Path) -> Iterator[WebHarness]:
    """A server that may be killed."""
    server = DanluServer(tmp_path / "data", CLUSTER).start()
    web = WebHarness(server, browser, None)
    yield web
    web.close()
    server.cleanup()


@pytest.fixture
def wire(own: WebHarness) -> Iterator[Wire]:
    wire = Wire(own.server.port, SLOW)
    yield wire
    wire.close()


@pytest.mark.timeout(600 + 120 * MINUTES)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_folder_and_a_large_file_survive_a_broken_connection_and_a_killed_server(
    own: WebHarness, wire: Wire, tmp_path: Path, lang: str
) -> None:
    folder = tree(tmp_path / "laptop" / "实验 1", COUNT)
    file = large(tmp_path / "laptop" / "model.safetensors", SIZE * MB)
    centre = FileCentre(own, own.people.person(), lang, url=wire.url)
    page = centre.page
    waiting = page.locator(".tray li[data-state=waiting]")
    centre.take("files", file)
    centre.begun(file.name)
    wire.cut()
    expect(waiting).to_be_visible()
    part = next(centre.home.glob(".danlu-upload*"))
    before = part.stat().st_size
    assert 0 < before < file.stat().st_size
    wire.mend(CRAWL)
    centre.take("folder", folder)
    expect(page.locator(".tray li[data-state=sending]")).to_have_count(2)
    own.server.kill()
    expect(waiting).to_have_count(2)
    assert part.stat().st_size >= before  # it went on, and not from the start
    own.server.start()
    wire.mend()
    centre.sent(MINUTES)
    assert digest(centre.home / file.name) == digest(file)
    assert digests(centre.home / folder.name) == digests(folder)
    expect(centre.row(file.name)).to_be_visible()
    expect(centre.row(folder.name)).to_be_visible()
    assert list(centre.home.rglob(".danlu-upload*")) == []


def test_an_upload_goes_on_after_the_laptop_was_closed(
    own: WebHarness, wire: Wire, tmp_path: Path
) -> None:
    file = large(tmp_path / "laptop.bin", 40 * MB)
    centre = FileCentre(own, own.people.person(), url=wire.url)
    page = centre.page
    centre.take("files", file)
    centre.begun(file.name, 20)
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto("about:blank")
    wire.mend()
    page.goto(f"{wire.url}/files")
    note = page.locator(".unfinished")
    expect(note).to_contain_text("laptop.bin")
    begun = next(centre.home.glob(".danlu-upload*")).stat().st_size
    assert 0 < begun < file.stat().st_size
    sent: list[int] = []
    page.on("request", lambda asked: sent.append(int(asked.headers.get("upload-offset", 0))))
    page.locator("input[data-upload=again]").set_input_files(str(file))
    centre.sent()
    assert begun in sent  # and not from the start
    assert digest(centre.home / file.name) == digest(file)
    expect(note).to_have_count(0)


def test_an_upload_is_paused_resumed_and_cancelled(
    own: WebHarness, wire: Wire, tmp_path: Path
) -> None:
    one, two = (large(tmp_path / name, 30 * MB) for name in ("one.bin", "two.bin"))
    centre = FileCentre(own, own.people.person(), url=wire.url)
    page = centre.page
    centre.take("files", one)
    page.get_by_role("button", name="Pause: one.bin").click()
    expect(page.locator(".tray li[data-state=paused]")).to_be_visible()
    centre.take("files", two)
    centre.begun("two.bin")
    page.get_by_role("button", name="Cancel: two.bin").click()
    page.get_by_role("button", name="Cancel the upload of two.bin").click()
    expect(page.locator(".tray")).not_to_contain_text("two.bin")
    wire.mend()
    page.get_by_role("button", name="Resume", exact=True).click()
    centre.sent()
    assert digest(centre.home / one.name) == digest(one)
    assert not (centre.home / two.name).exists()
    assert list(centre.home.glob(".danlu-upload*")) == []


def test_names_that_are_taken_are_asked_about(own: WebHarness, tmp_path: Path) -> None:
    centre = FileCentre(own, own.people.person())
    page = centre.page
    note = tmp_path / "note.txt"
    for text, choice in (("first", None), ("second", "Keep both"), ("third", "Replace")):
        note.write_text(text)
        centre.take("files", note)
        if choice is not None:
            page.get_by_role("dialog").get_by_role("button", name=choice).click()
        centre.sent()
        page.get_by_role("button", name="Dismiss: note").click()
    assert (centre.home / "note.txt").read_text() == "third"
    assert (centre.home / "note (2).txt").read_text() == "second"


def test_what_the_server_refuses_is_said_and_the_rest_arrives(
    own: WebHarness, tmp_path: Path
) -> None:
    centre = FileCentre(own, own.people.person())
    folder = centre.home / "kept"
    (folder / "b.bin").mkdir(parents=True)
    owner = centre.home.stat()
    for path in (folder, folder / "b.bin"):
        os.chown(path, owner.st_uid, owner.st_gid)
    centre.open("/userhome/kept")
    files = [large(tmp_path / name, 2 * MB) for name in ("a.bin", "b.bin")]
    centre.take("files", *files)
    centre.page.get_by_role("dialog").get_by_role("button", name="Replace").click()
    failed = centre.page.locator(".tray li[data-state=failed]")
    expect(failed).to_contain_text("b.bin")
    assert digest(folder / "a.bin") == digest(files[0])
