"""A container's changed files as a layer, whatever they are."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.engines.api import CannotSave
from danlu.engines.local.container.saving import layer, upper
from tests.support.parts import missing

NEWLINE = "a\nname\nof three lines"
LONGEST = "n" * 255
NO_TEXT = b"\xff\xfe not text"
CAPABILITY = bytes.fromhex("0100000200200000" + "00" * 12)


@pytest.fixture
def top(tmp_path: Path) -> Iterator[int]:
    folder = tmp_path / "upper"
    folder.mkdir()
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def written(top: int, *left_out: str) -> tuple[dict[str, tarfile.TarInfo], tarfile.TarFile]:
    found = layer.Written()
    data = b"".join(layer.compressed(layer.tar_of(top, left_out, lambda _: None), found))
    plain = gzip.decompress(data)
    assert found.size == len(data)
    assert found.digest == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert found.diff_id == f"sha256:{hashlib.sha256(plain).hexdigest()}"
    tar = tarfile.TarFile(fileobj=io.BytesIO(plain), encoding="utf-8", errors="surrogateescape")
    return {entry.name: entry for entry in tar}, tar


def content(found: dict[str, tarfile.TarInfo], tar: tarfile.TarFile, name: str) -> bytes:
    file = tar.extractfile(found[name])
    assert file is not None
    return file.read()


def test_names_of_every_kind_arrive_as_they_are(top: int, tmp_path: Path) -> None:
    here = tmp_path / "upper"
    (here / NEWLINE).write_bytes(b"1")
    (here / LONGEST).write_bytes(b"2")
    os.makedirs(os.fsencode(here) + b"/" + NO_TEXT)
    (here / "汉字").write_bytes(b"3" * 3_000_000)
    deep = here / "/".join(["d" * 100] * 30)
    deep.mkdir(parents=True)
    (deep / "leaf").write_bytes(b"4")
    found, tar = written(top)
    assert content(found, tar, NEWLINE) == b"1"
    assert content(found, tar, LONGEST) == b"2"
    assert content(found, tar, "汉字") == b"3" * 3_000_000
    assert content(found, tar, "/".join([*["d" * 100] * 30, "leaf"])) == b"4"
    assert found[os.fsdecode(NO_TEXT)].isdir()


def test_links_pipes_and_modes_are_kept_and_nothing_is_followed(top: int, tmp_path: Path) -> None:
    here = tmp_path / "upper"
    (tmp_path / "outside").write_text("root's alone")
    os.symlink(tmp_path / "outside", here / "link")
    os.symlink("..", here / "up")
    os.mkfifo(here / "pipe", 0o640)
    (here / "program").write_bytes(b"#!")
    (here / "program").chmod(0o4711)
    os.link(here / "program", here / "same")
    found, tar = written(top)
    assert found["link"].issym() and found["link"].linkname == str(tmp_path / "outside")
    assert found["up"].issym()
    assert found["pipe"].isfifo() and found["pipe"].mode == 0o640
    assert found["program"].mode == 0o4711
    assert found["same"].islnk() and found["same"].linkname == "program"
    assert content(found, tar, "program") == b"#!"
    assert not any("root" in name for name in found)


def test_what_was_removed_is_said_in_the_words_of_layers(top: int, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        missing("overlay's own files", "run the tests as root")
    here = tmp_path / "upper"
    (here / "etc").mkdir()
    os.mknod(here / "etc/gone", stat.S_IFCHR, os.makedev(0, 0))
    (here / "new").mkdir()
    os.setxattr(here / "new", "trusted.overlay.opaque", b"y")
    (here / "new/file").write_bytes(b"x")
    (here / "ping").write_bytes(b"x")
    os.setxattr(here / "ping", "security.capability", CAPABILITY)
    (here / ".wh.forged").write_bytes(b"this would remove a file of the image")
    found, _ = written(top)
    assert found["etc/.wh.gone"].isreg()
    assert found["new/.wh..wh..opq"].isreg()
    assert list(found).index("new/.wh..wh..opq") < list(found).index("new/file")
    headers = found["ping"].pax_headers
    kept = headers["SCHILY.xattr.security.capability"].encode("utf-8", "surrogateescape")
    assert kept == CAPABILITY
    assert ".wh.forged" not in found


def test_what_overlay_keeps_elsewhere_is_noticed(top: int, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        missing("overlay's own files", "run the tests as root")
    (tmp_path / "upper/moved").mkdir()
    os.setxattr(tmp_path / "upper/moved", "trusted.overlay.redirect", b"/before")
    with pytest.raises(upper.Elsewhere):
        written(top)


def test_the_platforms_own_files_are_left_out(top: int, tmp_path: Path) -> None:
    (tmp_path / "upper/etc").mkdir()
    (tmp_path / "upper/etc/passwd").write_text("alice")
    (tmp_path / "upper/etc/mine").write_text("x")
    found, _ = written(top, "etc/passwd")
    assert set(found) == {"etc", "etc/mine"}


def test_a_huge_hole_counts_with_its_whole_size(top: int, tmp_path: Path) -> None:
    with (tmp_path / "upper/hole").open("wb") as file:
        file.truncate(1 << 42)
    os.link(tmp_path / "upper/hole", tmp_path / "upper/again")
    seen = layer.measure(top)
    assert (seen.size, seen.files) == (1 << 42, 2)


def test_a_path_too_deep_for_an_image_is_named(top: int, tmp_path: Path) -> None:
    here = os.dup(top)
    for _ in range(1200):
        os.mkdir("down", dir_fd=here)
        inside = os.open("down", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = inside
    os.close(here)
    try:
        with pytest.raises(CannotSave, match="too deep"):
            layer.measure(top)
    finally:  # pytest itself cannot remove it
        subprocess.run(["rm", "-rf", str(tmp_path / "upper/down")], check=True)


def test_a_file_that_shrinks_is_filled_with_zeros(top: int, tmp_path: Path) -> None:
    path = tmp_path / "upper/file"
    path.write_bytes(b"x" * 10_000_000)
    pieces = layer.tar_of(top, (), lambda _: None)
    first = next(pieces)
    with path.open("r+b") as file:
        file.truncate(0)
    with tarfile.open(fileobj=io.BytesIO(first + b"".join(pieces))) as tar:
        assert tar.getmember("file").size == 10_000_000


def test_a_user_who_swaps_files_for_links_meanwhile_gets_nothing_of_roots(
    top: int, tmp_path: Path
) -> None:
    here, secret = tmp_path / "upper", tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_bytes(b"SECRET")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            os.symlink(secret, here / "x")
            os.unlink(here / "x")
            (here / "x").mkdir()
            os.rmdir(here / "x")
            os.symlink(secret / "key", here / "z")
            os.unlink(here / "z")
            (here / "z").write_bytes(b"mine")
            os.unlink(here / "z")

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(300):
            assert b"SECRET" not in b"".join(layer.tar_of(top, (), lambda _: None))
    finally:
        over.set()
        swapping.join()


def test_what_grows_while_it_is_saved_is_not_read_for_weeks(top: int, tmp_path: Path) -> None:
    """There was room for what was measured; by now it is a terabyte of holes."""
    path = tmp_path / "upper/file"
    path.write_bytes(b"x" * 1000)
    (tmp_path / "upper/other").write_bytes(b"y" * 1000)
    most = layer.measure(top).size
    assert sum(map(len, layer.tar_of(top, (), lambda _: None, most))) > most
    os.truncate(path, 1 << 40)
    with pytest.raises(CannotSave, match="grown to 1T"):
        next(layer.tar_of(top, (), lambda _: None, most))
