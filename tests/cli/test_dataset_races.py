"""Whoever can write a dataset's volume replaces its folder by a link while the server reads it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from danlu.files.counting import Counting, Uncountable
from danlu.files.staging import Trouble, copy
from tests.support.server import DanluServer

_EXCHANGE = 2
_AT_FDCWD = -100
ROUNDS = 24


def exchange(one: Path, other: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _EXCHANGE) < 0:
        raise OSError(ctypes.get_errno(), "renameat2")


@pytest.fixture
def raced(server: DanluServer, tmp_path: Path) -> Iterator[threading.Event]:
    """The dataset `coco`, of one file; once set, its folder is a link half of the time."""
    tmp_path.chmod(0o755)
    for folder in ("nas/coco", "private", "fast"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "nas/coco/cat").write_text("cat")
    for name in ("diary", "letters"):
        (tmp_path / "private" / name).write_text("private")
    (tmp_path / "nas/.link").symlink_to(tmp_path / "private")
    server.cli("volume", "add", "raced", str(tmp_path / "nas"))
    server.cli("volume", "add", "near", str(tmp_path / "fast"), "--tier", "fast", "--node", "n2")
    added = server.cli("dataset", "add", "coco", "--volume", "raced", "--folder", "coco", "--wait")
    assert added.returncode == 0, added.stderr
    begun, over = threading.Event(), threading.Event()

    def swap() -> None:
        begun.wait()
        while not over.wait(0.005):
            exchange(tmp_path / "nas/coco", tmp_path / "nas/.link")

    thread = threading.Thread(target=swap)
    thread.start()
    yield begun
    begun.set()
    over.set()
    thread.join()
    server.cli("dataset", "remove", "coco", "--yes")
    for volume in ("raced", "near"):
        server.cli("volume", "remove", volume, "--yes")


def until_done(server: DanluServer, act: str) -> Any:
    """None: refused, since the folder led out of the volume just then."""
    with contextlib.suppress(urllib.error.HTTPError):
        found = server.post(f"/datasets/coco/{act}", {})
        while found["measuring"] or any(copy["state"] == "copying" for copy in found["copies"]):
            time.sleep(0.02)
            found = server.get("/datasets/coco")
        return found


def test_another_persons_files_are_never_counted(
    server: DanluServer, raced: threading.Event
) -> None:
    raced.set()
    for _ in range(ROUNDS):
        assert until_done(server, "measure")["files"] == 1


def test_another_persons_files_are_never_copied(
    server: DanluServer, raced: threading.Event, tmp_path: Path
) -> None:
    raced.set()
    for _ in range(ROUNDS):
        until_done(server, "stage")
        assert {path.name for path in (tmp_path / "fast").glob(".stage/*/*")} <= {"cat"}
        server.call("DELETE", "/datasets/coco/stage")


async def test_a_folder_that_became_a_link_is_neither_counted_nor_copied(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "diary").write_text("private")
    (tmp_path / "coco").symlink_to("private")
    with pytest.raises(Uncountable):
        await Counting().count(str(tmp_path / "coco"))
    with pytest.raises(Trouble):
        await copy(str(tmp_path / "coco"), str(tmp_path / "stage"), "coco", lambda done: None)
    assert not (tmp_path / "stage").exists()


@pytest.fixture
def sticky(tmp_path: Path) -> Path:
    """A folder of a volume that everybody can write."""
    tmp_path.chmod(0o1777)
    return tmp_path


async def test_copies_go_through_no_link_of_somebody_else(sticky: Path) -> None:
    for name in ("coco", "private"):
        (sticky / name).mkdir()
    (sticky / "private").chmod(0o755)
    (sticky / ".stage").symlink_to("private")
    with pytest.raises(Trouble):
        await copy(str(sticky / "coco"), str(sticky / ".stage"), "coco", lambda done: None)
    assert (sticky / "private").stat().st_mode & 0o777 == 0o755
    assert list((sticky / "private").iterdir()) == []
