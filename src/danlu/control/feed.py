"""What happens, as it is committed, to any number of listeners.

One reader asks the database, however many listen. The latest events are kept in memory; a listener
keeps nothing but its place, and one that is far behind reads from the database at its own pace.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial

from danlu.control.rooms import Rooms, log
from danlu.store import events as event_store
from danlu.store.errors import StoreError
from danlu.store.feed import Happening, Stretch, stretch

KEPT = 2000
PIECE = 200
GATHER = 0.02  # seconds in which what happens is told together
LOOK = 1.0  # seconds after which the database is asked even if nobody posted anything


class Feed:
    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._latest: deque[Happening] = deque(maxlen=KEPT)
        self._floor = 0  # everything after this one, up to `_upto`, is in `_latest`
        self._upto: int | None = None
        self._listeners = 0
        self._pump: asyncio.Task[None] | None = None
        self._waiters: set[asyncio.Future[None]] = set()

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """While somebody does, the database is watched."""
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
        """The last event there is."""
        return await self._rooms.store.read(event_store.last_seq)

    async def after(self, seq: int, job_ids: Sequence[str] = ()) -> Stretch:
        """The next events, possibly none; where some jobs are named, others may be among them."""
        if self._upto is None or seq < self._floor:
            return await self._rooms.store.read(lambda tx: stretch(tx, seq, PIECE, job_ids))
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
        """Ask before looking, then wait: nothing between the two is missed."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(future)
        return future

    async def wait(self, waiter: asyncio.Future[None], longest: float) -> bool:
        """Whether something happened in that time."""
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
        with self._rooms.bulletin.overhearing(news):
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
                self._tell()  # also where nothing was written: nodes and cards change, too

    async def _read(self) -> None:
        if self._upto is None:
            self._floor = self._upto = await self.now()
        while True:
            last = self._upto
            found = await self._rooms.store.read(partial(stretch, after=last, limit=PIECE))
            if found.upto <= last:
                return
            overflow = len(self._latest) + len(found.happenings) - KEPT
            for _ in range(max(0, overflow)):
                self._floor = self._latest.popleft().seq
            self._latest.extend(found.happenings)
            self._upto = found.upto
            self._tell()

    def _tell(self) -> None:
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
