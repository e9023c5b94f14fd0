"""The log of a task: its output over all attempts, as one byte stream with secrets masked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from danlu.control.context import Context
from danlu.control.live_job import LiveJob
from danlu.control.log_search import Found, Scan, Search
from danlu.control.lookup import Lookup
from danlu.control.masking import MaskedStream, mask_of
from danlu.engines.api import Engine, TaskRef
from danlu.store.rows import AttemptRow, JobRow

LONGEST_WAIT = 15.0
MOST_SEARCHED = 256 * 2**20  # bytes per search; the next one continues there
_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Wanted:
    job: JobRow
    task: int = 0
    stream: str = "out"
    attempt: int | None = None  # None: all attempts in order
    secrets: frozenset[str] = frozenset()  # names of those to mask


class Logs:
    def __init__(self, context: Context, lookup: Lookup) -> None:
        self._context = context
        self._lookup = lookup

    async def size(self, wanted: Wanted) -> int:
        refs = await self._refs(wanted)
        return sum([await engine.log_size(ref, wanted.stream) for engine, ref in refs])

    async def read(
        self, wanted: Wanted, offset: int = 0, limit: int | None = None
    ) -> AsyncIterator[bytes]:
        """From `offset` to the current end."""
        mask = await mask_of(self._context.store, wanted.job.owner, wanted.secrets)
        if not mask:
            async for piece in self._read(wanted, offset, limit):
                yield piece
            return
        # Both ends may cut a value in two: read a little more and leave it out.
        start = max(0, offset - mask.reach)
        end = None if limit is None else offset - start + limit + mask.reach
        masked = _masked(self._read(wanted, start, end), MaskedStream(mask))
        async for piece in _part(masked, offset - start, limit):
            yield piece

    async def _read(self, wanted: Wanted, offset: int, limit: int | None) -> AsyncIterator[bytes]:
        left = limit
        for engine, ref in await self._refs(wanted):
            size = await engine.log_size(ref, wanted.stream)
            if offset >= size:
                offset -= size
                continue
            async for piece in engine.read_log(ref, wanted.stream, offset, left):
                yield piece
                if left is not None:
                    left -= len(piece)
            offset = 0
            if left is not None and left <= 0:
                return

    async def follow(self, wanted: Wanted, offset: int = 0) -> AsyncIterator[bytes]:
        """Yields output until the job, or the requested attempt, has ended."""
        skip = 0
        if wanted.secrets:
            mask = await mask_of(self._context.store, wanted.job.owner, wanted.secrets)
            skip = min(offset, mask.reach)
        async for piece in _part(self._follow(wanted, offset - skip), skip, None):
            yield piece

    async def _follow(self, wanted: Wanted, offset: int) -> AsyncIterator[bytes]:
        notifier = self._context.notifier
        done = 0  # attempts that were read to the end
        while True:
            waiter = notifier.subscribe(wanted.job.id)
            attempts = await self._attempts(wanted)
            over = await self._is_over(wanted.job.id)
            if done < len(attempts):
                notifier.unsubscribe(wanted.job.id, waiter)
                engine, ref = self._ref(wanted, attempts[done])
                async for piece in self._follow_one(engine, ref, wanted, offset):
                    yield piece
                offset = max(0, offset - await engine.log_size(ref, wanted.stream))
                done += 1
                continue
            if over or (wanted.attempt is not None and done):
                notifier.unsubscribe(wanted.job.id, waiter)
                return
            await notifier.wait(wanted.job.id, waiter, LONGEST_WAIT)

    async def tail_offset(self, wanted: Wanted, lines: int) -> int:
        """The offset of the last `lines` lines."""
        size = await self.size(wanted)
        if lines == 0:
            return size
        end, wanted_breaks = size, lines + 1
        while end > 0:
            start = max(0, end - _PIECE)
            piece = b"".join([p async for p in self._read(wanted, start, end - start)])
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

    async def search(self, wanted: Wanted, search: Search, user: str) -> Found:
        """Matches plain text by line; each line is truncated to 500 characters.

        Stops at the limit or budget and returns where to continue.
        """
        scan = Scan(search)
        budget = MOST_SEARCHED
        async with self._context.workers.turn(user) as turn:
            async for piece in self.read(wanted, search.offset):
                if await turn.run(scan.feed, piece):
                    return scan.found(done=False)
                budget -= len(piece)
                if budget <= 0 or turn.over:
                    return scan.found(done=False)
            done = not await turn.run(scan.finish)
        return scan.found(done)

    async def _follow_one(
        self, engine: Engine, ref: TaskRef, wanted: Wanted, offset: int
    ) -> AsyncIterator[bytes]:
        notifier, stream = self._context.notifier, wanted.stream
        masked: MaskedStream | None = None
        while True:
            # Checked before reading: later output is read in the next round.
            waiter = notifier.subscribe(ref.job_id)
            over = ref.attempt_id not in self._context.attempts
            async for piece in engine.read_log(ref, stream, offset):
                offset += len(piece)
                if wanted.secrets and masked is None:
                    # Not before there is output: by then the task has its values.
                    owner = wanted.job.owner
                    masked = MaskedStream(await mask_of(self._context.store, owner, wanted.secrets))
                yield piece if masked is None else masked.feed(piece)
            if masked is not None:
                yield masked.end() if over else masked.pause()
            if over:
                notifier.unsubscribe(ref.job_id, waiter)
                return
            if await engine.log_grew(ref, stream, offset, LONGEST_WAIT):
                notifier.unsubscribe(ref.job_id, waiter)
            else:
                # The task has ended; its attempt will end in a moment.
                await notifier.wait(ref.job_id, waiter, 0.5)

    async def _refs(self, wanted: Wanted) -> list[tuple[Engine, TaskRef]]:
        return [self._ref(wanted, attempt) for attempt in await self._attempts(wanted)]

    def _ref(self, wanted: Wanted, attempt: AttemptRow) -> tuple[Engine, TaskRef]:
        ref = TaskRef(attempt.id, wanted.task, wanted.job.id, attempt.handle)
        return self._context.engines.named(attempt.engine), ref

    async def _attempts(self, wanted: Wanted) -> list[AttemptRow]:
        active = self._context.jobs.get(wanted.job.id)
        attempts = None if active is None else _all_in_memory(active)
        if attempts is None:
            attempts = await self._lookup.attempts(wanted.job.id)
        if wanted.attempt is None:
            return attempts
        return [attempt for attempt in attempts if attempt.number == wanted.attempt]

    async def _is_over(self, job_id: str) -> bool:
        if job_id in self._context.jobs:
            return False  # it leaves when its end is on disk, and that is told
        row = await self._lookup.job(job_id)
        return row is None or row.state.final


async def _masked(pieces: AsyncIterator[bytes], masked: MaskedStream) -> AsyncIterator[bytes]:
    async for piece in pieces:
        yield masked.feed(piece)
    yield masked.end()


async def _part(pieces: AsyncIterator[bytes], skip: int, limit: int | None) -> AsyncIterator[bytes]:
    async for piece in pieces:
        shown = piece[skip : None if limit is None else skip + limit]
        skip = max(0, skip - len(piece))
        if shown:
            yield shown
        if limit is not None:
            limit -= len(shown)
            if limit <= 0:
                return


def _all_in_memory(job: LiveJob) -> list[AttemptRow] | None:
    """Spares the database from a thousand followers of a job in its first attempt."""
    if job.row.attempt == 0 and job.attempt is None:
        return []
    return [job.attempt] if job.row.attempt == 1 and job.attempt is not None else None
