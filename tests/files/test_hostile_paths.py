"""Whatever is in a volume and whatever is asked: nothing outside of it is read or changed."""

from __future__ import annotations

import asyncio
import ctypes
import io
import os
import socket
import stat
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from danlu.files.helper import beneath
from danlu.files.helper.names import to_bytes, to_text
from tests.files.desk import AS_ROOT, Desk

EXCHANGE = 2
OUT = ("link/key", "up/secret/key", "chain/key", "proc/secret/key")
ODD = [
    b"new\nline",
    b"bad\xff\xfebytes",
    b"\\x41",
    b"a" * 255,
    b" ",
    "文件 (1)".encode(),
    b"-rf",
    b"*",
]


def members(data: bytes) -> list[tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return tar.getmembers()


def plant(desk: Desk) -> None:
    """Links that lead out: absolute, climbing, by way of another, and by a magic one."""
    (desk.home / "link").symlink_to(desk.secret)
    (desk.home / "up").symlink_to("..")
    (desk.home / "chain").symlink_to("link")
    (desk.home / "proc").symlink_to("/proc/self/root" + str(desk.secret.parent))
    (desk.home / "deep").mkdir()
    (desk.home / "deep/link").symlink_to("../../secret")
    desk.give_all()


@pytest.mark.parametrize("path", [*OUT, "deep/link/key", "../secret/key", "a/../../secret/key"])
async def test_no_operation_follows_a_way_out(desk: Desk, path: str) -> None:
    plant(desk)
    folder = path.rpartition("/")[0]
    (desk.home / "mine").write_text("mine")
    desk.give_all()
    answers = [
        await desk.ask("stat", path=path),
        await desk.ask("list", path=folder),
        await desk.ask("preview", path=path),
        await desk.ask("content", path=path),
        await desk.ask("archive", paths=[path]),
        await desk.ask("usage", path=folder),
        await desk.ask("search", path=folder, q="key"),
        await desk.ask("mkdir", path=f"{folder}/made"),
        await desk.ask("mkdir", path=f"{folder}/made/more", parents=True),
        await desk.ask("upload-create", path=f"{folder}/made", size=1, nonce="0" * 32),
        await desk.ask("upload-look", path=f"{folder}/made", size=1, nonce="0" * 32),
    ]
    assert all("error" in answer for answer in answers), answers
    changes = [
        await desk.ask("copy", paths=[path], to="got"),
        await desk.ask("move", paths=[path], to="got"),
        await desk.ask("copy", paths=["mine"], to=f"{folder}/key", conflict="overwrite"),
        await desk.ask("move", paths=["mine"], to=f"{folder}/key", conflict="overwrite"),
        await desk.ask("delete", paths=[path]),
        await desk.ask("delete", paths=[path], forever=True),
    ]
    assert all("error" in each or each["problem_count"] for each in changes), changes
    assert (desk.secret / "key").read_text() == "the key"
    assert sorted(each.name for each in desk.secret.iterdir()) == ["key"]
    assert not (desk.home / "got").exists()
    assert (desk.home / "mine").read_text() == "mine"


async def test_links_are_copied_moved_archived_and_deleted_as_links(desk: Desk) -> None:
    plant(desk)
    for path in ("link", "deep"):
        done = await desk.ask("copy", paths=[path], to=f"other:{path}")
        assert done["problem_count"] == 0
    assert (desk.other / "link").is_symlink()
    assert (desk.other / "deep/link").is_symlink()
    packed = members(await desk.bytes_of("archive", paths=["deep", "link"]))
    assert all(each.issym() or each.isdir() for each in packed)
    assert (await desk.ask("delete", paths=["link", "deep"], forever=True))["problem_count"] == 0
    assert (desk.secret / "key").read_text() == "the key"


async def test_a_link_that_stays_in_the_volume_is_followed(desk: Desk) -> None:
    (desk.home / "data").mkdir()
    (desk.home / "data/x").write_text("inside")
    (desk.home / "way").symlink_to("data")
    desk.give_all()
    assert await desk.bytes_of("content", path="way/x") == b"inside"
    entry = (await desk.ask("stat", path="way"))["entry"]
    assert (entry["kind"], entry["target"], entry["target_kind"]) == ("link", "data", "folder")


@pytest.mark.parametrize("name", ODD)
async def test_any_name_can_be_used_in_every_operation(desk: Desk, name: bytes) -> None:
    shown = to_text(name)
    assert to_bytes(shown) == name
    assert "error" not in await desk.upload(shown, b"content")
    assert [each["name"] for each in (await desk.ask("list", path=""))["entries"]] == [shown]
    assert await desk.bytes_of("content", path=shown) == b"content"
    assert (await desk.ask("preview", path=shown))["text"] == "content"
    packed = members(await desk.bytes_of("archive", paths=[shown]))
    assert [os.fsencode(each.name) for each in packed] == [name]
    assert (await desk.ask("copy", paths=[shown], into="other:"))["problem_count"] == 0
    assert os.listdir(os.fsencode(desk.other)) == [name]
    assert (await desk.ask("delete", paths=[shown]))["problem_count"] == 0
    items = (await desk.ask("bin"))["items"]
    assert [item["name"] for item in items] == [shown]
    assert (await desk.ask("restore", ids=[items[0]["id"]]))["problem_count"] == 0
    assert (await desk.ask("move", paths=[shown], to="plain"))["problem_count"] == 0
    assert (desk.home / "plain").read_bytes() == b"content"
    copied = await desk.ask("copy", paths=["plain"], to="other:" + shown, conflict="rename")
    assert copied["problem_count"] == 0, "a second one gets a number, also if the name is full"
    assert len(os.listdir(desk.other)) == 2


@pytest.mark.parametrize(
    "path", ["a" * 256, "x/" + "文" * 86, ".danlu-bin", ".danlu-upload-x", "a\0b"]
)
async def test_names_that_cannot_be_are_refused(desk: Desk, path: str) -> None:
    (desk.home / "x").mkdir()
    desk.give_all()
    assert "error" in await desk.ask("mkdir", path=path)
    assert "error" in await desk.upload(path, b"1")


async def test_devices_pipes_and_sockets_are_named_but_never_opened(desk: Desk) -> None:
    os.mkfifo(desk.home / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{desk.home}/socket")
        names = ["pipe", "socket"]
        if AS_ROOT:
            os.mknod(desk.home / "disk", 0o666 | stat.S_IFBLK, os.makedev(7, 0))
            os.mknod(desk.home / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
            names += ["disk", "zero"]
        desk.give_all()
        listing = await desk.ask("list", path="")
        assert {each["kind"] for each in listing["entries"]} == {"other"}
        for name in names:
            for op in ("content", "preview"):
                assert (await desk.ask(op, path=name))["error"] == "not_a_file"
            copied = await desk.ask("copy", paths=[name], to="other:x")
            assert copied["problem_count"] == 1 and not copied["results"]
        packed = await desk.bytes_of("archive", paths=[""])
        assert [each.name for each in members(packed)] == ["userhome", "not-included.txt"]
        assert all(f"userhome/{name}: not_a_file".encode() in packed for name in names)
        done = await desk.ask("delete", paths=names, forever=True)
        assert done["problem_count"] == 0


async def test_a_tree_deeper_than_any_path_is_deleted(desk: Desk) -> None:
    levels = 1500
    here = os.open(desk.home, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(b"d" * 20, dir_fd=here)
        inner = os.open(b"d" * 20, os.O_RDONLY, dir_fd=here)
        if AS_ROOT:
            os.chown(inner, *(desk.who.uid or 0, desk.who.gid or 0))
        os.close(here)
        here = inner
    os.close(here)
    measured = await desk.ask("usage", path="")
    assert measured["usage"]["folders"] > 900 and not measured["usage"]["complete"]
    done = await desk.ask("delete", paths=["d" * 20], forever=True)
    assert done["problem_count"] == 0, done
    assert os.listdir(desk.home) == []


async def test_a_sparse_file_stays_sparse(desk: Desk) -> None:
    file = os.open(desk.home / "huge", os.O_RDWR | os.O_CREAT)
    os.truncate(file, 1 << 40)
    os.pwrite(file, b"in the middle", 1 << 30)
    os.close(file)
    desk.give_all()
    done = await desk.ask("copy", paths=["huge"], to="other:huge")
    assert done["problem_count"] == 0
    found = (desk.other / "huge").stat()
    assert found.st_size == 1 << 40
    assert found.st_blocks * 512 < 1 << 20
    file = os.open(desk.other / "huge", os.O_RDONLY)
    assert os.pread(file, 13, 1 << 30) == b"in the middle"
    os.close(file)


async def test_a_read_only_volume_is_not_changed(tmp_path: Path) -> None:
    desk = Desk(tmp_path, read_only=["other"])
    (desk.other / "x").write_text("kept")
    (desk.home / "y").write_text("y")
    desk.give_all()
    try:
        assert (await desk.ask("mkdir", path="other:z"))["error"] == "read_only_volume"
        assert (await desk.upload("other:z", b"1"))["error"] == "read_only_volume"
        for op, values in (
            ("delete", {"paths": ["other:x"]}),
            ("delete", {"paths": ["other:x"], "forever": True}),
            ("move", {"paths": ["other:x"], "to": "z"}),
            ("copy", {"paths": ["y"], "to": "other:z"}),
            ("move", {"paths": ["y"], "to": "other:x", "conflict": "overwrite"}),
        ):
            done = await desk.ask(op, **values)
            assert done["problems"][0]["error"] == "read_only_volume", (op, done)
        assert (await desk.ask("copy", paths=["other:x"], to="z"))["problem_count"] == 0
        assert sorted(os.listdir(desk.other)) == ["x"]
    finally:
        await desk.helpers.close()


def hostile_tar() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:

        def add(
            name: str, kind: bytes = tarfile.REGTYPE, target: str = "", data: bytes = b"x"
        ) -> None:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.mode = kind, target, 0o6777
            info.size = len(data) if kind == tarfile.REGTYPE else 0
            tar.addfile(info, io.BytesIO(data))

        add("good/file", data=b"good")
        add("/abs")
        add("../climbs")
        add("good/../../climbs")
        add("way", tarfile.SYMTYPE, "../../secret")
        add("way/planted")
        add("abs-way", tarfile.SYMTYPE, "/tmp")
        add("inside", tarfile.SYMTYPE, "good")
        add("inside/planted")
        add("hard", tarfile.LNKTYPE, "good/file")
        add("fifo", tarfile.FIFOTYPE)
        add("device", tarfile.CHRTYPE)
        add(".danlu-bin/x")
        add("n" * 300)
        add("last", data=b"last")
    return packed.getvalue()


async def test_a_hostile_bundle_is_unpacked_into_its_folder_only(desk: Desk) -> None:
    (desk.home / "in").mkdir()
    desk.give_all()
    done = await desk.upload("in", hostile_tar(), kind="bundle")
    assert (desk.home / "in/good/file").read_text() == "good"
    assert (desk.home / "in/last").read_text() == "last"
    assert sorted(os.listdir(desk.home / "in/good")) == ["file"]
    # `way/planted` makes a folder of that name, since the link was refused.
    assert sorted(os.listdir(desk.home / "in")) == ["good", "inside", "last", "way"]
    assert not (desk.home / "in/way").is_symlink()
    assert sorted(os.listdir(desk.home)) == ["in"]
    assert sorted(os.listdir(desk.secret)) == ["key"]
    assert done["problem_count"] == 11, done
    assert not (desk.home / "in/good/file").stat().st_mode & 0o7000


async def test_what_is_not_a_tar_is_refused_and_nothing_is_left(desk: Desk) -> None:
    (desk.home / "in").mkdir()
    desk.give_all()
    done = await desk.upload("in", b"no tar at all" * 1000, kind="bundle")
    assert done["error"] == "bad_bundle"
    listing = await desk.ask("list", path="in")
    assert listing["entries"] == []


@contextmanager
def swapping(folder: Path, secret: Path) -> Iterator[None]:
    """A folder that is a link to elsewhere every other moment."""
    over = threading.Event()
    link = folder.with_name("planted")
    link.symlink_to(secret)
    names = os.fsencode(folder), os.fsencode(link)

    def swap() -> None:
        libc = ctypes.CDLL(None)
        while not over.is_set():
            assert libc.renameat2(-100, names[0], -100, names[1], EXCHANGE) == 0

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


async def test_a_folder_swapped_for_a_link_leads_nowhere(desk: Desk) -> None:
    """Each operation meets the link at some of these moments, and never what it leads to."""
    secret = desk.secret
    (desk.home / "top/swap").mkdir(parents=True)
    (desk.home / "top/swap/own").write_text("own")
    (desk.home / "file").write_text("file")
    secret.chmod(0o777)  # only the rules of the file centre protect it
    (secret / "key").chmod(0o666)
    desk.give_all()
    with swapping(desk.home / "top/swap", secret):
        for turn in range(25):
            await asyncio.gather(
                desk.ask("list", path="top/swap"),
                desk.ask("copy", paths=["top"], to=f"other:copy{turn}"),
                desk.ask("copy", paths=["file"], to=f"top/swap/{turn}", conflict="overwrite"),
                desk.upload(f"top/swap/up{turn}", b"x"),
                desk.ask("usage", path="top"),
            )
            with_key = await desk.ask("content", path="top/swap/key")
            assert "error" in with_key
            await desk.ask("delete", paths=["top/swap/key"], forever=True)
    assert os.listdir(secret) == ["key"]
    assert (secret / "key").read_text() == "the key"
    copied = [each for _, _, names in os.walk(desk.other) for each in names]
    assert "key" not in copied


async def test_deleting_a_tree_does_not_go_through_a_folder_swapped_for_a_link(desk: Desk) -> None:
    secret = desk.secret
    secret.chmod(0o777)
    for turn in range(10):
        (desk.home / "top/swap").mkdir(parents=True)
        for number in range(50):
            (desk.home / f"top/swap/{number}").write_text("x")
        desk.give_all()
        over = threading.Event()

        def swap(over: threading.Event = over) -> None:
            while not over.is_set():
                try:
                    os.rename(desk.home / "top/swap", desk.home / "top/kept")
                    os.symlink(secret, desk.home / "top/swap")
                    os.unlink(desk.home / "top/swap")
                    os.rename(desk.home / "top/kept", desk.home / "top/swap")
                except OSError:
                    continue

        thread = threading.Thread(target=swap)
        thread.start()
        await desk.ask("delete", paths=["top"], forever=True)
        over.set()
        thread.join()
        assert os.listdir(secret) == ["key"], turn
        await desk.ask("delete", paths=["top"], forever=True)


def test_without_openat2_the_same_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "root/a/b").mkdir(parents=True)
    (tmp_path / "root/a/b/file").write_text("x")
    (tmp_path / "outside").write_text("x")
    for name, target in (
        ("in", "a/b"),
        ("back", "a/../a/b"),
        ("out", "../outside"),
        ("absolute", "/etc"),
        ("loop", "loop"),
        ("climb", "a/../../outside"),
    ):
        (tmp_path / "root" / name).symlink_to(target)
    root = os.open(tmp_path / "root", os.O_RDONLY)
    paths = [
        "a/b/file",
        "in/file",
        "back/file",
        "out",
        "absolute",
        "loop",
        "climb",
        "in",
        "none",
        "",
    ]

    def found(path: str, links: bool, last: bool) -> object:
        try:
            fd = beneath.locate(
                root, [p.encode() for p in path.split("/") if p], links=links, last=last
            )
        except OSError as error:
            return error.errno
        try:
            return os.fstat(fd).st_ino
        finally:
            os.close(fd)

    def everything() -> list[object]:
        cases = [(True, True), (True, False), (False, True), (False, False)]
        return [found(path, *case) for path in paths for case in cases]

    assert beneath.HAS_OPENAT2, "this kernel is old: it has no openat2"
    usual = everything()
    monkeypatch.setattr(beneath, "HAS_OPENAT2", False)
    assert everything() == usual
    os.close(root)
