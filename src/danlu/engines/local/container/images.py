"""The images of a machine: there, or fetched once for everybody who waits for them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from danlu.engines.api import ImageProgress, NoImage, Unreachable
from danlu.engines.local.config import ContainerConfig, Registry
from danlu.engines.local.container import refs
from danlu.engines.local.container.daemon import Daemon
from danlu.engines.local.container.pulls import Progress, Pull
from danlu.engines.local.container.runtimes import Runtime
from danlu.engines.local.container.wire import Away, Failed

_KNOWN_PATIENCE = 30.0  # seconds a daemon has to say whether it has an image
_PULL_PATIENCE = 3600.0  # seconds without any news of a pull
_AT_ONCE = 8


class Images:
    def __init__(self, config: ContainerConfig) -> None:
        self._registries = config.registries
        self._always = config.pull == "always"
        self._pulls: dict[str, _Shared] = {}
        # Threads of their own: pulls are long, and others need the usual ones.
        self._threads = ThreadPoolExecutor(_AT_ONCE, "danlu-pull")

    async def prepare(self, runtime: Runtime, image: str, progress: Progress) -> None:
        try:
            ref = refs.parse(image)
        except refs.BadName as error:
            raise NoImage("image_not_found", f"{image} {error}") from None
        there = await asyncio.to_thread(self._is_there, runtime, image)
        if there and not self._always:
            return
        shared = self._pulls.get(image)
        if shared is None or shared.given_up:
            daemon = Daemon(runtime.kind, runtime.socket, _PULL_PATIENCE)
            shared = self._begin(image, Pull(daemon, image, ref))
        try:
            await shared.wait(progress)
        except NoImage:
            if not there:
                raise  # else what there is will do

    def _begin(self, image: str, pull: Pull) -> _Shared:
        shared = _Shared(pull, self._registries, self._threads)
        self._pulls[image] = shared

        def ended(_: object) -> None:
            if self._pulls.get(image) is shared:  # else it was given up, and begun anew since
                del self._pulls[image]

        shared.work.add_done_callback(ended)
        return shared

    async def close(self) -> None:
        for shared in list(self._pulls.values()):
            shared.cancel()
            with contextlib.suppress(NoImage, Unreachable):
                await shared.work
        self._threads.shutdown(wait=False)

    def _is_there(self, runtime: Runtime, image: str) -> bool:
        daemon = Daemon(runtime.kind, runtime.socket, _KNOWN_PATIENCE)
        try:
            names = refs.names_of(image, runtime.kind, self._registries)
            return any(daemon.image(name) for name in names)
        except (Away, Failed) as error:
            raise Unreachable(f"{runtime.kind} does not answer: {error}") from None
        finally:
            daemon.close()


class _Shared:
    """A pull that several jobs may wait for; it ends when nobody does any more."""

    def __init__(
        self, pull: Pull, registries: Sequence[Registry], threads: ThreadPoolExecutor
    ) -> None:
        self._pull = pull
        self.given_up = False  # nobody may join it any more; it ends when its thread sees it
        self._listeners: list[Progress] = []
        self._last: ImageProgress | None = None
        loop = asyncio.get_running_loop()

        def told(progress: ImageProgress) -> None:
            with contextlib.suppress(RuntimeError):  # the server is gone
                loop.call_soon_threadsafe(self._tell, progress)

        self.work = loop.run_in_executor(threads, pull.run, registries, told)
        self.work.add_done_callback(_look_at)

    async def wait(self, progress: Progress) -> None:
        self._listeners.append(progress)
        if self._last is not None:
            progress(self._last)
        try:
            await asyncio.shield(self.work)
        finally:
            self._listeners.remove(progress)
            if not self._listeners and not self.work.done():
                self.cancel()

    def cancel(self) -> None:
        self.given_up = True
        self._pull.cancel()

    def _tell(self, progress: ImageProgress) -> None:
        self._last = progress
        for listener in list(self._listeners):
            listener(progress)


def _look_at(work: asyncio.Future[None]) -> None:
    """Nobody may be waiting for it any more: its trouble is nobody's."""
    if not work.cancelled():
        work.exception()
