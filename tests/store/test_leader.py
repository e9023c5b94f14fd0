"""One server leads; whoever led before cannot write any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from danlu.store import Deposed, Store, Tx, events, leader
from tests.store.reading import all_events
from tests.store.samples import an_event


@pytest.fixture
async def other(store: Store, url: str) -> AsyncIterator[Store]:
    opened = Store.open(url)
    yield opened
    await opened.close()


def note(tx: Tx) -> list[int]:
    return events.append(tx, [an_event()])


async def test_each_epoch_is_larger_than_all_before(store: Store, other: Store) -> None:
    assert [await store.lead(), await other.lead(), await store.lead()] == [1, 2, 3]


async def test_a_second_leader_deposes_the_first(store: Store, other: Store) -> None:
    await store.lead()
    await store.write(note)
    await other.lead()
    outcomes = await asyncio.gather(*(store.write(note) for _ in range(20)), return_exceptions=True)
    assert all(isinstance(outcome, Deposed) for outcome in outcomes)
    await other.write(note)
    assert len(await other.read(all_events)) == 2


async def test_a_deposed_server_still_reads_and_is_healthy(store: Store, other: Store) -> None:
    await store.lead()
    await other.lead()
    with pytest.raises(Deposed):
        await store.write(note)
    assert await store.read(all_events) == []
    assert store.health.ok


async def test_a_deposed_server_may_lead_again(store: Store, other: Store) -> None:
    await store.lead()
    await other.lead()
    await store.lead()
    await store.write(note)
    with pytest.raises(Deposed):
        await other.write(note)


async def test_a_server_that_never_led_may_write(store: Store, other: Store) -> None:
    await store.lead()
    await other.write(note)
    await store.write(note)


async def test_it_is_known_who_leads(store: Store, other: Store) -> None:
    await store.lead("north")
    await other.lead("south")
    now = await store.read(leader.current)
    assert (now.epoch, now.holder) == (2, "south")


async def test_writes_around_taking_over_keep_their_order(store: Store) -> None:
    first = asyncio.ensure_future(store.write(note))
    leading = asyncio.ensure_future(store.lead())
    second = asyncio.ensure_future(store.write(note))
    assert (await first, await leading, await second) == ([1], 1, [2])
