"""Garbage collection: what nothing names goes, whatever is needed stays, also under load."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from danlu.registry.collect import collect
from danlu.registry.database import Database
from danlu.registry.errors import Refusal
from danlu.registry.settings import RegistrySettings
from danlu.registry.store import Store
from tests.support.images import MANIFEST, config_of, digest_of, manifest

NO_RESERVE = RegistrySettings(free=0)


def open_store(folder: Path, settings: RegistrySettings = NO_RESERVE) -> Store:
    store = Store(settings, Database(folder / "registry.db"), folder)
    store.asked_until = 0.0  # nobody was told anything by a former process
    return store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path)
    yield store
    store.close()


async def put(store: Store, repository: str, content: bytes) -> str:
    async def pieces() -> AsyncIterator[bytes]:
        yield content

    upload = await store.begin(repository)
    await store.append(upload, pieces())
    digest = digest_of(content)
    await store.commit(upload, digest)
    return digest


async def push(store: Store, repository: str, tag: str, *layers: bytes) -> str:
    config = config_of(*layers)
    for each in (*layers, config):
        if await store.has_blob(repository, digest_of(each)) is None:
            await put(store, repository, each)
    body = manifest(config, *layers)
    return (await store.put_manifest(repository, tag, body, MANIFEST)).digest


def files(folder: Path) -> int:
    return sum(1 for path in (folder / "blobs").rglob("*") if path.is_file())


async def test_a_deleted_image_is_freed_after_the_grace(store: Store, tmp_path: Path) -> None:
    shared, own = os.urandom(1000), os.urandom(1000)
    await push(store, "alice/x", "1", shared, own)
    await push(store, "alice/y", "1", shared)
    assert (await collect(store, 0.0)).blobs == 0
    digest = (await store.manifest("alice/x", "1")).digest  # type: ignore[union-attr]
    assert await store.delete_manifest("alice/x", digest)
    assert (await collect(store, 3600.0)).blobs == 0
    freed = await collect(store, 0.0)
    assert freed.blobs == 3  # manifest, config and the layer of its own
    assert await store.has_blob("alice/y", digest_of(shared)) == 1000
    assert await store.has_blob("alice/x", digest_of(shared)) is None
    assert files(tmp_path) == 3


async def test_who_was_told_that_a_blob_is_there_may_rely_on_it(store: Store) -> None:
    content = os.urandom(100)
    digest = await put(store, "alice/x", content)
    await asyncio.sleep(0.2)
    assert await store.has_blob("alice/x", digest) == 100
    assert (await collect(store, 0.1)).blobs == 0
    await asyncio.sleep(0.2)
    assert (await collect(store, 0.1)).blobs == 1


async def test_layers_of_a_long_push_stay_until_its_manifest_comes(store: Store) -> None:
    digest = await put(store, "alice/x", b"the first layer")
    upload = await store.begin("alice/x")  # of the second, which takes long
    await asyncio.sleep(0.05)
    assert (await collect(store, 0.0)).blobs == 0
    store.cancel(upload)
    assert (await collect(store, 0.0)).blobs == 1
    assert await store.has_blob("alice/x", digest) is None


async def test_layers_before_a_large_one_stay_while_the_disk_takes_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writing 5 GB out takes minutes on a busy disk: longer than the grace, perhaps."""
    taking, taken = threading.Event(), threading.Event()
    sync = os.fdatasync

    def slow(fd: int) -> None:
        taking.set()
        assert taken.wait(60)
        sync(fd)

    first = await put(store, "alice/x", b"the first layer")
    monkeypatch.setattr(os, "fdatasync", slow)
    second = asyncio.create_task(put(store, "alice/x", b"the second layer"))
    assert await asyncio.to_thread(taking.wait, 60)
    assert (await collect(store, 0.0)).blobs == 0
    taken.set()
    await second
    assert (await collect(store, 60.0)).blobs == 0
    assert await store.has_blob("alice/x", first) is not None


async def test_the_grace_of_all_layers_begins_with_the_last(store: Store) -> None:
    first = await put(store, "alice/x", b"the first layer")
    store.database.run("update links set at = 1")
    store.database.run("update blobs set at = 1")
    await put(store, "alice/x", b"the second layer")
    assert (await collect(store, 60.0)).blobs == 0
    assert await store.has_blob("alice/x", first) is not None


