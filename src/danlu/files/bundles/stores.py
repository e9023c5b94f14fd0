"""Asks a worker process, which acts as the owner, to do something with their bundles."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

from danlu.access.identities import Person, Uids
from danlu.engines.api import Refused
from danlu.files.settings import FileSettings

log = logging.getLogger("danlu")
AREA = "bundles"
CARRIED = "carried"
"""The folder of a home with the working folders."""
_AT_ONCE = 4
_WORKER = os.path.join(os.path.dirname(__file__), "worker.py")  # a program of its own
_PAUSE = 0.5  # seconds before the next working folder is made: the job comes first
_UNUSED = 86400.0  # seconds such a folder is kept if nobody takes it
_PIPE = 1 << 20  # bytes
Values = dict[str, Any]


class Trouble(Exception):
    """What the worker says is wrong: `code` and values."""

    def __init__(self, code: str, values: Values) -> None:
        super().__init__(f"{code}: {values}")
        self.code = code
        self.values = values


class BundleStores:
    def __init__(self, settings: FileSettings, uids: Uids | None) -> None:
        self._settings = settings
        self._uids = uids
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._ahead: dict[str, asyncio.Task[None]] = {}  # by owner
        self._one = asyncio.Semaphore(1)

    def folder_of(self, user: str) -> str:
        return f"{self._settings.data}/{AREA}/{user}"

    async def upload(self, person: Person, ask: Values, body: AsyncIterator[bytes]) -> Values:
        """Passes on what a client sends, as it comes."""
        await asyncio.to_thread(self._make, person)
        return await self._ask(person, ask, body)

    async def check_out(self, person: Person, bundle: str, job: str, ref: str) -> Values:
        name = ref.rpartition("/")[2]  # without the owner
        ask = {"op": "check_out", "id": bundle, "job": job, "folder": f"{CARRIED}/{name}"}
        await self._end_ahead(person.name)
        async with self._turns:
            made = await self._ask(person, ask | self._home(person))
        if made.get("ahead") and person.name not in self._ahead:
            task = asyncio.create_task(self._make_ahead(person, bundle))
            self._ahead[person.name] = task
        return made

    async def _make_ahead(self, person: Person, bundle: str) -> None:
        """The folder for this person's next job, while nobody waits for it."""
        try:
            await asyncio.sleep(_PAUSE)
            async with self._one:
                await self._ask(person, {"op": "ahead", "id": bundle} | self._home(person))
        except (Trouble, Refused, OSError) as trouble:
            log.info("no folder was made ahead for %s: %s", person.name, trouble)
        finally:
            if self._ahead.get(person.name) is asyncio.current_task():
                del self._ahead[person.name]

    async def _end_ahead(self, user: str) -> None:
        """What was made so far is used."""
        task = self._ahead.pop(user, None)
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    async def slim(self, person: Person, job: str) -> Values:
        async with self._turns:
            return await self._ask(person, {"op": "slim", "job": job} | self._home(person))

    async def collect(self, person: Person, keep: list[str], unused: float = _UNUSED) -> Values:
        if not await asyncio.to_thread(os.path.isdir, self.folder_of(person.name)):
            return {"bytes": 0, "removed": 0}
        async with self._turns:
            return await self._ask(person, {"op": "collect", "keep": keep, "ahead": unused})

    def _home(self, person: Person) -> Values:
        return {"home": str(self._settings.home_of(person.name))}

    def _make(self, person: Person) -> None:
        """Belongs to its owner, below a folder of ours that no task sees."""
        path = self.folder_of(person.name)
        os.makedirs(os.path.dirname(path), 0o711, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        if person.uid is not None:
            os.chown(path, person.uid, _gid(person), follow_symlinks=False)

    async def _ask(
        self, person: Person, ask: Values, body: AsyncIterator[bytes] | None = None
    ) -> Values:
        """Raises Trouble, Refused, OSError."""
        if self._uids is not None and person.uid is None:
            raise Refused(f"{person.name} has no uid on this machine; an admin can give one")
        groups = person.identity(None).groups
        head = {
            **ask,
            "store": self.folder_of(person.name),
            "uid": person.uid,
            "gid": _gid(person),
            "groups": list(groups),
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", _WORKER),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 26,
        )
        try:
            await _send(process, head, body)
            assert process.stdout is not None
            line = await process.stdout.readline()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                if ask["op"] == "ahead":
                    process.terminate()
                else:
                    process.kill()
            raise
        finally:
            await process.wait()
        answer: Values = json.loads(line) if line else {"error": "failed", "detail": "it ended"}
        if "error" in answer:
            raise Trouble(answer.pop("error"), answer)
        return answer


async def _send(
    process: asyncio.subprocess.Process, head: Values, body: AsyncIterator[bytes] | None
) -> None:
    """A worker that has seen enough answers before it has read everything."""
    pipe = process.stdin
    assert pipe is not None
    _widen(pipe)
    try:
        pipe.write(json.dumps(head).encode() + b"\n")
        if body is not None:
            async for piece in body:
                pipe.write(piece)
                await pipe.drain()
        pipe.close()
    except (BrokenPipeError, ConnectionResetError):
        if body is not None:
            async for _ in body:  # the client reads the answer only after its last byte
                pass


def _widen(pipe: asyncio.StreamWriter) -> None:
    """Fewer turns between the two processes for the same bytes."""
    with contextlib.suppress(OSError, TypeError, ValueError):  # not every loop tells
        fcntl.fcntl(pipe.get_extra_info("pipe"), fcntl.F_SETPIPE_SZ, _PIPE)


def _gid(person: Person) -> int:
    if person.gid is not None:
        return person.gid
    return person.uid if person.uid is not None else os.getegid()
