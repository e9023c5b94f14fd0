"""A folder of a million entries: its first page over HTTP and in a browser, and the others."""

from __future__ import annotations

import importlib.util
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bench.guard import PASSWORD, Member
from bench.measure import Options, median, note
from bench.server import Danlu
from bench.table import Goal, Row
from danlu.sdk import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

ENTRIES = 1_000_000
NAMES = 30_000  # of one file
FEW = 20
# Notes when the first rows are drawn, and what they were, as the page itself sees it.
DRAWN = """
const look = () => {
    if (document.querySelectorAll('.file-row .name').length > 10)
        requestAnimationFrame(() => { window.drawnAt = performance.now(); });
    else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""


def rows(options: Options, danlu: Danlu, client: Client) -> Iterator[Row]:
    entries = ENTRIES // 10 if options.quick else ENTRIES
    folder = danlu.folder / "data/home/admin/million"
    _fill(folder, entries)
    fresh, whole = [], []
    for _ in range(options.times(5, 3)):
        _change(folder)
        begun = time.perf_counter()
        page = client.files.list_folder("million", limit=200, whole=False)
        fresh.append(time.perf_counter() - begun)
        assert len(page["entries"]) == 200
        page = client.files.list_folder("million", limit=200)
        whole.append(time.perf_counter() - begun)
        assert page["total"] == entries and page["complete"]
    at_most = Goal("at most", 1, "s")
    what = f"first page of a folder of {entries:,} entries"
    yield Row(f"{what}, at the first look, s", fresh[0], goal=at_most)
    yield Row(f"{what}, after it has changed, s", median(fresh[1:]), goal=at_most)
    yield Row("until it is read to its end, s", median(whole))
    kept = []
    for offset in (200, entries // 2, entries - 200):
        begun = time.perf_counter()
        page = client.files.list_folder("million", offset=offset, limit=200)
        kept.append(time.perf_counter() - begun)
        assert [each["name"] for each in page["entries"]] == [
            _name(number) for number in range(offset, offset + 200)
        ]
    yield Row("its next pages, s", median(kept), goal=at_most)
    yield from _in_a_browser(options, danlu, client, entries)


def _name(number: int) -> str:
    return f"entry-{number:07d}"


def _fill(folder: Path, entries: int) -> None:
    """One file has only so many names."""
    folder.mkdir()
    fd = os.open(folder, os.O_RDONLY)
    for number in range(entries):
        if number % NAMES == 0:
            os.close(os.open(_name(number), os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=fd))
            source = _name(number)
        else:
            os.link(source, _name(number), src_dir_fd=fd, dst_dir_fd=fd)
    os.close(fd)
    owner = folder.parent.stat()
    os.chown(folder, owner.st_uid, owner.st_gid)
    time.sleep(1.1)


def _change(folder: Path) -> None:
    """A folder that has changed is read again."""
    os.utime(folder)
    time.sleep(1.1)


def _in_a_browser(options: Options, danlu: Danlu, client: Client, entries: int) -> Iterator[Row]:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        note("the page is not measured: it needs Chromium and requirements/dev.txt")
        return
    from playwright.sync_api import sync_playwright

    ann = Member(danlu, client, "ann")
    with ann.client() as hers:
        hers.files.list_folder("")  # makes the home
    folder = danlu.folder / "data/home/ann/million"
    (danlu.folder / "data/home/admin/million").rename(folder)
    owner = folder.parent.stat()
    os.chown(folder, owner.st_uid, owner.st_gid)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB")
        page = context.new_page()
        page.goto(danlu.url)
        page.locator("input[name=user]").fill(ann.name)
        page.locator("input[name=password]").fill(PASSWORD)
        page.locator("button.primary").click()
        page.locator("nav").first.wait_for()
        signed_in = context.storage_state()
        context.close()
        (folder.parent / "few").mkdir()
        for number in range(FEW):
            (folder.parent / "few" / _name(number)).touch()
        os.chown(folder.parent / "few", owner.st_uid, owner.st_gid)
        few, first, last = [], [], []
        for _ in range(options.times(5, 3)):
            for name, found in (("few", few), ("million", first)):
                _change(folder)
                context = browser.new_context(
                    viewport={"width": 1440, "height": 900}, locale="en-GB", storage_state=signed_in
                )
                context.add_init_script(DRAWN)
                page = context.new_page()
                page.goto(f"{danlu.url}/files/userhome/{name}")
                found.append(page.wait_for_function("() => window.drawnAt").json_value() / 1000)
                if name == "million":
                    last.append(_to_the_end(page, entries))
                context.close()
        browser.close()
    what = f"a folder of {entries:,} entries in a browser"
    anchor = f"a folder of {FEW}"
    at_most = Goal("at most", 1, "s")
    yield Row(f"{what}: first rows drawn, s", median(first), median(few), anchor, at_most)
    yield Row(f"{what}: from there to its last row, s", median(last), goal=at_most)


def _to_the_end(page: Page, entries: int) -> float:
    page.locator(".file-note").wait_for(state="detached", timeout=120_000)
    page.locator(".file-rows").focus()
    begun = time.perf_counter()
    page.keyboard.press("End")
    page.get_by_text(_name(entries - 1)).first.wait_for(timeout=120_000)
    return time.perf_counter() - begun
