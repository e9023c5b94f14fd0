"""Whatever members keep in their homes is in a backup, and comes back as it was."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.files import archive, sparse
from danlu.files.archive import Totals
from danlu.server.below import remove_tree
from danlu.server.restore import main as restore_here
from danlu.store import copying, migrate
from tests.security.test_changing_files_during_a_backup import Platform

DEEP = 1500


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    yield Platform(tmp_path)
    # pytest's own way to remove a folder recurses, also when a test has failed
    subprocess.run(["rm", "-rf", *tmp_path.iterdir()], check=True)


@pytest.fixture
def new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty machine."""
    monkeypatch.delenv("DANLU_CONFIG", raising=False)
    config = tmp_path / "new.toml"
    config.write_text("")
    monkeypatch.setenv("DANLU_CONFIG", str(config))
    return tmp_path / "new"


def restored(platform: Platform, new: Path, *more: str) -> Path:
    assert restore_here([str(platform.file), "--check"]) == 0
    assert restore_here([str(platform.file), "--check", "--json"]) == 0
    assert restore_here([str(platform.file), "--data", str(new), *more]) == 0
    return new / "home" / "mallory"


def dig(folder: Path, name: str, depth: int) -> int:
    """A folder in a folder, and so on; returns the descriptor of the last."""
    fd = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=fd)
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        os.close(fd)
        fd = inner
    return fd


def descend(folder: Path, name: str, depth: int) -> int:
    fd = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        os.close(fd)
        fd = inner
    return fd


def test_names_that_are_not_utf_8_come_back_byte_by_byte(
    platform: Platform, new: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = os.fsencode(platform.home)
    names = (b"n\xff\xfe", b"line\nbreak", b"\xff\n20 hdrcharset=\xfe\n", "丹炉".encode())
    for name in names:
        Path(os.fsdecode(home + b"/" + name)).write_bytes(name)
    os.symlink(b"to\xff", home + b"/link\xfe")
    os.mkdir(home + b"/folder\xfd")
    os.mkfifo(home + "/管道".encode() + b"\x1b[2J\xfc")  # is left out, and named
    platform.back_up()
    found = os.fsencode(restored(platform, new))
    told = capsys.readouterr().out
    assert "Left out when it was made: 1 file" in told
    assert r"home/mallory/管道\x1b[2J\udcfc" in told
    assert "\x1b" not in told
    assert sorted(os.listdir(found)) == sorted((*names, b"link\xfe", b"folder\xfd"))
    assert all(Path(os.fsdecode(found + b"/" + name)).read_bytes() == name for name in names)
    assert os.readlink(found + b"/link\xfe") == b"to\xff"


@pytest.mark.parametrize("name", ["d", "folder with a name"])
def test_folders_deeper_than_a_path_is_long_come_back(
    name: str, platform: Platform, new: Path
) -> None:
    depth = DEEP if name == "d" else 600
    fd = dig(platform.home, name, depth)
    os.mkdir("last", dir_fd=fd)
    os.chmod("last", 0o750, dir_fd=fd)
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, 0o640, dir_fd=fd))
    os.symlink("file", "link", dir_fd=fd)
    os.close(fd)
    (platform.home / name / "z").write_text("after all that is deeper")
    platform.back_up()
    home = restored(platform, new)
    fd = descend(home, name, depth)
    assert sorted(os.listdir(fd)) == ["file", "last", "link"]
    assert stat.S_IMODE(os.stat("last", dir_fd=fd).st_mode) == 0o750
    os.close(fd)
    assert (home / name / "z").read_text() == "after all that is deeper"
    remove_tree(new)
    assert not new.exists()


def test_what_is_deeper_still_is_left_out_and_named(platform: Platform) -> None:
    os.close(dig(platform.home, "x" * 200, 100))
    (platform.home / "z").write_text("kept")
    platform.back_up()
    found = platform.contents()
    assert found["home/mallory/z"] == b"kept"
    assert max(map(len, found)) > 1 << 13
    _, listed = archive.read(str(platform.file))
    assert len(listed["totals"]["skipped"]) == 1


