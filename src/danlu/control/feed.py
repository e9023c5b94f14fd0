"""Sends committed events to any number of listeners.

A single reader polls the database for all of them. Recent events are kept in memory; a listener
only keeps its position, and one that is far behind reads from the database at its own pace.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial

from danlu.control.context import Context, log
from danlu.store import events as event_store
from danlu.store.errors import StoreError
from danlu.store.feed import Happening, Stretch, stretch

KEPT = 2000
PIECE = 200
GATHER = 0.02  # seconds; events within this time are sent together
LOOK = 1.0  # seconds between polls without a notification


class Feed:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._latest: deque[Happening] = deque(maxlen=KEPT)
        self._floor = 0  # everything after this one, up to `_upto`, is in `_latest`
        self._upto: int | None = None
        self._listeners = 0
        self._pump: asyncio.Task[None] | None = None
        self._waiters: set[asyncio.Future[None]] = set()
        self.told = 0  # how often listeners were woken

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """The database is polled while there are listeners."""
        self._listeners += 1
        if self._pump is None:
            self._pump = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            self._listeners -= 1
            if not self._listeners and self._pump is not None:
                self._pump.cancel()
                self._pump = None
                self._latest.clear()
                self._floor, self._upto = 0, None

    async def now(self) -> int:
        """The latest event."""
        return await self._context.store.read(event_store.last_seq)

    async def after(self, seq: int, job_ids: Sequence[str] = ()) -> Stretch:
        """The next events, possibly none. The result may include jobs that were not asked for."""
        if self._upto is None or seq < self._floor:
            return await self._context.store.read(lambda tx: stretch(tx, seq, PIECE, job_ids))
        found: list[Happening] = []
        for happening in reversed(self._latest):
            if happening.seq <= seq:
                break
            found.append(happening)
        found = found[::-1]
        if len(found) <= PIECE:
            return Stretch(found, max(seq, self._upto))
        return Stretch(found[:PIECE], found[PIECE - 1].seq)

    def waiter(self) -> asyncio.Future[None]:
        """Call before reading, then wait on it, so that nothing in between is missed."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(future)
        return future

    async def wait(self, waiter: asyncio.Future[None], longest: float) -> bool:
        """Returns whether something happened in that time."""
        try:
            await asyncio.wait((waiter,), timeout=longest)
            return waiter.done()
        finally:
            self.forget(waiter)

    def forget(self, waiter: asyncio.Future[None]) -> None:
        self._waiters.discard(waiter)
        waiter.cancel()

    async def _watch(self) -> None:
        news = asyncio.Event()
        with self._context.notifier.overhearing(news):
            while True:
                try:
                    await self._read()
                except StoreError as trouble:
                    log.warning("events cannot be read yet: %s", trouble)
                    await asyncio.sleep(LOOK)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), LOOK)
                await asyncio.sleep(GATHER)
                news.clear()
                self._tell()  # even if nothing was written: nodes and GPUs change too

    async def _read(self) -> None:
        if self._upto is None:
            self._floor = self._upto = await self.now()
        while True:
            last = self._upto
            found = await self._context.store.read(partial(stretch, after=last, limit=PIECE))
            if found.upto <= last:
                return
            overflow = len(self._latest) + len(found.happenings) - KEPT
            for _ in range(max(0, overflow)):
                self._floor = self._latest.popleft().seq
            self._latest.extend(found.happenings)
            self._upto = found.upto
            self._tell()

    def _tell(self) -> None:
        self.told += 1
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
