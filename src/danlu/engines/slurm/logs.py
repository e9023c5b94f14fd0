"""Reads task logs from the shared folder, as their users."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from danlu.engines.api import LogFile, TaskRef, Unreachable
from danlu.engines.slurm.users import Silent, User, Users

_PIECE = 128 * 1024
_EVERY = 0.2  # seconds between two looks at a log that somebody follows
_LANE = "logs"
_READING = 120.0
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,255}")


class Owners:
    """Whose an attempt was, also when it is long forgotten: its log is in their folder.

    Lines in 256 files, by the attempt's last letters.
    """

    def __init__(self, data: Path) -> None:
        self._folder = data / "owners"
        self._known: dict[str, User] = {}

    def start(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _path(self, attempt_id: str) -> Path:
        return self._folder / re.sub(r"[^a-z0-9]", "_", attempt_id[-2:].lower())

    def add(self, attempt_id: str, user: User) -> None:
        line = json.dumps([attempt_id, user.values()]) + "\n"
        fd = os.open(
            self._path(attempt_id), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        try:
            os.write(fd, line.encode())
        finally:
            os.close(fd)

    def find(self, attempt_id: str) -> User | None:
        if attempt_id not in self._known:
            for name, user in self._lines(self._path(attempt_id)):
                if name == attempt_id:
                    self._known[attempt_id] = user
                    break
        if len(self._known) > 10_000:
            self._known.clear()
            return self.find(attempt_id)
        return self._known.get(attempt_id)

    def everybody(self) -> list[User]:
        found: dict[User, None] = {}
        for path in sorted(self._folder.iterdir()):
            found |= dict.fromkeys(user for _, user in self._lines(path))
        return list(found)

    def _lines(self, path: Path) -> Iterator[tuple[str, User]]:
        with contextlib.suppress(OSError), path.open(encoding="utf-8") as file:
            for line in file:
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    name, values = json.loads(line)
                    yield name, User.read(values)


def log_name(task: TaskRef, stream: str) -> str:
    """As the local engine names them."""
    if stream not in ("out", "err"):
        raise ValueError(f"no stream {stream!r}: a task has out and, if split, err")
    name = f"{task.job_id}.{task.attempt_id}.{task.task}.{stream}"
    if not _NAME.fullmatch(name):
        raise ValueError(f"no log of that name: {name!r}")
    return f"{task.job_id[-2:]}/{name}"


class Logs:
    def __init__(self, users: Users, owners: Owners, job_of: Callable[[str], str | None]) -> None:
        self._users = users
        self._owners = owners
        self._job_of = job_of

    async def _find(self, task: TaskRef, stream: str) -> tuple[User, str] | None:
        user = await asyncio.to_thread(self._owners.find, task.attempt_id)
        if user is None:
            return None
        job = task.job_id or self._job_of(task.attempt_id)
        if job:
            ref = TaskRef(task.attempt_id, task.task, job)
            return user, log_name(ref, stream)
        ending = f".{task.attempt_id}.{task.task}.{stream}"
        for name, _, _ in await self._list(user):
            if name.endswith(ending):
                return user, name
        return None

    async def read(
        self, task: TaskRef, stream: str, offset: int, limit: int | None
    ) -> AsyncIterator[bytes]:
        found = await self._find(task, stream)
        if found is None:
            return
        end: int | None = None if limit is None else offset + limit
        while end is None or offset < end:
            most = _PIECE if end is None else min(_PIECE, end - offset)
            size, piece = await self._piece(*found, offset, most)
            end = size if end is None else min(end, size)
            if not piece:
                return
            piece = piece[: end - offset] if end > offset else b""
            offset += len(piece)
            if piece:
                yield piece

    async def _piece(self, user: User, name: str, offset: int, most: int) -> tuple[int, bytes]:
        ask = {"name": name, "offset": offset, "most": most}
        try:
            answer, data = await self._users.ask(user, "log", ask, lane=_LANE, patience=_READING)
        except Silent as error:
            raise Unreachable(str(error)) from error
        return int(answer.get("size", 0)), data

    async def size(self, task: TaskRef, stream: str) -> int:
        found = await self._find(task, stream)
        return 0 if found is None else await self._size(*found)

    async def _size(self, user: User, name: str) -> int:
        try:
            answer, _ = await self._users.ask(user, "size", {"names": [name]}, lane=_LANE)
        except Silent as error:
            raise Unreachable(str(error)) from error
        return int(answer["sizes"][0])

    async def grew(
        self, task: TaskRef, stream: str, offset: int, patience: float, over: Callable[[], bool]
    ) -> bool:
        """True once it is longer than `offset`; False at the task's end or too late."""
        found = await self._find(task, stream)
        limit = time.monotonic() + patience
        while found is not None:
            ended = over()  # before the look: what it wrote last is there
            if await self._size(*found) > offset:
                return True
            left = limit - time.monotonic()
            if ended or left <= 0:
                return False
            await asyncio.sleep(min(left, _EVERY))
        return False

    async def _list(self, user: User) -> list[tuple[str, int, float]]:
        try:
            answer, _ = await self._users.ask(user, "logs", lane=_LANE, patience=_READING)
        except Silent as error:
            raise Unreachable(str(error)) from error
        return [(str(name), int(size), float(at)) for name, size, at in answer["logs"]]

    def export(self, loop: asyncio.AbstractEventLoop) -> Iterator[LogFile]:
        """For a backup, in a thread of its own."""
        for user in self._owners.everybody():
            listed = asyncio.run_coroutine_threadsafe(self._list(user), loop).result()
            for name, size, modified in listed:
                content = io.BufferedReader(_Remote(self, loop, user, name), _PIECE)
                full = f"{user.folder}/{name}"
                yield LogFile(full, size, modified, cast(BinaryIO, content))


class _Remote(io.RawIOBase):
    """One log, read piece by piece through its user's worker."""

    def __init__(self, logs: Logs, loop: asyncio.AbstractEventLoop, user: User, name: str) -> None:
        super().__init__()
        self._logs = logs
        self._loop = loop
        self._user = user
        self._name = name
        self._at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        work = self._logs._piece(self._user, self._name, self._at, min(len(view), _PIECE))
        _, data = asyncio.run_coroutine_threadsafe(work, self._loop).result()
        view[: len(data)] = data
        self._at += len(data)
        return len(data)