async def test_images_without_a_tag_go_when_nobody_pulls_them(tmp_path: Path) -> None:
    store = open_store(tmp_path, replace(NO_RESERVE, untagged=0.2))
    first = await push(store, "alice/x", "latest", b"first")
    second = await push(store, "alice/x", "latest", b"second")
    await asyncio.sleep(0.3)
    assert (await collect(store, 3600.0)).manifests == 1
    assert await store.manifest("alice/x", first) is None
    assert await store.manifest("alice/x", second) is not None
    store.close()


async def test_files_that_a_killed_process_left_are_found(store: Store, tmp_path: Path) -> None:
    content = b"kept, but not noted"
    path = store.blobs.path(digest_of(content))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    await asyncio.sleep(0.05)
    assert (await collect(store, 0.0)).bytes == len(content)
    assert files(tmp_path) == 0


async def test_after_a_restart_nothing_goes_that_somebody_may_rely_on(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    await put(store, "alice/x", b"told of just now")
    await store.has_blob("alice/x", digest_of(b"told of just now"))
    store.close()
    again = Store(NO_RESERVE, Database(tmp_path / "registry.db"), tmp_path)
    assert (await collect(again, 60.0)).blobs == 0
    again.database.run("update links set at = 0")
    again.database.run("update blobs set at = 0")
    assert (await collect(again, 60.0)).blobs == 0
    again.asked_until = 0.0
    assert (await collect(again, 60.0)).blobs == 1
    again.close()


async def test_under_load_no_image_is_ever_broken(store: Store) -> None:
    """Many push and delete images of common layers while garbage is collected all the time."""
    common = [os.urandom(500) for _ in range(6)]
    grace, least, limit = 0.5, time.monotonic() + 3.0, time.monotonic() + 120.0
    freed = 0
    made: dict[tuple[str, str], list[bytes]] = {}

    def goes_on() -> bool:
        now = time.monotonic()
        return now < least or (not freed and now < limit)

    async def work(number: int) -> None:
        chance = random.Random(number)
        repository = f"u{number}/x"
        while goes_on():
            tag = f"t{chance.randrange(4)}"
            layers = chance.sample(common, 3)
            begun = time.monotonic()
            try:
                digest = await push(store, repository, tag, *layers)
            except Refusal:  # as clients do: again
                assert time.monotonic() - begun > grace
                continue
            made[repository, tag] = layers
            if chance.random() < 0.5:
                for key in [k for k, v in made.items() if k[0] == repository and v == layers]:
                    del made[key]
                await store.delete_manifest(repository, digest)

    async def sweep() -> None:
        nonlocal freed
        while goes_on():
            freed += (await collect(store, grace)).blobs
            await asyncio.sleep(0.01)

    async with asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(work(number))
        group.create_task(sweep())
    assert freed and made
    for (repository, tag), layers in made.items():
        found = await store.manifest(repository, tag)
        assert found is not None, (repository, tag)
        assert hashlib.sha256(await store.read_manifest(found.digest)).hexdigest() in found.digest
        for content in (*layers, config_of(*layers)):
            fd, size = await store.open_blob(repository, digest_of(content))
            assert os.pread(fd, size, 0) == content
            os.close(fd)


async def test_a_full_disk_refuses_and_keeps_what_is_there(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    await push(store, "alice/x", "1", b"there before")
    store.settings = replace(NO_RESERVE, free=1 << 60)
    with pytest.raises(Refusal) as refused:
        await put(store, "alice/x", os.urandom(2_000_000))
    assert (refused.value.status, refused.value.code) == (403, "DENIED")
    assert await store.manifest("alice/x", "1") is not None
    store.close()


async def test_owners_pay_for_a_common_layer_once_each(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    layer = os.urandom(100_000)
    await push(store, "alice/x", "1", layer)
    once = store.database.used("user:alice")
    await push(store, "alice/y", "1", layer)
    assert once <= store.database.used("user:alice") < once + 5_000
    assert store.database.used("user:bob") == 0
    store.close()
