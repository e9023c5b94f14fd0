"""The file centre: look, find, change, delete and get back, download; by mouse, keys and phone."""

from __future__ import annotations

import io
import json
import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Request, expect

from tests.support.server import DanluServer
from tests.web.axe import serious
from tests.web.conftest import PICTURES
from tests.web.files_harness import FileCentre, digests, tree
from tests.web.harness import CLUSTER, WebHarness

MARKUP = "<img src=x onerror=document.title='owned'>"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc0"
    "000003010100c9fe92ef0000000049454e44ae426082"
)
NOTEBOOK = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {"kernelspec": {"language": "python", "name": "python3"}},
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": f"# Results {MARKUP}"},
        {
            "cell_type": "code",
            "metadata": {},
            "execution_count": 7,
            "source": "print('loss 0.1')",
            "outputs": [{"output_type": "stream", "name": "stdout", "text": "loss 0.1\n"}],
        },
    ],
}


def give(centre: FileCentre, name: str, content: bytes | str = b"") -> Path:
    path = centre.home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    own(centre, path)
    return path


def own(centre: FileCentre, path: Path) -> None:
    """The server's tests may run as root; files are their user's."""
    owner = centre.home.stat()
    for each in (path, *path.parents):
        if each == centre.home:
            return
        os.chown(each, owner.st_uid, owner.st_gid, follow_symlinks=False)


@pytest.fixture
def centre(web: WebHarness) -> FileCentre:
    return FileCentre(web, web.people.person())


def test_a_folder_is_made_renamed_deleted_and_restored(centre: FileCentre) -> None:
    page = centre.page
    expect(page.get_by_text("This folder is empty")).to_be_visible()
    page.get_by_role("button", name="New folder").click()
    page.get_by_label("Name", exact=True).fill("runs")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    give(centre, "runs/log.txt", "epoch 1\n")
    centre.row("runs").click()
    page.keyboard.press("F2")
    page.get_by_label("Name", exact=True).fill("实验")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(centre.row("实验")).to_be_visible()
    centre.row("实验").click(position={"x": 5, "y": 5})
    page.locator(".file-rows").focus()
    page.keyboard.press("Delete")
    page.get_by_role("dialog").get_by_role("button", name="Move to the bin").click()
    expect(centre.row("实验")).to_have_count(0)
    assert not (centre.home / "实验").exists()
    page.get_by_role("button", name="Undo").click()
    expect(centre.row("实验")).to_be_visible()
    assert (centre.home / "实验" / "log.txt").read_text() == "epoch 1\n"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_bin_gives_back_and_forgets(web: WebHarness, lang: str) -> None:
    centre = FileCentre(web, web.people.person(), lang)
    for name in ("keep.txt", "drop.txt"):
        give(centre, name, name)
    centre.who.do("POST", "/files/delete", {"paths": ["/userhome/keep.txt", "/userhome/drop.txt"]})
    page = centre.page
    page.goto(f"{web.server.url}/files?bin=1")
    rows = page.locator(".manage tbody tr")
    expect(rows).to_have_count(2)
    restore = {"en": "Restore keep.txt", "zh": "恢复 keep.txt"}[lang]
    page.get_by_role("button", name=restore).click()
    expect(rows).to_have_count(1)
    assert (centre.home / "keep.txt").read_text() == "keep.txt"
    page.get_by_role("button", name={"en": "Empty the bin", "zh": "清空回收站"}[lang]).click()
    page.get_by_role("dialog").locator(".button.primary").click()
    expect(page.locator(".empty")).to_be_visible()
    assert centre.who.get("/files/bin")["items"] == []


