"""hub/<name>/...: a cache of other registries.

What is not here is fetched once, however many ask for it, and passed on while it arrives. Tags are
looked up there again each time; what was pulled before is served when the other registry is away.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from dataclasses import dataclass, field

from danlu.registry import refusals
from danlu.registry.blobs import Draft
from danlu.registry.calls import Call, Handler
from danlu.registry.errors import Refusal, unknown_blob
from danlu.registry.manifests import LARGEST
from danlu.registry.messages import OCTETS
from danlu.registry.names import is_digest
from danlu.registry.routes import blob_routes, manifest_routes
from danlu.registry.settings import Mirror
from danlu.registry.store import PIECE, Store
from danlu.registry.upstream import Away, Missing, Upstream

log = logging.getLogger("danlu.registry")


@dataclass(slots=True)
class _Arriving:
    """A blob on its way: one download, any number of readers of the growing file."""

    draft: Draft | None = None
    size: int = 0
    got: int = 0
    done: bool = False
    error: Refusal | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self) -> None:
        self.news.set()
        self.news = asyncio.Event()


class Hub:
    def __init__(self, store: Store, mirrors: tuple[Mirror, ...]) -> None:
        self._store = store
        self._upstreams = {each.name: Upstream(each) for each in mirrors}
        self._arriving: dict[str, _Arriving] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def handlers(self) -> dict[tuple[str, str], Handler]:
        return {
            ("manifest", "GET"): self._manifest,
            ("manifest", "HEAD"): self._manifest,
            ("blob", "GET"): self._blob,
            ("blob", "HEAD"): self._blob_head,
        }

    # -- manifests ---------------------------------------------------------------------------

    async def _manifest(self, call: Call) -> None:
        manifest_routes.check_reference(call.reference)
        upstream, name = self._of(call)
        known = await self._store.manifest(call.repository, call.reference)
        if known is None or not is_digest(call.reference):
            try:
                body, kind = await upstream.manifest(name, call.reference, LARGEST)
                await self._store.cache_manifest(call.repository, call.reference, body, kind)
            except Missing as missing:
                raise Refusal(404, "MANIFEST_UNKNOWN", str(missing)) from None
            except Away as away:
                if known is None:
                    raise _away(away) from None
                log.warning("serving %s as it was: %s", call.repository, away)
        await manifest_routes.get(call)

    # -- blobs -------------------------------------------------------------------------------

    async def _blob_head(self, call: Call) -> None:
        if await self._store.has_blob(call.repository, call.reference) is None:
            upstream, name = self._of(call)
            if not is_digest(call.reference):
                raise unknown_blob(call.reference)
            try:
                size = await upstream.size(name, call.reference)
            except Missing:
                raise unknown_blob(call.reference) from None
            except Away as away:
                raise _away(away) from None
            digest = ("docker-content-digest", call.reference)
            length = ("content-length", str(size))
            return await call.request.answer(200, [digest, OCTETS, length])
        return await blob_routes.head(call)

    async def _blob(self, call: Call) -> None:
        digest = call.reference
        there = not is_digest(digest) or await self._store.has_blob(call.repository, digest)
        if there or there == 0:
            return await blob_routes.get(call)
        arriving = self._arriving.get(digest)
        if arriving is None:
            upstream, name = self._of(call)
            arriving = self._arriving[digest] = _Arriving()
            task = asyncio.create_task(self._fetch(arriving, upstream, name, call))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        while arriving.draft is None and arriving.error is None and not arriving.done:
            await arriving.news.wait()
        if arriving.error is not None:
            raise arriving.error
        if arriving.done:
            return await blob_routes.get(call)
        return await self._pass_on(call, arriving)

    async def _pass_on(self, call: Call, arriving: _Arriving) -> None:
        draft = arriving.draft
        assert draft is not None
        try:
            fd, at = os.dup(draft.fd), 0
        except OSError:  # all of it has come, and it is being put in its place
            while not arriving.done and arriving.error is None:
                await arriving.news.wait()
            if arriving.error is not None:
                raise arriving.error from None
            return await blob_routes.get(call)
        headers = [("docker-content-digest", call.reference), OCTETS]
        out = [*headers, ("content-length", str(arriving.size))]
        send = call.request.send
        try:
            encoded = [(name.encode(), value.encode()) for name, value in out]
            await send({"type": "http.response.start", "status": 200, "headers": encoded})
            while at < arriving.size:
                news = arriving.news
                if arriving.got <= at:
                    if arriving.error is not None:
                        raise arriving.error  # too late for an answer: the connection is cut
                    await news.wait()
                    continue
                piece = await self._read(fd, at, min(PIECE, arriving.got - at))
                at += len(piece)
                more = at < arriving.size
                await send({"type": "http.response.body", "body": piece, "more_body": more})
        finally:
            os.close(fd)

    async def _fetch(self, arriving: _Arriving, upstream: Upstream, name: str, call: Call) -> None:
        store, digest = self._store, call.reference
        found = hashlib.new(digest.partition(":")[0])
        draft: Draft | None = None
        try:
            async with upstream.blob(name, digest) as source:
                free = await store.file(store.blobs.free)
                if free < store.settings.free + source.size:
                    raise refusals.disk_full()
                draft = await store.file(store.blobs.draft)
                arriving.size, arriving.draft = source.size, draft
                arriving.tell()
                while piece := await source.read():
                    await self._write(draft, piece, arriving.got, found)
                    arriving.got += len(piece)
                    arriving.tell()
            if found.hexdigest() != digest.partition(":")[2]:
                raise Away(f"{upstream.name} did not send {digest}")
            await store.add_cached(call.repository, digest, draft, arriving.got)
            arriving.done = True
        except Missing:
            arriving.error = unknown_blob(digest)
        except Away as away:
            arriving.error = _away(away)
        except OSError as error:
            arriving.error = refusals.of_disk(error)
        except Refusal as refusal:
            arriving.error = refusal
        finally:
            self._arriving.pop(digest, None)
            arriving.tell()
            if draft is not None:
                draft.discard()

    async def _read(self, fd: int, at: int, most: int) -> bytes:
        return await self._store.file(lambda: os.pread(fd, most, at))

    async def _write(self, draft: Draft, piece: bytes, at: int, found: hashlib._Hash) -> None:
        await self._store.file(lambda: draft.write([piece], at, found))

    def _of(self, call: Call) -> tuple[Upstream, str]:
        _, host, name = call.repository.split("/", 2)
        upstream = self._upstreams.get(host)
        if upstream is None:
            listed = ", ".join(self._upstreams) or "none"
            message = f"{host} is not cached here; the admin has set up: {listed}"
            raise Refusal(404, "NAME_UNKNOWN", message)
        return upstream, name


def _away(away: Away) -> Refusal:
    return Refusal(503, "UNAVAILABLE", f"{away}; only what was pulled before is available")
