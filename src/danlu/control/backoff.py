"""Exponential backoff."""

from __future__ import annotations

import asyncio
import contextlib


class Backoff:
    """Each `wait()` is twice as long as the one before."""

    def __init__(self, first: float = 0.1, longest: float = 5.0) -> None:
        self.pause = first  # seconds of the next wait
        self._first = first
        self._longest = longest

    async def wait(self, unless: asyncio.Event | None = None) -> None:
        """`unless`: ends the wait at once."""
        pause = self.pause
        self.pause = min(pause * 2, self._longest)
        if unless is None:
            await asyncio.sleep(pause)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await unless.wait()

    def reset(self) -> None:
        """Call after a success."""
        self.pause = self._first
