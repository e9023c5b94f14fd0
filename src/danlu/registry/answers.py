"""What the server asks the registry: usage, lists, deletion, garbage collection."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict

from danlu.registry.app import App
from danlu.registry.collect import Collected, collect
from danlu.registry.errors import Refusal
from danlu.registry.names import Owner, is_digest
from danlu.registry.store import Store
from danlu.spec.text import Text
from danlu.wire import Handler, Rejected, Values

_MOST = 10_000


class Answers:
    def __init__(self, store: Store, app: App) -> None:
        self._store = store
        self._app = app
        self._collecting = asyncio.Lock()
        self.collected_at = 0.0

    def handlers(self) -> dict[str, Handler]:
        return {
            "forget": self._forget,
            "usage": self._usage,
            "repositories": self._repositories,
            "images": self._images,
            "tagged": self._tagged,
            "delete": self._delete,
            "collect": self._collect,
        }

    async def _forget(self, ask: Values) -> Values:
        self._app.forget(ask["users"])
        return {}

    async def _usage(self, ask: Values) -> Values:
        """Of some owners, and of the disk."""
        store = self._store
        owners = [Owner(*each) for each in ask["owners"]]

        def look() -> list[int]:
            return [store.database.used(str(owner)) for owner in owners]

        used = await store.metadata(look)
        quotas = [store.settings.quota_of(owner) for owner in owners]
        total = await store.metadata(
            lambda: store.database.one("select coalesce(sum(size), 0), count(*) from blobs")
        )
        return {
            "owners": [
                {"kind": owner.kind, "name": owner.name, "used": size, "quota": quota}
                for owner, size, quota in zip(owners, used, quotas, strict=True)
            ],
            "bytes": total[0],
            "blobs": total[1],
            "free": await store.file(store.blobs.free),
            "reserve": store.settings.free,
        }

    async def _repositories(self, ask: Values) -> Values:
        """`owners`: whose, as text; None: everybody's. `names`: further ones."""
        store = self._store
        owners, names = ask["owners"], ask["names"]

        def look() -> list[dict[str, object]]:
            return store.database.summaries(owners, names, _MOST)

        return {"repositories": await store.metadata(look)}

    async def _images(self, ask: Values) -> Values:
        store, name = self._store, str(ask["repository"])
        found = await store.metadata(lambda: store.database.images(name))
        return {"images": [asdict(each) for each in found]}

    async def _tagged(self, ask: Values) -> Values:
        """A page of all that has a tag, or of one repository."""
        store, after = self._store, (str(ask["after"][0]), str(ask["after"][1]))
        repository, most = ask["repository"], int(ask["most"])
        found = await store.metadata(lambda: store.database.tagged(repository, after, most))
        return {"images": [asdict(each) for each in found]}

    async def _delete(self, ask: Values) -> Values:
        done = await self._deleted(ask)
        if done:
            self._store.changed(str(ask["repository"]), "", [])
        return {"deleted": done}

    async def _deleted(self, ask: Values) -> int:
        """A tag with what only it names, a digest, or the whole repository."""
        store, name, reference = self._store, str(ask["repository"]), str(ask["reference"])
        if store.settings.read_only:
            raise _rejected("read_only", "the registry is read-only", "镜像仓库目前只读")
        if not reference:
            return await self._delete_all(name)
        digest = reference
        if not is_digest(reference):
            found = await store.manifest(name, reference)
            if found is None:
                return 0
            await store.delete_manifest(name, reference)
            digest = found.digest
            if await store.metadata(lambda: store.database.has_tags(name, digest)):
                return 1
        try:
            done = await store.delete_manifest(name, digest)
        except Refusal as refusal:
            raise _rejected(refusal.code, refusal.message, refusal.message) from None
        return int(done)

    async def _delete_all(self, name: str) -> int:
        store = self._store

        def delete() -> int:
            digests = store.database.digests(name)
            with store.change():
                for digest in digests:
                    store.database.remove(name, digest)
            return len(digests)

        return await store.metadata(delete)

    async def _collect(self, ask: Values) -> Values:
        return asdict(await self.collect(ask.get("grace")))

    async def collect(self, grace: float | None = None) -> Collected:
        async with self._collecting:
            begun = time.time()
            found = await collect(self._store, grace)
            self.collected_at = begun
        return found


def _rejected(code: str, en: str, zh: str) -> Rejected:
    return Rejected(Text(en, zh), code)
