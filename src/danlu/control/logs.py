"""The log of a task: what it printed, over all attempts, as one run of bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from danlu.control.active import Active
from danlu.control.lookup import Lookup
from danlu.control.rooms import Rooms
from danlu.engines.api import TaskRef
from danlu.store.rows import AttemptRow, JobRow

LONGEST_WAIT = 15.0
LONGEST_LINE = 2**20
_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Wanted:
    job: JobRow
    task: int = 0
    stream: str = "out"
    attempt: int | None = None  # None: all attempts, one after the other


@dataclass(frozen=True, slots=True)
class Match:
    offset: int
    line: int
    text: str


class Logs:
    def __init__(self, rooms: Rooms, lookup: Lookup) -> None:
        self._rooms = rooms
        self._lookup = lookup

    async def size(self, wanted: Wanted) -> int:
        refs = await self._refs(wanted)
        return sum([await self._rooms.engine.log_size(ref, wanted.stream) for ref in refs])

    async def read(
        self, wanted: Wanted, offset: int = 0, limit: int | None = None
    ) -> AsyncIterator[bytes]:
        """From `offset` up to the present end."""
        left = limit
        for ref in await self._refs(wanted):
            size = await self._rooms.engine.log_size(ref, wanted.stream)
            if offset >= size:
                offset -= size
                continue
            async for piece in self._rooms.engine.read_log(ref, wanted.stream, offset, left):
                yield piece
                if left is not None:
                    left -= len(piece)
            offset = 0
            if left is not None and left <= 0:
                return

    async def follow(self, wanted: Wanted, offset: int = 0) -> AsyncIterator[bytes]:
        """Goes on until the job (or the one attempt asked for) has ended and all was given."""
        engine, bulletin = self._rooms.engine, self._rooms.bulletin
        done = 0  # attempts whose last byte was given
        while True:
            waiter = bulletin.subscribe(wanted.job.id)
            attempts = await self._attempts(wanted)
            over = await self._is_over(wanted.job.id)
            if done < len(attempts):
                bulletin.unsubscribe(wanted.job.id, waiter)
                attempt = attempts[done]
                ref = TaskRef(attempt.id, wanted.task, wanted.job.id)
                async for piece in self._follow_one(ref, wanted.stream, offset):
                    yield piece
                offset = max(0, offset - await engine.log_size(ref, wanted.stream))
                done += 1
                continue
            if over or (wanted.attempt is not None and done):
                bulletin.unsubscribe(wanted.job.id, waiter)
                return
            await bulletin.wait(wanted.job.id, waiter, LONGEST_WAIT)

    async def tail_offset(self, wanted: Wanted, lines: int) -> int:
        """Where the last `lines` lines begin."""
        size = await self.size(wanted)
        if lines == 0:
            return size
        end, wanted_breaks = size, lines + 1
        while end > 0:
            start = max(0, end - _PIECE)
            piece = b"".join([p async for p in self.read(wanted, start, end - start)])
            if end == size and piece.endswith(b"\n"):
                wanted_breaks = lines + 1
            elif end == size:
                wanted_breaks = lines
            place = len(piece)
            while wanted_breaks and (place := piece.rfind(b"\n", 0, place)) >= 0:
                wanted_breaks -= 1
            if not wanted_breaks:
                return start + place + 1
            end = start
        return 0

    async def search(
        self, wanted: Wanted, text: str, ignore_case: bool, limit: int
    ) -> tuple[list[Match], bool]:
        """Plain text, line by line; a line is shown to 500 characters."""
        needle = text.encode()
        if ignore_case:
            needle = needle.lower()
        matches: list[Match] = []
        number, start, rest = 1, 0, b""
        async for piece in self.read(wanted):
            lines = (rest + piece).split(b"\n")
            rest = lines.pop()
            for line in lines:
                if needle in (line.lower() if ignore_case else line):
                    if len(matches) == limit:
                        return matches, True
                    matches.append(Match(start, number, _shown(line)))
                number += 1
                start += len(line) + 1
            if len(rest) > LONGEST_LINE:  # a line without end is cut, not kept
                if needle in (rest.lower() if ignore_case else rest):
                    if len(matches) == limit:
                        return matches, True
                    matches.append(Match(start, number, _shown(rest)))
                start += len(rest)
                rest = b""
        if rest and needle in (rest.lower() if ignore_case else rest):
            if len(matches) == limit:
                return matches, True
            matches.append(Match(start, number, _shown(rest)))
        return matches, False

    async def _follow_one(self, ref: TaskRef, stream: str, offset: int) -> AsyncIterator[bytes]:
        engine, bulletin = self._rooms.engine, self._rooms.bulletin
        while True:
            # Asked before reading: what is printed between the two is read in the next round.
            waiter = bulletin.subscribe(ref.job_id)
            over = ref.attempt_id not in self._rooms.attempts
            async for piece in engine.read_log(ref, stream, offset):
                offset += len(piece)
                yield piece
            if over:
                bulletin.unsubscribe(ref.job_id, waiter)
                return
            if await engine.log_grew(ref, stream, offset, LONGEST_WAIT):
                bulletin.unsubscribe(ref.job_id, waiter)
            else:
                # The task has ended; its attempt does in a moment.
                await bulletin.wait(ref.job_id, waiter, 0.5)

    async def _refs(self, wanted: Wanted) -> list[TaskRef]:
        attempts = await self._attempts(wanted)
        return [TaskRef(attempt.id, wanted.task, wanted.job.id) for attempt in attempts]

    async def _attempts(self, wanted: Wanted) -> list[AttemptRow]:
        active = self._rooms.jobs.get(wanted.job.id)
        attempts = None if active is None else _all_in_memory(active)
        if attempts is None:
            attempts = await self._lookup.attempts(wanted.job.id)
        if wanted.attempt is None:
            return attempts
        return [attempt for attempt in attempts if attempt.number == wanted.attempt]

    async def _is_over(self, job_id: str) -> bool:
        if job_id in self._rooms.jobs:
            return False  # it leaves when its end is on disk, and that is told
        row = await self._lookup.job(job_id)
        return row is None or row.state.final


def _all_in_memory(job: Active) -> list[AttemptRow] | None:
    """A thousand followers of a job that runs for the first time do not ask the database."""
    if job.row.attempt == 0 and job.attempt is None:
        return []
    return [job.attempt] if job.row.attempt == 1 and job.attempt is not None else None


def _shown(line: bytes) -> str:
    return line[:500].decode("utf-8", "replace").rstrip("\r")
