"""The local engine's containers: their runtime, images and cleanup."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from danlu.engines.api import PullAccess, StoredImage, Unreachable
from danlu.engines.local.config import LocalConfig
from danlu.engines.local.container import holder, refs, shape, stored
from danlu.engines.local.container.daemon import Daemon
from danlu.engines.local.container.images import Images
from danlu.engines.local.container.pulls import Progress
from danlu.engines.local.container.runtimes import Runtime, Search, find
from danlu.engines.local.container.saving.held import Held
from danlu.engines.local.container.wire import Away, Failed
from danlu.spec.text import Text

if TYPE_CHECKING:
    from danlu.engines.local.container.saving.saves import Saves

_LOOK_EVERY = 30.0  # seconds between searches for a missing runtime
_TIDY_PATIENCE = 20.0


class Containers:
    def __init__(self, config: LocalConfig, tag: str) -> None:
        self._config = config
        self._tag = tag
        self._looked = 0.0
        self._kept_at: str | None = None
        self._discarding: set[asyncio.Task[None]] = set()
        self.search = Search(None)
        self.images = Images(config.containers)
        self._held = Held(config.data / "held-containers")

    @property
    def runtime(self) -> Runtime | None:
        return self.search.runtime

    @cached_property
    def saves(self) -> Saves:
        """Few containers are ever saved: what that takes is loaded with the first one."""
        from danlu.engines.local.container.saving.saves import Saves

        return Saves()

    async def close(self) -> None:
        if "saves" in vars(self):
            await self.saves.close()
        await self.images.close()
        if self._discarding:
            await asyncio.wait(self._discarding)

    async def look(self, every: float = _LOOK_EVERY) -> bool:
        """Searches for a runtime if there is none yet. True: found one."""
        if self.runtime is not None or time.monotonic() < self._looked + every:
            return False
        self.search = await asyncio.to_thread(find, self._config.containers)
        self._looked = time.monotonic()
        if self.runtime is None:
            return False
        holder.put(shape.holder_path(self._config.data), os.uname().machine)
        return True

    def problem(self, image: str) -> Text | None:
        """What is wrong with an image name, if anything."""
        try:
            refs.parse(image)
        except refs.BadName as error:
            return error.text
        return None

    async def prepare(self, image: str, progress: Progress) -> None:
        if self.runtime is None:
            raise Unreachable(self.search.missing.en)
        await self.images.prepare(self.runtime, image, progress)

    async def prepare_own(self, image: str, access: PullAccess | None, progress: Progress) -> None:
        """Of the platform's own registry."""
        if self.runtime is None:
            raise Unreachable(self.search.missing.en)
        await self.images.prepare_own(self.runtime, image, access, progress)

    def hold(self, name: str) -> None:
        """It stays when its task ends, also over a restart, until it is let go of."""
        self._held.add(name)

    def is_held(self, name: str) -> bool:
        return name in self._held

    def let_go(self, name: str, ended: bool) -> None:
        if self._held.remove(name) and ended:
            self.discard([name])

    async def folder(self) -> tuple[str, str] | None:
        """The runtime, and where it keeps images. Asked once."""
        runtime = self.runtime
        if runtime is not None and self._kept_at is None:
            with contextlib.suppress(Away, Failed):
                self._kept_at = await asyncio.to_thread(stored.folder_of, runtime)
        return None if runtime is None or not self._kept_at else (runtime.kind, self._kept_at)

    async def stored(self) -> tuple[StoredImage, ...]:
        if self.runtime is None:
            return ()
        try:
            return await asyncio.to_thread(stored.images_of, self.runtime)
        except (Away, Failed) as error:
            raise Unreachable(f"{self.runtime.kind} does not respond: {error}") from None

    async def remove_image(self, image: StoredImage, names: Sequence[str]) -> str:
        if self.runtime is None:
            return self.search.missing.en
        return await self.images.remove(self.runtime, image, names)

    def names_of(self, image: str) -> tuple[str, ...]:
        kind = self.runtime.kind if self.runtime is not None else "docker"
        try:
            return tuple(refs.names_of(image, kind, self._config.containers.registries))
        except refs.BadName:
            return ()

    def discard(self, names: list[str]) -> None:
        """Removes ended containers in the background. A sweep finds what a crash leaves."""
        for name in names:
            if name in self._held:
                continue
            task = asyncio.create_task(asyncio.to_thread(self.remove, name))
            self._discarding.add(task)
            task.add_done_callback(self._discarding.discard)

    # -- for a thread -------------------------------------------------------------------------

    def remove(self, name: str) -> None:
        """Kills and removes a container; if that fails, the next sweep does."""
        if self.runtime is not None and name and name not in self._held:
            daemon = self._daemon(self.runtime)
            with contextlib.suppress(Away, Failed):
                daemon.remove(name)
            daemon.close()

    def sweep(self, keep: Callable[[], frozenset[str]]) -> int:
        """Removes containers of attempts that are not live; returns how many."""
        if self.runtime is None:
            return 0
        daemon = self._daemon(self.runtime)
        count = 0
        with contextlib.suppress(Away, Failed):  # the next sweep is in a minute
            found = daemon.containers(self._tag)
            live = keep()
            for name, attempt in found.items():
                if attempt not in live and name not in self._held:
                    with contextlib.suppress(Failed):
                        count += daemon.remove(name)
        daemon.close()
        return count

    def _daemon(self, runtime: Runtime) -> Daemon:
        return Daemon(runtime.kind, runtime.socket, _TIDY_PATIENCE)
