"""Finds what TensorBoard shows: folders as a task sees them, and event files in them.

People make these trees as deep and as wide as they like, so a search looks at a bounded part, in a
thread, with the person's own permissions, and follows no link below the folder it begins in.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from danlu.access.errors import Clash
from danlu.access.identities import Identities, Person
from danlu.files.as_person import as_person
from danlu.files.links import lead
from danlu.files.volumes import Volumes, below
from danlu.spec.job import Role
from danlu.spec.text import Text

MOST_ENTRIES = 20_000
DEEPEST = 6
SECONDS = 3.0
PATIENCE = 10.0  # of whoever asks; a thread that waits for a lost disk goes on by itself
AT_ONCE = 4
MOST_FOLDERS = 10
_MARK = "tfevents"
_PASS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class View:
    """What a task of a person sees."""

    person: Person
    volumes: Mapping[str, str]  # mount point -> folder on the host
    machine: bool  # also the files of the machine: the task has no image


class EventFiles:
    def __init__(self, identities: Identities, volumes: Volumes) -> None:
        self._identities = identities
        self._volumes = volumes
        self._running = 0

    async def view(self, name: str, role: Role) -> View:
        person = await self._identities.person(name)
        seen = self._volumes.seen(role, person)
        return View(person, seen, machine=role.image is None)

    async def is_there(self, view: View, folder: str) -> bool:
        """Whether it is a folder that the person may read."""
        return await self._threaded(lambda: self._is_there(view, folder))

    async def written(
        self, view: View, folder: str, since: float, until: float | None
    ) -> list[str]:
        """Folders at or directly below `folder` that hold event files of that time."""
        return await self._threaded(lambda: self._written(view, folder, since, until))

    async def _threaded(self, work: Callable[[], T]) -> T:
        if self._running >= AT_ONCE:
            raise Clash(
                "busy",
                Text("The server is looking into other folders; try again", "服务器正忙，请重试"),
            )
        self._running += 1
        looking = asyncio.ensure_future(asyncio.to_thread(work))
        looking.add_done_callback(self._looked)
        try:
            async with asyncio.timeout(PATIENCE):
                return await asyncio.shield(looking)
        except TimeoutError:
            raise Clash(
                "busy",
                Text("The disk with this folder does not answer", "该目录所在的磁盘没有响应"),
            ) from None

    def _looked(self, done: asyncio.Future[T]) -> None:
        self._running -= 1
        if not done.cancelled():
            done.exception()

    def _is_there(self, view: View, folder: str) -> bool:
        with contextlib.suppress(OSError), self._opened(view, folder) as found:
            return found is not None
        return False

    def _written(self, view: View, folder: str, since: float, until: float | None) -> list[str]:
        with contextlib.suppress(OSError), self._opened(view, folder) as found:
            if found is None:
                return []
            parts = _search(found, since, until)
            top = sorted({part.partition("/")[0] for part in parts})
            if "" in top or len(top) > MOST_FOLDERS:
                return [folder]
            return [f"{folder.rstrip('/')}/{part}" for part in top]
        return []

    @contextlib.contextmanager
    def _opened(self, view: View, folder: str) -> Iterator[int | None]:
        """As the person, by descriptors: what somebody makes a link meanwhile is not followed.

        None: tasks do not see it. Raises OSError.
        """
        path = lead(os.path.normpath(folder), view.volumes)
        target = max((t for t in view.volumes if below(path, t)), key=len, default=None)
        if target is None and not view.machine:
            yield None
            return
        # The way to a volume may be closed to people, who get there by its mount only.
        root = os.open("/" if target is None else view.volumes[target], _PASS)
        try:
            with as_person(view.person):
                inside = self._real(view, path) if target is None else path[len(target) :]
                fd = None if inside is None else _open(root, inside)
                try:
                    yield fd
                finally:
                    if fd is not None:
                        os.close(fd)
        finally:
            os.close(root)

    def _real(self, view: View, path: str) -> str | None:
        """A path of the machine without its links; None: tasks do not see it."""
        real = os.path.realpath(path)
        return None if self._volumes.is_hidden(real, view.volumes) else real


def _open(root: int, path: str) -> int:
    """A folder below another, to be read. No part of the path may be a link."""
    *above, last = [part for part in path.split("/") if part] or ["."]
    fd = os.dup(root)
    for part, flags in [*((part, _PASS) for part in above), (last, _READ)]:
        try:
            below = os.open(part, flags, dir_fd=fd)
        finally:
            os.close(fd)
        fd = below
    return fd


def _search(root: int, since: float, until: float | None) -> set[str]:
    """Folders below, relative to it. Breadth first: those nearest are the most likely."""
    found: set[str] = set()
    folders: deque[tuple[str, int]] = deque([("", 0)])
    left, end = MOST_ENTRIES, time.monotonic() + SECONDS
    while folders:
        path, depth = folders.popleft()
        for entry in _entries(root, path):
            left -= 1
            if left < 0 or time.monotonic() > end:
                return found
            if entry.is_dir(follow_symlinks=False):
                if depth < DEEPEST and not entry.name.startswith("."):
                    folders.append((f"{path}/{entry.name}", depth + 1))
            elif _MARK in entry.name and _is_of(entry, since, until):
                found.add(path.lstrip("/"))
    return found


def _entries(root: int, path: str) -> Iterator[os.DirEntry[str]]:
    """None of a folder that cannot be read."""
    with contextlib.suppress(OSError):
        fd = _open(root, path)
        try:
            with os.scandir(fd) as entries:
                yield from entries
        finally:
            os.close(fd)


def _is_of(entry: os.DirEntry[str], since: float, until: float | None) -> bool:
    try:
        if not entry.is_file(follow_symlinks=False):
            return False
        changed = entry.stat(follow_symlinks=False).st_mtime
    except OSError:
        return False
    return since <= changed and (until is None or changed <= until)
