"""Volumes declared while the server runs, and numbers that were given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from danlu.store import Store, StoreConflict, rules, uids, volumes
from danlu.store.rows import RuleRow, VolumeRow

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


async def test_a_rule_is_put_changed_and_taken_back(store: Store) -> None:
    queue = RuleRow("queue", "vision", {"nodes": ["n1"], "order": "fair"}, 1.0)
    quota = RuleRow("user", "*", {"gpus": 2.5}, 2.0)
    for row in (queue, quota):
        await store.write(lambda tx, row=row: rules.put_rule(tx, row))
    assert await store.read(rules.list_rules) == [queue, quota]
    other = RuleRow("queue", "vision", {"order": "fifo"}, 3.0)
    await store.write(lambda tx: rules.put_rule(tx, other))
    assert await store.read(rules.list_rules) == [other, quota]
    assert await store.write(lambda tx: rules.delete_rule(tx, "queue", "vision"))
    assert not await store.write(lambda tx: rules.delete_rule(tx, "queue", "vision"))
    assert await store.read(rules.list_rules) == [quota]
