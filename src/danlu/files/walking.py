"""Everything below a folder, by descriptors: no link is followed, whatever changes meanwhile.

Neither the depth of a tree nor the length of its paths is limited here; only so many descriptors
are open at a time.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MOST_OPEN = 64


@dataclass(slots=True)
class Step:
    """One entry: its folder's descriptor, valid until the next step, and its name there."""

    folder: int
    name: bytes
    found: os.stat_result
    above: list[bytes]  # the names of the folders on the way; valid until the next step
    enter: bool = True  # set it to False to leave out what is in this folder

    @property
    def path(self) -> bytes:
        return b"/".join((*self.above, self.name))


@dataclass(slots=True)
class _Level:
    fd: int | None  # None: closed, as there are many below it
    key: tuple[int, int]
    names: list[bytes]  # still to come, the next one last


def walk(top: int) -> Iterator[Step]:
    """Folders come before what is in them. What cannot be read, or went away, is left out."""
    levels = [_open_level(os.dup(top))]
    above: list[bytes] = []
    try:
        while levels:
            level = levels[-1]
            if level.fd is None or not level.names:
                _leave(levels, above, top)
                continue
            name = level.names.pop()
            try:
                found = os.stat(name, dir_fd=level.fd, follow_symlinks=False)
            except OSError:
                continue
            step = Step(level.fd, name, found, above)
            yield step
            if stat.S_ISDIR(found.st_mode) and step.enter:
                inner = _enter(level.fd, name, found)
                if inner is not None:
                    levels.append(inner)
                    above.append(name)
                    if len(levels) > MOST_OPEN:
                        _close(levels[-MOST_OPEN - 1])
    finally:
        for level in levels:
            _close(level)


def _enter(folder: int, name: bytes, found: os.stat_result) -> _Level | None:
    try:
        fd = os.open(name, FOLDER, dir_fd=folder)
    except OSError:
        return None
    try:
        if _key(os.fstat(fd)) == _key(found):  # else another folder has taken its name meanwhile
            return _open_level(fd)
    except OSError:
        pass
    os.close(fd)
    return None


def _open_level(fd: int) -> _Level:
    # A name that is moved while a folder is read may be told twice.
    names = sorted({os.fsencode(name) for name in os.listdir(fd)}, reverse=True)
    return _Level(fd, _key(os.fstat(fd)), names)


def _leave(levels: list[_Level], above: list[bytes], top: int) -> None:
    """To the folder above; it is opened again if it had been closed."""
    left = levels.pop()
    if levels:
        above.pop()
        level = levels[-1]
        if level.fd is None:
            level.fd = _up(left.fd, level.key)
            if level.fd is None:
                level.fd = _down(top, levels, above)
    _close(left)


def _up(fd: int | None, key: tuple[int, int]) -> int | None:
    if fd is None:
        return None
    with contextlib.suppress(OSError):
        parent = os.open(b"..", FOLDER, dir_fd=fd)
        if _key(os.fstat(parent)) == key:
            return parent
        os.close(parent)  # what is below was moved elsewhere meanwhile
    return None


def _down(top: int, levels: list[_Level], above: list[bytes]) -> int | None:
    """The last level's folder by its way from the top; None: it is no longer there."""
    here = os.dup(top)
    for name, level in zip(above, levels[1:], strict=True):
        try:
            inner = os.open(name, FOLDER, dir_fd=here)
        except OSError:
            os.close(here)
            return None
        os.close(here)
        here = inner
        if _key(os.fstat(here)) != level.key:
            os.close(here)
            return None
    return here


def _key(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _close(level: _Level) -> None:
    if level.fd is not None:
        os.close(level.fd)
        level.fd = None
