"""The store: what is acknowledged is on disk, and many requests share one commit."""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import Callable
from typing import Any, TypeVar

from danlu.store import leader, meta, migrate
from danlu.store.calls import Call, Gate, Phase
from danlu.store.database import Database, database
from danlu.store.errors import closed, too_late
from danlu.store.health import Health, Pulse
from danlu.store.readers import Readers
from danlu.store.tx import Tx
from danlu.store.writer import Writer

T = TypeVar("T")
WATCH_SECONDS = 0.5


class Store:
    """Belongs to one event loop. Functions passed to it run in other threads, possibly twice (after
    a lost connection, or when another one in the same transaction fails): they must only use their
    `Tx` and return values.
    """

    def __init__(self, db: Database, deadline: float, readers: int) -> None:
        self._database = db
        self._deadline = deadline
        self._pulse = Pulse()
        self._gate = Gate()
        self._writer = Writer(db, self._pulse, self._gate, deadline)
        self._readers = Readers(db, self._writer.probe, deadline, readers)
        self._pending: list[Call] = []
        self._watching = False
        self._closed = False

    @classmethod
    def open(cls, url: str, *, deadline: float = 10.0, readers: int = 3) -> Store:
        """Creates or upgrades the tables. Raises StoreError."""
        db = database(url)
        migrate.prepare(db)
        return cls(db, deadline, readers)

    @property
    def database(self) -> Database:
        """For callers that need their own connection."""
        return self._database

    @property
    def where(self) -> str:
        """The database's name for messages, without a password."""
        return self._database.where

    @property
    def health(self) -> Health:
        return self._pulse.health

    async def write(self, op: Callable[[Tx], T]) -> T:
        """Runs `op` in a write transaction and returns once it is committed and on disk.

        Raises StoreAway if that was not possible in time (then it will not happen later either),
        StoreFull or StoreReadOnly at once, Deposed when another server leads, and whatever `op`
        raises. It waits longer only if the answer to a commit was lost: until the database can
        tell.
        """
        done: T = await self._wait_for(Call(op, self._deadline), self._writer.put)
        return done

    async def read(self, query: Callable[[Tx], T]) -> T:
        """Runs `query` on one snapshot of the committed data."""
        found: T = await self._wait_for(Call(query, self._deadline), self._readers.put)
        return found

    async def lead(self, holder: str = "") -> int:
        """Takes over leadership. From now on every write checks that no other server has."""
        name = holder or platform.node()
        call = Call(lambda tx: leader.take(tx, name), self._deadline, leads=True)
        epoch: int = await self._wait_for(call, self._writer.put)
        return epoch

    async def installation(self) -> str:
        """The installation's id, created once and kept in the database."""
        found: str | None = await self.read(meta.installation)
        return await self.write(meta.make_installation) if found is None else found

    async def close(self) -> None:
        """Completes queued calls, without waiting for a database that is away."""
        if self._closed:
            return
        self._closed = True
        self._readers.close()
        self._writer.close()
        await asyncio.to_thread(self._join)

    def _join(self) -> None:
        self._readers.join(self._deadline)
        self._writer.join(self._deadline)
        self._database.close()

    async def _wait_for(self, call: Call, put: Callable[[Call], None]) -> Any:
        if self._closed:
            raise closed()
        self._pending.append(call)
        put(call)
        if not self._watching:
            self._watching = True
            call.loop.call_later(WATCH_SECONDS, self._watch)
        try:
            return await call.future
        except asyncio.CancelledError:
            self._gate.drop(call)
            raise

    def _watch(self) -> None:
        """Stops waiting if a thread hangs in a database that neither answers nor fails."""
        late = time.monotonic() - WATCH_SECONDS
        for call in self._pending:
            if call.deadline < late and self._gate.drop(call) and not call.future.done():
                problem = self._pulse.health.problem
                call.future.set_exception(too_late(self.where, self._deadline, problem))
        self._pending = [call for call in self._pending if call.phase is not Phase.OVER]
        self._watching = bool(self._pending)
        if self._pending:
            self._pending[0].loop.call_later(WATCH_SECONDS, self._watch)
