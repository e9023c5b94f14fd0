"""Whole trees by descriptors: no link is followed, and depth costs descriptors, not recursion."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from danlu.files.helper.beneath import FOLDER
from danlu.files.helper.request import Request

DEEPEST = 1000
"""Folders within folders; removing has no limit."""
_HOIST_AT = 200


@dataclass(slots=True)
class Step:
    """One entry of a tree. The descriptor is that of its folder, valid until the next step."""

    folder: int
    name: bytes
    found: os.stat_result
    parts: list[bytes]  # below the top
    leaving: bool = False  # a folder whose entries have all been seen


@dataclass(slots=True)
class _Level:
    fd: int
    names: Iterator[os.DirEntry[str]]
    step: Step | None


def walk(top: int, request: Request, *, leave: bool = False) -> Iterator[Step]:
    """Everything below a folder. `leave`: folders come again after their entries.

    What cannot be read is noted as a problem of the request.
    """
    levels = [_Level(os.dup(top), os.scandir(top), None)]
    parts: list[bytes] = []
    try:
        while levels:
            level = levels[-1]
            each = next(level.names, None)
            if each is None:
                _close(levels.pop())
                if level.step is not None:
                    parts.pop()
                    if leave:
                        yield Step(
                            levels[-1].fd, level.step.name, level.step.found, level.step.parts, True
                        )
                continue
            name = os.fsencode(each.name)
            try:
                found = os.stat(name, dir_fd=level.fd, follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError as error:
                request.problem(error, _shown([*parts, name]))
                continue
            step = Step(level.fd, name, found, [*parts, name])
            yield step
            if each.is_dir(follow_symlinks=False):
                inner = _enter(step, request, len(levels))
                if inner is not None:
                    levels.append(inner)
                    parts.append(name)
    finally:
        for level in levels:
            _close(level)


def _enter(step: Step, request: Request, depth: int) -> _Level | None:
    if depth > DEEPEST:
        request.problem(OSError(errno.ELOOP, "too deep"), _shown(step.parts))
        return None
    try:
        fd = os.open(step.name, FOLDER, dir_fd=step.folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        request.problem(error, _shown(step.parts))
        return None
    inner = os.fstat(fd)
    if (inner.st_dev, inner.st_ino) != (step.found.st_dev, step.found.st_ino):
        os.close(fd)  # another folder has taken its name meanwhile
        return None
    return _Level(fd, os.scandir(fd), step)


def _close(level: _Level) -> None:
    level.names.close()  # type: ignore[attr-defined]
    os.close(level.fd)


def _shown(parts: list[bytes]) -> str:
    return os.fsdecode(b"/".join(parts)).encode("utf-8", "replace").decode()


def remove(folder: int, name: bytes, request: Request) -> None:
    """Removes a file, or a folder with everything in it, however deep.

    Folders far down are moved to the top before they are emptied, so that no more than some hundred
    descriptors are ever open, and no path is ever long.
    """
    try:
        os.unlink(name, dir_fd=folder)
        request.tick(1)
        return
    except OSError as error:
        if error.errno not in (errno.EISDIR, errno.EPERM):
            raise
    top = os.open(name, FOLDER, dir_fd=folder)
    try:
        deep = [b""]
        while deep:
            work = deep.pop()
            fd = os.open(work or b".", FOLDER, dir_fd=top)
            try:
                _empty(fd, top, deep, request)
            finally:
                os.close(fd)
            if work:
                os.rmdir(work, dir_fd=top)
                request.tick(1)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=folder)
    request.tick(1)


def _empty(fd: int, top: int, deep: list[bytes], request: Request) -> None:
    """Removes what is in a folder; what is too deep is added to `deep`."""
    waiting = set(deep)
    levels: list[tuple[int, bytes, list[bytes]]] = [(os.dup(fd), b"", _entries(fd))]
    try:
        while levels:
            here, name, entries = levels[-1]
            if not entries:
                levels.pop()
                os.close(here)
                if levels:
                    os.rmdir(name, dir_fd=levels[-1][0])
                    request.tick(1)
                continue
            entry = entries.pop()
            if len(levels) == 1 and entry in waiting:
                continue
            try:
                os.unlink(entry, dir_fd=here)
                request.tick(1)
            except FileNotFoundError:
                continue
            except OSError as error:
                if error.errno not in (errno.EISDIR, errno.EPERM):
                    raise
                if len(levels) >= _HOIST_AT:
                    new = b".danlu-deep-" + secrets.token_hex(8).encode()
                    os.rename(entry, new, src_dir_fd=here, dst_dir_fd=top)
                    deep.append(new)
                    continue
                inner = os.open(entry, FOLDER, dir_fd=here)
                levels.append((inner, entry, _entries(inner)))
    finally:
        for here, _, _ in levels:
            os.close(here)


def _entries(fd: int) -> list[bytes]:
    return [os.fsencode(name) for name in os.listdir(fd)]
