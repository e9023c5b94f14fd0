"""Volumes declared while the server runs, and numbers that were given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from danlu.store import Store, StoreConflict, uids, volumes
from danlu.store.rows import VolumeRow

FAST = VolumeRow(
    "fast", "/nvme", "/mnt/fast", False, True, ["vision"], ["al", "bo"], [], "fast", "说明", 1.5
)


async def test_a_volume_comes_back_as_it_was(store: Store) -> None:
    await store.write(lambda tx: volumes.insert_volume(tx, FAST))
    assert await store.read(volumes.list_volumes) == [FAST]
    with pytest.raises(StoreConflict):
        await store.write(lambda tx: volumes.insert_volume(tx, FAST))


async def test_a_volume_is_changed_and_taken_back(store: Store) -> None:
    await store.write(lambda tx: volumes.insert_volume(tx, FAST))
    other = replace(FAST, source="/x", read_only=True, groups=[], nodes=["n1"], note="")
    assert await store.write(lambda tx: volumes.update_volume(tx, other))
    assert await store.read(volumes.list_volumes) == [other]
    assert await store.write(lambda tx: volumes.delete_volume(tx, "fast"))
    assert not await store.write(lambda tx: volumes.delete_volume(tx, "fast"))
    assert not await store.write(lambda tx: volumes.update_volume(tx, other))
    assert await store.read(volumes.list_volumes) == []


async def test_a_number_is_given_once(store: Store) -> None:
    await store.write(lambda tx: uids.note(tx, 200_000, "user:a"))
    assert await store.read(lambda tx: uids.holder_of(tx, 200_000)) == "user:a"
    assert await store.read(lambda tx: uids.holder_of(tx, 200_001)) is None
    with pytest.raises(StoreConflict):
        await store.write(lambda tx: uids.note(tx, 200_000, "user:b"))
    await store.write(lambda tx: uids.note(tx, 5000, "user:a"))
    assert await store.read(lambda tx: uids.numbers_of(tx, "user:a")) == [5000, 200_000]
