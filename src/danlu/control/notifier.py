"""Wakes up those who wait for a change of a job."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator


class Notifier:
    def __init__(self) -> None:
        self._waiters: dict[str, set[asyncio.Future[None]]] = {}
        self._ears: set[asyncio.Event] = set()

    def post(self, job_id: str) -> None:
        for waiter in self._waiters.pop(job_id, ()):
            if not waiter.done():
                waiter.set_result(None)
        for ear in self._ears:
            ear.set()

    @contextlib.contextmanager
    def overhearing(self, ear: asyncio.Event) -> Iterator[None]:
        """The event is set whenever anything is posted."""
        self._ears.add(ear)
        try:
            yield
        finally:
            self._ears.discard(ear)

    def subscribe(self, job_id: str) -> asyncio.Future[None]:
        """Call before reading the job, then wait, so that nothing in between is missed."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(job_id, set()).add(waiter)
        return waiter

    def unsubscribe(self, job_id: str, waiter: asyncio.Future[None]) -> None:
        waiters = self._waiters.get(job_id)
        if waiters is not None:
            waiters.discard(waiter)
            if not waiters:
                self._waiters.pop(job_id, None)

    async def wait(self, job_id: str, waiter: asyncio.Future[None], longest: float | None) -> bool:
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(waiter, longest)
                return True
            return False
        finally:
            self.unsubscribe(job_id, waiter)
