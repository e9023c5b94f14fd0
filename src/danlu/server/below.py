"""Puts a backup's files into a draft folder, each below the descriptor of its folder.

Paths may be longer than a program can name, and folders deeper than it can recurse. Nobody else
has access to the draft; still, no link is followed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tarfile
from dataclasses import dataclass
from pathlib import Path

from danlu.files import archive, sparse
from danlu.files.archive import Readable
from danlu.files.walking import FOLDER

OF_ONE_ENTRY = frozenset(
    (
        errno.EEXIST,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.EILSEQ,
        errno.EINVAL,
        errno.EFBIG,
    )
)
"""What is wrong with an entry here, and with no other."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Look:
    """Owner, mode and time. Much smaller than the tar's entry: there may be millions."""

    uid: int
    gid: int
    mode: int
    mtime: float

    @classmethod
    def of(cls, info: tarfile.TarInfo) -> Look:
        return cls(info.uid, info.gid, info.mode & 0o7777, info.mtime)

    def give(self, fd: int) -> None:
        if os.geteuid() == 0:
            os.fchown(fd, self.uid, self.gid)
        os.fchmod(fd, self.mode)
        os.utime(fd, (self.mtime, self.mtime))


class Below:
    """The names are those of the backup, with slashes."""

    def __init__(self, top: Path) -> None:
        self._top = os.open(top, FOLDER)
        self._fd = os.dup(self._top)  # of the folder that was used last
        self._at: list[bytes] = []

    def close(self) -> None:
        for fd in (self._top, self._fd):
            os.close(fd)

    def folder(self, name: str) -> None:
        self._go(_split(name))

    def finish_folder(self, name: str, look: Look) -> None:
        look.give(self._go(_split(name)))

    def link(self, name: str, target: str, look: Look) -> None:
        *above, last = _split(name)
        folder = self._go(above)
        os.symlink(_bytes(target), last, dir_fd=folder)
        if os.geteuid() == 0:
            os.chown(last, look.uid, look.gid, dir_fd=folder, follow_symlinks=False)

    def file(self, name: str, source: Readable, look: Look) -> None:
        *above, last = _split(name)
        folder = self._go(above)
        fd = os.open(last, _NEW, 0o600, dir_fd=folder)
        try:
            with os.fdopen(fd, "wb", closefd=False) as file:
                while piece := source.read(archive.PIECE):
                    file.write(piece)
            look.give(fd)
        except OSError:
            os.unlink(last, dir_fd=folder)
            raise
        finally:
            os.close(fd)

    def file_with_holes(self, name: str, part: sparse.Part, source: Readable, look: Look) -> None:
        """Raises ValueError if it is not what it should be."""
        *above, last = _split(name)
        folder = self._go(above)
        fd = os.open(last, _OLD if part.number else _NEW, 0o600, dir_fd=folder)
        try:
            sparse.unpack(fd, part, source)
            if not part.more:
                look.give(fd)
        except OSError:
            os.unlink(last, dir_fd=folder)
            raise
        finally:
            os.close(fd)

    def _go(self, parts: list[bytes]) -> int:
        """A folder's descriptor, valid until the next call; the folder is made if it is missing."""
        same = 0
        while same < min(len(self._at), len(parts)) and self._at[same] == parts[same]:
            same += 1
        if not self._up(len(self._at) - same, same):
            self._set(os.dup(self._top))
            self._at = []
        for name in parts[len(self._at) :]:
            try:
                inner = os.open(name, FOLDER, dir_fd=self._fd)
            except FileNotFoundError:
                os.mkdir(name, 0o700, dir_fd=self._fd)
                inner = os.open(name, FOLDER, dir_fd=self._fd)
            self._set(inner)
            self._at.append(name)
        return self._fd

    def _up(self, steps: int, left: int) -> bool:
        """False: it is nearer from the top, or a folder is already closed to us."""
        if steps > left:
            return False
        for _ in range(steps):
            try:
                self._set(os.open(b"..", FOLDER, dir_fd=self._fd))
            except PermissionError:
                return False
            self._at.pop()
        return True

    def _set(self, fd: int) -> None:
        os.close(self._fd)
        self._fd = fd


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", archive.NAMES)


def _split(name: str) -> list[bytes]:
    return _bytes(name).split(b"/")


def remove_tree(path: Path) -> None:
    """Whatever can be removed of a folder that nobody else uses, however deep it is."""
    with contextlib.suppress(OSError):
        top = os.open(path, FOLDER)
        try:
            _empty(top)
        finally:
            os.close(top)
        os.rmdir(path)


def _empty(top: int) -> None:
    """Folders are moved to the top before they are emptied: two descriptors are enough."""
    waiting = [os.fsencode(name) for name in os.listdir(top)]
    number = 0
    while waiting:
        name = waiting.pop()
        if _unlinked(top, name):
            continue
        folder = os.open(name, FOLDER, dir_fd=top)
        try:
            for inner in os.listdir(folder):
                if not _unlinked(folder, os.fsencode(inner)):
                    number += 1
                    moved = b".removing-%d-%d" % (os.getpid(), number)
                    os.rename(os.fsencode(inner), moved, src_dir_fd=folder, dst_dir_fd=top)
                    waiting.append(moved)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=top)


def _unlinked(folder: int, name: bytes) -> bool:
    """False: it is a folder; one that can be opened and moved now."""
    try:
        os.unlink(name, dir_fd=folder)
    except IsADirectoryError:
        os.chmod(name, 0o700, dir_fd=folder)
        return False
    return True
