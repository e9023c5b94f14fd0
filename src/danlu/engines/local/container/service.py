"""The local engine's containers: which runtime there is, its images, and what was left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time

from danlu.engines.api import Unreachable
from danlu.engines.local.config import LocalConfig
from danlu.engines.local.container import holder, refs, shape
from danlu.engines.local.container.daemon import Daemon
from danlu.engines.local.container.images import Images
from danlu.engines.local.container.pulls import Progress
from danlu.engines.local.container.runtimes import Runtime, Search, find
from danlu.engines.local.container.wire import Away, Failed

_LOOK_EVERY = 30.0  # seconds between looks for a runtime that was not there
_TIDY_PATIENCE = 20.0


class Containers:
    def __init__(self, config: LocalConfig, tag: str) -> None:
        self._config = config
        self._tag = tag
        self._looked = 0.0
        self._discarding: set[asyncio.Task[None]] = set()
        self.search = Search(None)
        self.images = Images(config.containers)

    @property
    def runtime(self) -> Runtime | None:
        return self.search.runtime

    async def close(self) -> None:
        await self.images.close()
        if self._discarding:
            await asyncio.wait(self._discarding)

    async def look(self, every: float = _LOOK_EVERY) -> bool:
        """Looks for a runtime while there is none. True: one was found."""
        if self.runtime is not None or time.monotonic() < self._looked + every:
            return False
        self.search = await asyncio.to_thread(find, self._config.containers)
        self._looked = time.monotonic()
        if self.runtime is None:
            return False
        holder.put(shape.holder_path(self._config.data), os.uname().machine)
        return True

    def problem(self, image: str) -> tuple[str, str] | None:
        """What is wrong with an image's name, if anything."""
        try:
            refs.parse(image)
        except refs.BadName as wrong:
            return wrong.en, wrong.zh
        return None

    async def prepare(self, image: str, progress: Progress) -> None:
        if self.runtime is None:
            raise Unreachable(self.search.en)
        await self.images.prepare(self.runtime, image, progress)

    def discard(self, names: list[str]) -> None:
        """Remove containers that have ended, soon. What a crash leaves is found by a sweep."""
        for name in names:
            task = asyncio.create_task(asyncio.to_thread(self.remove, name))
            self._discarding.add(task)
            task.add_done_callback(self._discarding.discard)

    # -- for a thread -------------------------------------------------------------------------

    def remove(self, name: str) -> None:
        """With all that runs in it. Not now? Then the sweep does it."""
        if self.runtime is not None and name:
            daemon = self._daemon(self.runtime)
            with contextlib.suppress(Away, Failed):
                daemon.remove(name)
            daemon.close()

    def sweep(self, keep: frozenset[str]) -> int:
        """Removes containers of attempts nobody wants; how many there were."""
        if self.runtime is None:
            return 0
        daemon = self._daemon(self.runtime)
        count = 0
        with contextlib.suppress(Away, Failed):  # the next sweep comes in a minute
            for name, attempt in daemon.containers(self._tag).items():
                if attempt not in keep:
                    with contextlib.suppress(Failed):
                        count += daemon.remove(name)
        daemon.close()
        return count

    def _daemon(self, runtime: Runtime) -> Daemon:
        return Daemon(runtime.kind, runtime.socket, _TIDY_PATIENCE)
