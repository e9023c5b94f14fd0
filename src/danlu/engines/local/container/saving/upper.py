"""The files a container has changed: overlay's upper folder, read by descriptors.

Everything in it may be changed by the container's user while it is read: a file becomes a link or a
pipe, a folder moves. So every name is first opened without being used (O_PATH, no link followed);
what that descriptor says it is decides what is done with it, and only regular files and folders are
opened for reading, through that same descriptor.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from danlu.engines.api import CannotSave
from danlu.engines.local.keeper import linux
from danlu.spec.text import Text, counted

MOST_ENTRIES = 5_000_000
_LONGEST_PATH = 4000  # bytes; who unpacks an image opens whole paths
_DEEPEST = 1000  # folders, each of which is held open
_WHITEOUT = ".wh."
_OPAQUE = b"trusted.overlay.opaque"
_ELSEWHERE = ("trusted.overlay.redirect", "trusted.overlay.metacopy")
_KEPT = ("security.capability",)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Elsewhere(Exception):
    """The folder does not hold all that changed: overlay refers to the layers below."""


@dataclass(slots=True)
class Entry:
    """One changed name. `fd` is only valid until the next one."""

    path: str  # in the container, without the first slash
    fd: int
    stat: os.stat_result
    opaque: bool = False
    attributes: dict[str, bytes] = field(default_factory=dict)

    @property
    def removed(self) -> bool:
        """A whiteout: the layers below have it, this one has not."""
        return stat.S_ISCHR(self.stat.st_mode) and self.stat.st_rdev == 0

    @property
    def identity(self) -> tuple[int, int]:
        return self.stat.st_dev, self.stat.st_ino

    def open(self) -> int:
        """For a regular file."""
        return os.open(linux.by_number(self.fd), _FILE)

    def link(self) -> str:
        return os.readlink("", dir_fd=self.fd)


def walk(top: int, left_out: Collection[str] = ()) -> Iterator[Entry]:
    """Every changed name, each folder before what is in it.

    `left_out`: paths of the platform's own. Raises CannotSave and Elsewhere.
    """
    opened: list[tuple[int, str, Iterator[str]]] = []
    count = 0
    try:
        opened.append((top, "", iter(_names(top))))
        while opened:
            folder, below, names = opened[-1]
            name = next(names, None)
            if name is None:
                opened.pop()
                if folder != top:
                    os.close(folder)
                continue
            path = f"{below}{name}"
            if path in left_out or name.startswith(_WHITEOUT):
                continue
            count += 1
            if count > MOST_ENTRIES:
                raise too_many()
            entry = _look(folder, name, path)
            if entry is None:
                continue
            try:
                yield entry
                if stat.S_ISDIR(entry.stat.st_mode):
                    inside = _enter(entry, path, len(opened))
                    opened.append((inside, f"{path}/", iter(_names(inside))))
            finally:
                os.close(entry.fd)
    finally:
        for folder, _, _ in opened:
            if folder != top:
                os.close(folder)


def _look(folder: int, name: str, path: str) -> Entry | None:
    """None: it is gone, or has no place in an image."""
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise _too_long(path)
    try:
        fd = linux.name_in(folder, name)
    except FileNotFoundError:
        return None
    try:
        found = os.fstat(fd)
        entry = Entry(path, fd, found)
        if stat.S_ISSOCK(found.st_mode):
            os.close(fd)
            return None
        if not entry.removed:
            _read_attributes(entry)
    except BaseException:
        with contextlib.suppress(OSError):
            os.close(fd)
        raise
    return entry


def _read_attributes(entry: Entry) -> None:
    where = linux.by_number(entry.fd)
    try:
        names = os.listxattr(where)
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EPERM, errno.ENOENT):
            return
        raise
    for name in names:
        if name in _ELSEWHERE:
            raise Elsewhere(entry.path)
        with contextlib.suppress(OSError):  # removed since
            if name == _OPAQUE.decode():
                entry.opaque = os.getxattr(where, name) == b"y"
            elif name in _KEPT or (
                name.startswith("user.") and not name.startswith("user.overlay")
            ):
                entry.attributes[name] = os.getxattr(where, name)


def _enter(entry: Entry, path: str, depth: int) -> int:
    if depth >= _DEEPEST:
        raise _too_long(path)
    return os.open(".", _FOLDER, dir_fd=entry.fd)


def _names(folder: int) -> list[str]:
    """Sorted: the same files make the same layer."""
    found: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            found.append(entry.name)
            if len(found) > MOST_ENTRIES:
                raise too_many()
    return sorted(found)


def too_many() -> CannotSave:
    most = counted(MOST_ENTRIES, "file")
    return CannotSave(
        Text(
            f"It has changed more than {most} of its image; remove some, or keep them in a volume",
            f"它相对镜像改动的文件超过 {MOST_ENTRIES} 个；请删除一些，或放到存储卷里",
        )
    )


def _too_long(path: str) -> CannotSave:
    shown = f"/{path[:60]}...".encode("utf-8", "backslashreplace").decode()
    return CannotSave(
        Text(
            f"{shown!r} is too deep to be kept in an image; remove it, or move it to a volume",
            f"{shown!r} 的路径太深，镜像里放不下；请删除它，或移到存储卷里",
        )
    )