def test_a_folder_is_downloaded_with_all_that_is_in_it(centre: FileCentre, tmp_path: Path) -> None:
    made = tree(centre.home / "data set", 60)
    for path in made.rglob("*"):
        own(centre, path)
    own(centre, made)
    page = centre.page
    centre.open("/userhome")
    centre.row("data set").click(button="right")
    with page.expect_download() as waited:
        page.get_by_role("menuitem", name="Download as .tar").click()
    assert waited.value.suggested_filename == "data set.tar"
    with tarfile.open(fileobj=io.BytesIO(Path(waited.value.path()).read_bytes())) as archive:
        archive.extractall(tmp_path / "out")
    assert digests(tmp_path / "out" / "data set") == digests(made)


def test_what_is_inside_of_a_file_is_shown_and_stays_text(centre: FileCentre) -> None:
    give(centre, "train.log", "".join(f"step {n}\n" for n in range(100_000)))
    give(centre, "picture.png", PNG)
    give(centre, "notes.ipynb", json.dumps(NOTEBOOK))
    give(centre, MARKUP.replace("/", ""), MARKUP)
    give(centre, "weights.bin", bytes(range(256)) * 20)
    page = centre.page
    centre.open("/userhome")
    preview = page.locator(".preview")
    centre.row("train.log").click()
    expect(preview.locator("pre")).to_contain_text("step 99999")  # a log is shown from its end
    with (centre.home / "train.log").open("a") as log:
        log.write("step 100000 and on\n")
    expect(preview.locator("pre")).to_contain_text("100000 and on")
    centre.row("picture.png").click()
    shown = preview.locator("img")
    expect(shown).to_be_visible()
    assert shown.evaluate("(image) => image.decode().then(() => image.naturalWidth)") == 1
    centre.row("notes.ipynb").click()
    expect(preview).to_contain_text("loss 0.1")
    expect(preview).to_contain_text("onerror")
    expect(preview.locator("img")).to_have_count(0)
    centre.row(MARKUP.replace("/", "")).click()
    expect(preview.locator("pre")).to_contain_text("onerror")
    centre.row("weights.bin").click()
    expect(preview).to_contain_text("not text")
    assert page.title() != "owned"


def test_an_address_leads_to_a_folder_or_a_file_and_no_further(web: WebHarness) -> None:
    alice, bob = web.people.person(), web.people.person()
    centre = FileCentre(web, alice)
    give(centre, "深 度/100%/a#b?.txt", "found me")
    page = centre.page
    centre.open("/userhome/%E6%B7%B1%20%E5%BA%A6/100%25/a%23b%3F.txt")
    expect(page.locator(".preview pre")).to_have_text("found me")
    expect(page.locator(".crumbs")).to_contain_text("100%")
    page.goto(f"{web.server.url}/files/userhome/no/such/folder")
    expect(page.get_by_role("alert")).to_be_visible()
    for path in ("/etc", "/userhome/../../etc", "/mnt/share/none", f"/home/{bob.name}"):
        page.goto(f"{web.server.url}/files{path}")
        if not page.url.endswith("/etc") or path == "/etc":
            expect(page.get_by_role("alert")).to_be_visible()


def test_files_are_moved_and_copied_by_keys(centre: FileCentre) -> None:
    give(centre, "a.txt", "a")
    give(centre, "b.txt", "b")
    give(centre, "into/x.txt", "x")
    page = centre.page
    centre.open("/userhome")
    rows = page.locator(".file-rows")
    rows.focus()
    page.keyboard.press("a")  # the next name that begins so
    page.keyboard.press("Shift+ArrowDown")
    expect(page.locator(".file-chosen")).to_contain_text("2 items")
    page.keyboard.press("Control+x")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.locator(".crumbs")).to_contain_text("into")
    centre.listed()
    rows.focus()
    page.keyboard.press("Control+v")
    expect(centre.row("a.txt")).to_be_visible()
    assert sorted(path.name for path in (centre.home / "into").iterdir()) == [
        "a.txt",
        "b.txt",
        "x.txt",
    ]
    rows.focus()
    page.keyboard.press("x")
    page.keyboard.press("Control+c")
    page.keyboard.press("Control+v")
    eventually = page.locator(".file-row")
    expect(eventually).to_have_count(4)
    page.keyboard.press("Backspace")
    expect(page.locator(".crumbs b")).to_have_text("Home")


