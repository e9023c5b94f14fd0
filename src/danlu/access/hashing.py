"""Hashing of passwords: slow and large on purpose, so one at a time and never on the event loop.

Those who have signed in from there before go first and have places of their own: strangers who
guess cannot take them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from danlu.access.errors import TooMany
from danlu.access.passwords import hash_password, one_time_password, verify_password

MOST_WAITING = 16  # of those who are known, and of strangers
T = TypeVar("T")


class Hashing:
    def __init__(self) -> None:
        self._busy = False
        self._known: deque[asyncio.Future[None]] = deque()
        self._strangers: deque[asyncio.Future[None]] = deque()
        self._nobody = ""

    async def hash(self, password: str) -> str:
        return await self._in_turn(False, hash_password, password)

    async def verify(self, stored: str | None, password: str, known: bool = False) -> bool:
        """The same work where there is nothing to compare with: the answer's time tells nothing.

        Raises TooMany."""
        if not self._nobody:
            self._nobody = await self._in_turn(known, hash_password, one_time_password())
        good = await self._in_turn(known, verify_password, stored or self._nobody, password)
        return good and stored is not None

    async def _in_turn(self, known: bool, work: Callable[..., T], *words: str) -> T:
        await self._turn(self._known if known else self._strangers)
        try:
            return await asyncio.to_thread(work, *words)
        finally:
            self._next()

    async def _turn(self, queue: deque[asyncio.Future[None]]) -> None:
        if not self._busy:
            self._busy = True
            return
        if len(queue) >= MOST_WAITING:
            raise TooMany(1.0)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._next()  # it was just given to us
            else:
                queue.remove(turn)
            raise

    def _next(self) -> None:
        for queue in (self._known, self._strangers):
            if queue:
                queue.popleft().set_result(None)
                return
        self._busy = False
