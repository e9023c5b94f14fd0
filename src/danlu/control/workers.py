"""Threads for work whose duration depends on user input, so that nobody else waits for it.

Each user runs one piece at a time, and the number of threads and the time per user are limited;
exceeding the budget is an error.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar

from danlu.access.errors import TooMany

THREADS = 2
MOST_WAITING = 8  # per user
SECONDS = 10.0
T = TypeVar("T")


class Turn:
    """A user's time on the workers."""

    def __init__(self, pool: ThreadPoolExecutor, seconds: float) -> None:
        self._pool = pool
        self._left = seconds

    @property
    def over(self) -> bool:
        """The budget is used up."""
        return self._left <= 0

    async def run(self, work: Callable[..., T], *values: object) -> T:
        """Runs one short piece, since a running thread cannot be stopped."""
        begun = time.monotonic()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work, *values)
        finally:
            self._left -= time.monotonic() - begun


class Workers:
    def __init__(self, threads: int = THREADS) -> None:
        self._pool = ThreadPoolExecutor(threads, "danlu-worker")
        self._turns: dict[str, asyncio.Lock] = {}
        self._asked: Counter[str] = Counter()

    @asynccontextmanager
    async def turn(
        self, user: str, seconds: float = SECONDS, patient: bool = False
    ) -> AsyncIterator[Turn]:
        """`patient`: wait as long as necessary. Raises TooMany."""
        if not patient and self._asked[user] > MOST_WAITING:
            raise TooMany(seconds)
        self._asked[user] += 1
        lock = self._turns.setdefault(user, asyncio.Lock())
        try:
            async with lock:
                yield Turn(self._pool, seconds)
        finally:
            self._asked[user] -= 1
            if not self._asked[user]:
                del self._asked[user], self._turns[user]

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