def test_a_dragged_row_moves_into_a_folder(centre: FileCentre) -> None:
    give(centre, "loose.txt", "l")
    give(centre, "box/in.txt", "i")
    centre.open("/userhome")
    centre.row("loose.txt").drag_to(centre.row("box"))
    expect(centre.row("loose.txt")).to_have_count(0)
    assert (centre.home / "box" / "loose.txt").read_text() == "l"


def test_names_are_found_below_the_folder(centre: FileCentre) -> None:
    for number in range(30):
        give(centre, f"deep/{number}/needle-{number}.txt")
    page = centre.page
    centre.open("/userhome")
    page.get_by_role("searchbox").fill("needle-1")
    expect(page.locator(".file-note")).to_contain_text("11 matches")
    expect(page.locator(".file-row")).to_have_count(11)
    page.get_by_role("searchbox").fill("")
    expect(centre.row("deep")).to_be_visible()


def test_a_very_long_list_is_scrolled_to_its_end(centre: FileCentre) -> None:
    folder = centre.home / "many"
    folder.mkdir()
    own(centre, folder)
    for number in range(3000):
        (folder / f"{number:05}.txt").touch()
    page = centre.page
    centre.open("/userhome/many")
    expect(page.locator(".file-row").first).to_be_visible()
    assert page.locator(".file-row").count() < 100
    page.locator(".file-rows").focus()
    page.keyboard.press("End")
    expect(centre.row("02999.txt")).to_be_visible()
    page.keyboard.press("Home")
    expect(centre.row("00000.txt")).to_be_visible()
    page.get_by_title("Sort by Name").click()
    expect(centre.row("02999.txt")).to_be_visible()


def test_sizes_are_counted(centre: FileCentre) -> None:
    give(centre, "big/model.bin", bytes(3 << 20))
    give(centre, "big/small.txt", "s")
    centre.open("/userhome")
    centre.row("big").click(button="right")
    centre.page.get_by_role("menuitem", name="Size of the folder").click()
    dialog = centre.page.get_by_role("dialog")
    expect(dialog).to_contain_text("in 2 files")
    expect(dialog.locator(".sizes li").first).to_contain_text("model.bin")


@pytest.fixture(scope="module")
def looked(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebHarness]:
    server = DanluServer(tmp_path_factory.mktemp("looked") / "data", CLUSTER).start()
    web = WebHarness(server, browser, Path(PICTURES) if PICTURES else None)
    yield web
    web.close()
    server.cleanup()


