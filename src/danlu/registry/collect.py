"""Garbage collection while serving.

A blob goes when no manifest names it and nobody has asked for it within the grace: whoever was told
that it is there may rely on that while pushing. What decides and what deletes runs in the thread
that also answers such questions; the row goes first, then the file, so that a crash in between
leaves a file without a row, which a later round finds, and never a row without its file.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from functools import partial

from danlu.registry.names import Owner
from danlu.registry.store import Store

log = logging.getLogger("danlu.registry")
_AT_ONCE = 200
"""Rows in one go: in between, requests have their turn."""
_UNUSED = """
select l.repo, l.digest from links l where l.at < ? and not exists(
  select 1 from refs r where r.digest = l.digest and r.repo = l.repo) limit ? offset ?
"""
_NAMELESS = """
select digest, size from blobs b where at < ?
  and not exists(select 1 from links l where l.digest = b.digest)
  and not exists(select 1 from manifests m where m.digest = b.digest)
  and not exists(select 1 from refs r where r.digest = b.digest and r.child = 0)
limit ? offset ?
"""
_UNTAGGED = """
select p.name, m.digest from manifests m join repos p on p.id = m.repo
where m.used < ? and p.owner <> 'hub'
  and not exists(select 1 from tags t where t.repo = m.repo and t.digest = m.digest)
  and not exists(select 1 from refs r where r.digest = m.digest and r.repo = m.repo)
  and not exists(select 1 from manifests s where s.repo = m.repo and s.digest = m.subject)
limit ?
"""
_OLDEST = """
select p.name, m.digest from manifests m join repos p on p.id = m.repo
where p.owner = 'hub' order by m.used limit 1
"""


@dataclass(frozen=True, slots=True)
class Collected:
    manifests: int = 0
    blobs: int = 0
    bytes: int = 0

    def __add__(self, other: Collected) -> Collected:
        return Collected(
            self.manifests + other.manifests,
            self.blobs + other.blobs,
            self.bytes + other.bytes,
        )


async def collect(store: Store, grace: float | None = None) -> Collected:
    """`grace`: seconds; None: as configured."""
    store.drop_resting()
    settings = store.settings
    before = time.time() - (settings.grace if grace is None else grace)
    found = Collected()
    if settings.untagged is not None:
        found += await _drop_untagged(store, time.time() - settings.untagged)
    found += await _shrink_hub(store)
    await _drop_links(store, before)
    found += await _drop_blobs(store, before)
    found += await _drop_files(store, before)
    await store.metadata(lambda: _forget_seen(store, before))
    if found.blobs:
        log.info(
            "freed %d bytes: %d blobs, %d manifests", found.bytes, found.blobs, found.manifests
        )
    return found


async def _drop_untagged(store: Store, before: float) -> Collected:
    def some() -> int:
        rows = store.database.all(_UNTAGGED, before, _AT_ONCE)
        with store.change():
            for repository, digest in rows:
                store.database.remove(repository, digest)
        return len(rows)

    total = 0
    while count := await store.metadata(some):
        total += count
    return Collected(manifests=total)


async def _shrink_hub(store: Store) -> Collected:
    """The cache of other registries has a size; what was pulled longest ago goes first."""
    hub = Owner("hub")

    def one() -> bool:
        if store.database.used(str(hub)) <= store.settings.hub_size:
            return False
        row = store.database.one(_OLDEST)
        if row is None:
            return False
        with store.change():
            store.database.remove(row[0], row[1])
        return True

    total = 0
    while await store.metadata(one):
        total += 1
    return Collected(manifests=total)


async def _drop_links(store: Store, before: float) -> None:
    """Where an upload goes on or has just ended, the manifest that names the earlier ones is still
    to come."""
    kept = 0
    busy = store.uploading_to(before)

    def some() -> int:
        nonlocal kept
        pushed = {store.database.repo(name) for name in busy}
        rows = store.database.all(_UNUSED, before, _AT_ONCE, kept)
        with store.change():
            for repo, digest in rows:
                if repo in pushed or _asked_for(store, digest, before):
                    kept += 1
                else:
                    store.database.run(
                        "delete from links where repo = ? and digest = ?", repo, digest
                    )
        return len(rows)

    while await store.metadata(some):
        pass


async def _drop_blobs(store: Store, before: float) -> Collected:
    kept = 0

    def some() -> tuple[int, Collected]:
        nonlocal kept
        rows = store.database.all(_NAMELESS, before, _AT_ONCE, kept)
        gone = [(d, size) for d, size in rows if not _asked_for(store, d, before)]
        kept += len(rows) - len(gone)
        with store.change():
            for digest, _ in gone:
                store.database.run("delete from blobs where digest = ?", digest)
        for digest, _ in gone:
            store.blobs.remove(digest)
        return len(rows), Collected(blobs=len(gone), bytes=sum(size for _, size in gone))

    total = Collected()
    while True:
        count, done = await store.metadata(some)
        total += done
        if not count:
            return total


async def _drop_files(store: Store, before: float) -> Collected:
    """Files without a row: of a process that was killed between the two."""
    files = [digest for digest, at in await store.file(store.blobs.all) if at < before]

    def some(part: list[str]) -> Collected:
        done = Collected()
        for digest in part:
            row = store.database.one("select 1 from blobs where digest = ?", digest)
            if row is None and not store.arriving[digest]:
                size = store.blobs.path(digest).stat().st_size
                store.blobs.remove(digest)
                done += Collected(blobs=1, bytes=size)
        return done

    total = Collected()
    for start in range(0, len(files), _AT_ONCE):
        part = files[start : start + _AT_ONCE]
        total += await store.metadata(partial(some, part))
    return total


def _asked_for(store: Store, digest: str, before: float) -> bool:
    if digest in store.arriving or store.asked_until >= before:
        return True  # the second: by somebody whom a former process has answered
    return store.seen.get(digest, 0.0) >= before


def _forget_seen(store: Store, before: float) -> None:
    store.seen = {digest: at for digest, at in store.seen.items() if at >= before}