def test_a_file_with_holes_takes_no_room_and_has_them_again(platform: Platform, new: Path) -> None:
    path = platform.home / "holes"
    with path.open("wb") as file:
        file.truncate(8 << 40)
        for at in (1 << 20, 1 << 32, (8 << 40) - 5):
            os.pwrite(file.fileno(), b"piece", at)
    (platform.home / "only-a-hole").touch()
    os.truncate(platform.home / "only-a-hole", 1 << 41)
    platform.back_up()
    assert platform.file.stat().st_size < 1 << 20
    home = restored(platform, new)
    found = (home / "holes").stat()
    assert (found.st_size, found.st_blocks < 1000) == (8 << 40, True)
    with (home / "holes").open("rb") as file:
        for at in (1 << 20, 1 << 32, (8 << 40) - 5):
            assert os.pread(file.fileno(), 6, at).rstrip(b"\0") == b"piece"
        assert os.pread(file.fileno(), 9, 1 << 33) == bytes(9)
    assert (home / "only-a-hole").stat().st_size == 1 << 41


def test_a_file_of_very_many_pieces_is_several_entries(
    platform: Platform, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparse, "AT_ONCE", 3)
    path = platform.home / "holes"
    with path.open("wb") as file:
        for number in range(10):
            os.pwrite(file.fileno(), b"%d" % number * 5000, number << 20)
        file.truncate(1 << 30)
    path.chmod(0o400)
    platform.back_up()
    _, listed = archive.read(str(platform.file))
    assert [each["name"] for each in listed["entries"]].count("home/mallory/holes") == 4
    found = restored(platform, new) / "holes"
    assert stat.S_IMODE(found.stat().st_mode) == 0o400
    assert found.stat().st_size == 1 << 30
    with found.open("rb") as file:
        for number in range(10):
            assert os.pread(file.fileno(), 5000, number << 20) == b"%d" % number * 5000


def test_a_list_of_any_length_can_be_read_again(
    platform: Platform, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(200):
        (platform.home / f"file {number}").write_text(str(number))
    monkeypatch.setattr(archive, "LONGEST_LIST", 1000)
    monkeypatch.setattr(archive, "LARGEST_TEXT", 20_000)  # less than all names together take
    platform.back_up()
    home = restored(platform, new)
    assert {path.read_text() for path in home.iterdir()} == set(map(str, range(200)))


def twice(platform: Platform) -> None:
    """A backup in which names occur twice, as earlier versions could make them."""
    head = {
        "format": 1,
        "version": "0.1.0",
        "made_at": 1.0,
        "host": "old",
        "database": "sqlite",
        "revision": migrate.REVISIONS[-1],
        "tables": {table.name: copying.columns_of(table) for table in copying.copied_tables()},
        "homes": True,
    }
    with platform.file.open("wb") as file:
        writer = archive.Writer(file, head)
        for name, kind in (
            ("d", tarfile.SYMTYPE),
            ("d", tarfile.DIRTYPE),
            ("d/inside", tarfile.REGTYPE),
            ("f", tarfile.REGTYPE),
            ("f", tarfile.REGTYPE),
            ("f", tarfile.DIRTYPE),
            ("f/below-a-file", tarfile.REGTYPE),
            ("n" * 300, tarfile.REGTYPE),
            ("z", tarfile.REGTYPE),
        ):
            info = tarfile.TarInfo(f"home/mallory/{name}")
            info.type, info.mode = kind, 0o755
            info.uid, info.gid = os.geteuid(), os.getegid()
            info.linkname = "/etc" if kind == tarfile.SYMTYPE else ""
            if kind == tarfile.REGTYPE:
                writer.stream(info, io.BytesIO())
            else:
                writer.entry(info)
        writer.finish(Totals(rows={"jobs": 0, "events": 0, "users": 0}))


def test_an_entry_that_occurs_twice_is_skipped_and_told(
    platform: Platform, new: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twice(platform)
    home = restored(platform, new)
    assert "Skipped 5 files" in capsys.readouterr().out
    assert sorted(path.name for path in home.iterdir()) == ["d", "f", "z"]
    assert [path.name for path in (home / "d").iterdir()] == ["inside"]
