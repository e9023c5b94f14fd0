"""Saves that are going on, each in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from danlu.engines.api import CannotSave, Saved, SaveEstimate, SaveOrder, SaveProgress, Unreachable
from danlu.engines.local.container.runtimes import Runtime
from danlu.engines.local.container.saving.saver import NotWanted, Saver

_AT_ONCE = 2  # each reads and compresses as fast as it can
_ESTIMATES_AT_ONCE = 4
T = TypeVar("T")


class Saves:
    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_AT_ONCE, "danlu-save")
        self._looking = ThreadPoolExecutor(_ESTIMATES_AT_ONCE, "danlu-save-look")
        self._going: set[asyncio.Future[object]] = set()
        self._savers: set[Saver] = set()

    async def estimate(self, runtime: Runtime, container: str) -> SaveEstimate:
        saver = Saver(runtime, container)
        return await self._run(self._looking, saver, saver.estimate)

    async def save(
        self,
        runtime: Runtime,
        container: str,
        order: SaveOrder,
        progress: Callable[[SaveProgress], None],
    ) -> Saved:
        loop = asyncio.get_running_loop()

        def told(now: SaveProgress) -> None:
            with contextlib.suppress(RuntimeError):  # the server is gone
                loop.call_soon_threadsafe(progress, now)

        saver = Saver(runtime, container)
        return await self._run(self._threads, saver, lambda: saver.save(order, told))

    async def close(self) -> None:
        for saver in list(self._savers):
            saver.cancel()
        if self._going:
            await asyncio.wait(self._going)
        self._threads.shutdown(wait=False)
        self._looking.shutdown(wait=False)

    async def _run(self, threads: ThreadPoolExecutor, saver: Saver, work: Callable[[], T]) -> T:
        """Cancelled, it waits until the thread has noticed: nothing is written after that."""

        def run() -> T:
            try:
                return work()
            finally:
                saver.close()

        self._savers.add(saver)
        future = asyncio.get_running_loop().run_in_executor(threads, run)
        self._going.add(future)  # type: ignore[arg-type]
        future.add_done_callback(self._going.discard)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            saver.cancel()
            with contextlib.suppress(NotWanted, CannotSave, Unreachable):
                await future
            raise
        except NotWanted:
            raise Unreachable("the server is stopping") from None
        finally:
            self._savers.discard(saver)