@pytest.mark.parametrize(("lang", "theme"), [("en", "dark"), ("zh", "light")])
def test_the_pages_have_no_serious_flaw_at_any_width(
    looked: WebHarness, lang: str, theme: str, tmp_path: Path
) -> None:
    web, group = looked, looked.people.group()
    centre = FileCentre(web, web.people.person(group), lang, theme)
    for name in ("project/src/model.py", "project/README.md", "数据/标签.csv", "train.log"):
        give(centre, name, "import torch\n\n\ndef train() -> None:\n    ...\n" * 20)
    give(centre, "a-rather-long-name-of-a-checkpoint-that-somebody-kept-for-later.safetensors", "x")
    give(centre, "figures/loss.png", PNG)
    page = centre.page
    centre.open("/userhome")
    centre.take("files", *[note for note in [tmp_path / "upload.txt"] if note.write_text("x")])
    centre.sent()
    wrong: dict[str, list[str]] = {}

    def look(name: str) -> None:
        wrong[name] = serious(page)
        for width in (1440, 390, 320):
            page.set_viewport_size({"width": width, "height": 900 if width > 1000 else 844})
            page.wait_for_timeout(100)
            web.picture(page, f"{name}-{lang}-{theme}-{width}")
            if (wide := page.evaluate("document.documentElement.scrollWidth")) > width:
                wrong[name].append(f"{wide} pixels at {width}")
        page.set_viewport_size({"width": 1440, "height": 900})

    look("files")
    centre.row("train.log").click()
    expect(page.locator(".preview pre")).to_be_visible()
    look("files-preview")
    page.keyboard.press("Escape")
    centre.open("/userhome")
    centre.row("project").click(button="right", position={"x": 300, "y": 10})
    expect(page.get_by_role("menu")).to_be_visible()
    look("files-menu")
    page.keyboard.press("Escape")
    centre.open("/userhome")
    centre.row("project").click(position={"x": 300, "y": 10})
    page.keyboard.press("Delete")
    expect(page.get_by_role("dialog")).to_be_visible()
    look("files-delete")
    page.get_by_role("dialog").locator(".button.primary").click()
    page.goto(f"{web.server.url}/files?bin=1")
    expect(page.locator(".manage tbody tr")).to_have_count(1)
    look("files-bin")
    centre.open("/userhome/figures")
    centre.row("loss.png").click()
    expect(page.locator(".preview img")).to_be_visible()
    look("files-picture")
    page.goto(f"{web.server.url}/files/gdata")
    expect(page.locator(".empty")).to_be_visible()
    look("files-empty")
    page.goto(f"{web.server.url}/files/userhome/nothing-here")
    expect(page.get_by_role("alert")).to_be_visible()
    look("files-not-found")
    page.route("**/files/roots", lambda route: route.fulfill(status=500, body="{}"))
    page.goto(f"{web.server.url}/files/userhome")
    expect(page.get_by_role("alert")).to_be_visible(timeout=60_000)
    look("files-error")
    page.unroute_all()
    page.route("**/files/list*", lambda route: None)
    page.goto(f"{web.server.url}/files/userhome")
    expect(page.locator(".file-bar")).to_be_visible()
    look("files-loading")
    page.unroute_all(behavior="ignoreErrors")
    assert {name: found for name, found in wrong.items() if found} == {}


def test_a_folders_first_list_is_asked_for_early_and_once(centre: FileCentre) -> None:
    give(centre, "数据/a b.txt", "x")
    page = centre.page
    asked: list[str] = []
    parts: list[str] = []  # of the page, and when they were asked for

    def note(request: Request) -> None:
        asked.append(request.url.partition("/danlu/v1/")[2])
        parts.append(request.url.rpartition("/")[2])

    page.on("request", note)
    page.goto(f"{centre.web.server.url}/files/userhome/数据")
    expect(centre.row("a b.txt")).to_be_visible()
    answer = page.request.get(page.url, headers={"accept": "text/html"})
    ahead = re.findall(r"</assets/([^>]+)>; rel=", answer.headers["link"])
    assert [parts.count(each) for each in ahead] == [1] * len(ahead) and len(ahead) > 3
    assert all(parts.index(each) < parts.index("first.js") for each in ahead)
    later = [each for each in parts[parts.index("session") :] if each.endswith(".js")]
    assert later == [], "nothing that the list needs is found out only by running the pages"
    path = "path=%2Fuserhome%2F%E6%95%B0%E6%8D%AE"
    first = f"files/list?{path}&sort=name&hidden=false&offset=0&limit=200"
    early = [first, f"files/stat?{path}", "files/roots"]
    assert [asked.count(each) for each in early] == [1, 1, 1]
    version = next(name for name in asked if name.startswith("version"))  # asked by the pages
    assert all(asked.index(each) < asked.index(version) for each in early)
    # A file is shown in its folder, as before.
    page.goto(f"{centre.web.server.url}/files/userhome/数据/a%20b.txt")
    expect(centre.row("a b.txt")).to_be_visible()
    expect(page.locator(".preview")).to_be_visible()
    # What comes later is asked for again.
    give(centre, "数据/new.txt", "y")
    page.get_by_role("button", name="Close").first.click()
    centre.open("/userhome/数据")
    expect(centre.row("new.txt")).to_be_visible()
