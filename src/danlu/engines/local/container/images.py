"""The images of a machine; a missing one is pulled once for all jobs that wait for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from danlu.engines.api import ImageProgress, NodeImage, NoImage, PullAccess, Unreachable
from danlu.engines.local.config import ContainerConfig, Registry
from danlu.engines.local.container import refs
from danlu.engines.local.container.daemon import Daemon, quote
from danlu.engines.local.container.pulls import Progress, Pull
from danlu.engines.local.container.runtimes import Runtime
from danlu.engines.local.container.wire import Away, Failed

_KNOWN_PATIENCE = 30.0  # seconds to answer whether an image exists
_PULL_PATIENCE = 3600.0  # seconds without progress of a pull
_AT_ONCE = 8


class Images:
    def __init__(self, config: ContainerConfig) -> None:
        self._config = config
        self._registries = config.registries
        self._always = config.pull == "always"
        self._pulls: dict[str, _Shared] = {}
        # A separate pool: pulls are long and would block the default one.
        self._threads = ThreadPoolExecutor(_AT_ONCE, "danlu-pull")

    async def prepare(self, runtime: Runtime, image: str, progress: Progress) -> None:
        ref = _parsed(image)
        there = await asyncio.to_thread(self._is_there, runtime, image)
        if there and not self._always:
            return
        allowed = refs.may_come_from(ref.host, self._config.images_from, self._registries)
        if not allowed and not refs.mirrors_of(ref, self._registries):
            raise NoImage("image_denied", f"{image}: {_not_allowed(ref.host)}")
        shared = self._pulls.get(image)
        if shared is None or shared.given_up:
            daemon = Daemon(runtime.kind, runtime.socket, _PULL_PATIENCE)
            shared = self._begin(image, Pull(daemon, image, ref, mirrors_only=not allowed))
        try:
            await shared.wait(progress)
        except NoImage:
            if not there:
                raise  # otherwise use the image we have

    async def find(self, runtime: Runtime, images: Sequence[str]) -> dict[str, NodeImage]:
        """Those of these images that the runtime has."""
        return await asyncio.to_thread(self._find, runtime, images)

    async def inspect(self, runtime: Runtime, image: str) -> dict[str, Any] | None:
        return await asyncio.to_thread(self._inspect, runtime, image)

    def _find(self, runtime: Runtime, images: Sequence[str]) -> dict[str, NodeImage]:
        with _asked(runtime) as daemon:
            known: dict[str, NodeImage] = {}
            for each in daemon.wire.call("GET", "/images/json") or ():
                digests = [str(name) for name in each.get("RepoDigests") or ()]
                for name in (*(each.get("RepoTags") or ()), *digests):
                    repository = str(name).partition("@")[0].rpartition(":")[0]
                    digest = _digest(digests, repository or str(name).partition("@")[0])
                    found = NodeImage(str(each["Id"]), digest, int(each.get("Size") or 0))
                    known[_canonical(str(name))] = found
        there: dict[str, NodeImage] = {}
        for image in images:
            with contextlib.suppress(refs.BadName):
                for name in refs.names_of(image, runtime.kind, self._registries):
                    if name in known:
                        there[image] = known[name]
                        break
        return there

    def _inspect(self, runtime: Runtime, image: str) -> dict[str, Any] | None:
        with _asked(runtime) as daemon:
            for name in refs.names_of(image, runtime.kind, self._registries):
                found = daemon.image(name)
                if found is not None:
                    history = daemon.wire.call("GET", f"/images/{quote(name)}/history")
                    return {**found, "History": history or []}
        return None

    async def prepare_own(
        self, runtime: Runtime, image: str, access: PullAccess | None, progress: Progress
    ) -> None:
        """Of the platform's own registry, which is asked each time, so that what was pushed just
        now is what runs. `access`: None: it is turned off."""
        ref = _parsed(image)
        there = await asyncio.to_thread(self._is_there, runtime, image)
        if access is None:
            if not there:
                raise NoImage("registry_unreachable", f"{image}: the registry is turned off")
            return
        shared = self._pulls.get(image)
        if shared is None or shared.given_up:
            daemon = Daemon(runtime.kind, runtime.socket, _PULL_PATIENCE)
            own = Registry(access.host, access.user, access.password, plain_http=True)
            shared = self._begin(image, Pull(daemon, image, ref), (own,))
        try:
            await shared.wait(progress)
        except NoImage as trouble:
            if not there or trouble.reason != "registry_unreachable":
                raise

    def _begin(
        self, image: str, pull: Pull, registries: Sequence[Registry] | None = None
    ) -> _Shared:
        asked = self._registries if registries is None else registries
        shared = _Shared(pull, asked, self._threads)
        self._pulls[image] = shared

        def ended(_: object) -> None:
            if self._pulls.get(image) is shared:  # otherwise it was abandoned and restarted
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
            raise Unreachable(f"{runtime.kind} does not respond: {error}") from None
        finally:
            daemon.close()


@contextlib.contextmanager
def _asked(runtime: Runtime) -> Iterator[Daemon]:
    daemon = Daemon(runtime.kind, runtime.socket, _KNOWN_PATIENCE)
    try:
        yield daemon
    except (Away, Failed) as error:
        raise Unreachable(f"{runtime.kind} does not respond: {error}") from None
    finally:
        daemon.close()


def _canonical(name: str) -> str:
    with contextlib.suppress(refs.BadName):
        return str(refs.parse(name))
    return name  # <none>:<none>


def _digest(digests: Sequence[str], repository: str) -> str:
    """Of the manifest: the one it has in its own repository, or else in any."""
    own = [name for name in digests if name.startswith(f"{repository}@")]
    return next((name.partition("@")[2] for name in (*own, *digests)), "")


class _Shared:
    """A pull that several jobs may wait for; cancelled when none does."""

    def __init__(
        self, pull: Pull, registries: Sequence[Registry], threads: ThreadPoolExecutor
    ) -> None:
        self._pull = pull
        self.given_up = False  # no longer joinable; it ends when its thread notices
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


def _parsed(image: str) -> refs.ImageRef:
    try:
        return refs.parse(image)
    except refs.BadName as error:
        raise NoImage("image_not_found", f"{image} {error}") from None


def _not_allowed(host: str) -> str:
    return (
        f"images may not come from {host}; the admin lists registries as "
        f'[registries."{host}"] or in engine.images_from'
    )


def _look_at(work: asyncio.Future[None]) -> None:
    """Retrieves the exception of a pull that may have no waiters left."""
    if not work.cancelled():
        work.exception()
