"""Background tasks: kept referenced, logged when they fail, cancelled on shutdown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from danlu.control.context import log
from danlu.store.errors import Deposed


class Background:
    def __init__(self, deposed: asyncio.Event) -> None:
        self._deposed = deposed
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def forever(self, loop: Callable[[], Awaitable[None]]) -> None:
        self.spawn(_again_and_again(loop))

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            if isinstance(error, Deposed):
                self._deposed.set()
            else:
                log.error("a part of the control loop failed", exc_info=error)


async def _again_and_again(loop: Callable[[], Awaitable[None]]) -> None:
    """Logs an unexpected error and keeps the loop running."""
    while True:
        try:
            await loop()
        except Deposed:
            raise
        except Exception:
            log.exception("a part of the control loop failed; it starts again")
        await asyncio.sleep(1.0)
