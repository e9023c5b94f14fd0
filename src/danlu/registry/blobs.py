"""Blobs as files, named by their digests. Blocking: runs in threads."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from danlu.registry.names import ALGORITHMS

_AHEAD = 8 << 20
_SYNC_FILE_RANGE_WRITE = 2


class Blobs:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in (*(f"blobs/{each}" for each in ALGORITHMS), "uploads"):
            (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in (folder / "uploads").iterdir():  # of a process that was killed
            left.unlink()

    def path(self, digest: str) -> Path:
        algorithm, _, name = digest.partition(":")
        return self._folder / "blobs" / algorithm / name[:2] / name

    def draft(self) -> Draft:
        return Draft(self._folder / "uploads" / secrets.token_hex(16))

    def keep(self, draft: Draft, digest: str) -> None:
        """On disk when this returns. Keeping what is there already changes nothing."""
        path = self.path(digest)
        if not path.parent.is_dir():
            path.parent.mkdir(mode=0o700, exist_ok=True)
            _sync_folder(path.parent.parent)
        os.fdatasync(draft.fd)
        os.rename(draft.path, path)
        _sync_folder(path.parent)
        draft.close()

    def remove(self, digest: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.path(digest).unlink()

    def free(self) -> int:
        found = os.statvfs(self._folder)
        return found.f_bavail * found.f_frsize

    def all(self) -> list[tuple[str, float]]:
        """Every digest on disk, with when its file was made."""
        found = []
        for algorithm in ALGORITHMS:
            for folder in (self._folder / "blobs" / algorithm).iterdir():
                with os.scandir(folder) as entries:
                    found += [(f"{algorithm}:{e.name}", e.stat().st_mtime) for e in entries]
        return found


class Draft:
    """A blob that is still arriving."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._on_its_way = 0  # bytes that the disk has been told to write

    def write(self, pieces: Sequence[bytes | memoryview], at: int, digest: hashlib._Hash) -> None:
        """Large ones, please: each call here gives up Python's lock and has to get it back."""
        for piece in pieces:
            digest.update(piece)
            done = os.pwrite(self.fd, piece, at)
            while done < len(piece):
                done += os.pwrite(self.fd, piece[done:], at + done)
            at += done
        if at >= self._on_its_way + _AHEAD:
            _begin_writing(self.fd, self._on_its_way, at - self._on_its_way)
            self._on_its_way = at

    def digest(self, algorithm: str) -> str:
        """Reads all of it, where another digest is asked for than was computed on the way."""
        found, at = hashlib.new(algorithm), 0
        while piece := os.pread(self.fd, 1 << 20, at):
            found.update(piece)
            at += len(piece)
        return found.hexdigest()

    def discard(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()
        self.close()

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _begin_writing(fd: int, at: int, size: int) -> None:
    """The disk writes while more comes, and not only in `keep`, when the client waits for it."""
    _sync_file_range(fd, at, size, _SYNC_FILE_RANGE_WRITE)  # only a hint


# Not when it is first needed: by then we are another user, who may not be able to read Python.
_sync_file_range = ctypes.CDLL(None).sync_file_range
_sync_file_range.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)


def _sync_folder(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
