"""To make root's backup of the homes read what is not one's own, hang, or fail for everybody."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from danlu.files import archive
from danlu.files.backup import Source, write_backup
from danlu.files.settings import FileSettings
from danlu.store import migrate
from danlu.store.database import database

_EXCHANGE = 2
_BIG = 4 << 20  # more than one piece, and random: it reaches the sink while it is being read


class Platform:
    """A data folder, and in it what mallory keeps at home."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.home = self.data / "home" / "mallory"
        self.home.mkdir(parents=True)
        self.file = folder / "all.backup"
        self.database = database(f"sqlite:///{self.data / 'danlu.db'}")
        self.database.create()
        migrate.upgrade(self.database)

    def back_up(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        source = Source(self.database, FileSettings(self.data), lambda: iter(()), homes=True)
        with self.file.open("wb") as file:
            write_backup(source, _Watched(file, meanwhile))

    def contents(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}

        def take(info: tarfile.TarInfo, source: archive.Readable) -> None:
            if info.name.startswith("home/"):
                found[info.name] = source.read()

        archive.read(str(self.file), take)
        return found


class _Watched:
    def __init__(self, file: archive.Sink, meanwhile: Callable[[], None]) -> None:
        self._file, self._meanwhile, self._size = file, meanwhile, 0

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._size += len(data)
        if self._size > 1 << 20:  # in the middle of the big file
            self._meanwhile()
            self._size = -(1 << 60)


@pytest.fixture
def platform(tmp_path: Path) -> Platform:
    return Platform(tmp_path)


def exchange(one: Path, other: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, bytes(one), -100, bytes(other), _EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def test_a_folder_that_becomes_a_link_leads_the_backup_nowhere(
    platform: Platform, tmp_path: Path
) -> None:
    secret = tmp_path / "root" / "a"
    (secret / "deeper").mkdir(parents=True)
    for path in (secret / "key", secret / "deeper" / "key"):
        path.write_text("of root")
    mine = platform.home / "d" / "a"
    (mine / "deeper").mkdir(parents=True)
    (mine / "big").write_bytes(os.urandom(_BIG))
    for path in (mine / "key", mine / "deeper" / "key"):
        path.write_text("of mallory")
    link = platform.home / "l"
    link.symlink_to(tmp_path / "root")
    platform.back_up(lambda: exchange(platform.home / "d", link))
    found = platform.contents()
    assert b"of root" not in found.values()
    assert found["home/mallory/d/a/key"] == b"of mallory"
    assert found["home/mallory/d/a/deeper/key"] == b"of mallory"


def test_a_pipe_in_the_place_of_a_file_is_left_out_and_not_waited_for(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    (platform.home / "after").write_text("kept")
    victim = platform.home / "before"
    victim.write_text("a file when it was looked at")
    really = os.open

    def swapping(path: str | bytes, *rest: int, **more: int | None) -> int:
        if os.fsencode(path).endswith(b"before") and victim.is_file():
            victim.unlink()
            os.mkfifo(victim)
        return really(path, *rest, **more)  # type: ignore[arg-type]

    keep_waiting_readers_out = _writer_after(victim, 20)
    monkeypatch.setattr(os, "open", swapping)
    platform.back_up()
    keep_waiting_readers_out.kill()
    keep_waiting_readers_out.wait()
    found = platform.contents()
    assert found["home/mallory/after"] == b"kept"
    assert "home/mallory/before" not in found


def _writer_after(fifo: Path, seconds: int) -> subprocess.Popen[bytes]:
    """Wakes a backup that waits for the pipe, so that the test fails instead of hanging."""
    line = f"import time, os; time.sleep({seconds}); os.write(os.open({str(fifo)!r}, 1), b'x')"
    return subprocess.Popen([sys.executable, "-c", line])


_HANGING = """
import asyncio, os, sys
from danlu.files import backup
from danlu.services import backup as service

def never(source, out):
    out.write(b"x" * service.PIECE)
    os.read(os.pipe()[0], 1)  # a disk that never answers

async def main():
    backup.write_backup = never
    pieces = service._pieces(None, service._Turn())
    assert await anext(pieces)
    await pieces.aclose()

asyncio.run(main())
print("stopped")
"""


def test_a_backup_that_hangs_does_not_keep_the_server_from_stopping() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _HANGING], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"stopped\n"), done.stderr
