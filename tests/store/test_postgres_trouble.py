"""PostgreSQL restarts, dies, hangs, fills up, or its line breaks: nothing acknowledged is lost,
nothing is done twice, nothing refused is done later."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator

import pytest

from danlu.store import Store, StoreAway, StoreReadOnly, events
from danlu.store.tx import Tx
from tests.store.lossy import Lose, LossyLine
from tests.store.reading import all_events
from tests.store.samples import an_event, healthy
from tests.support.postgres import PostgresServer


@pytest.fixture
async def store(postgres: PostgresServer) -> AsyncIterator[Store]:
    opened = Store.open(postgres.new_database(), deadline=60)
    yield opened
    await opened.close()


@pytest.fixture
def line(postgres: PostgresServer) -> Iterator[LossyLine]:
    opened = LossyLine(postgres.folder)
    yield opened
    opened.close()


async def append(store: Store, n: int) -> None:
    def op(tx: Tx) -> None:
        events.append(tx, [an_event(n=n)])

    await store.write(op)


async def surely(store: Store, n: int) -> None:
    """Once, however slow the disk: what came too late is never done, so it may be tried again."""
    while True:
        with contextlib.suppress(StoreAway):
            return await append(store, n)


async def times_applied(store: Store) -> Counter[int]:
    found = await store.read(all_events)
    return Counter(event.data["n"] for event in found)


async def surely_applied(store: Store) -> Counter[int]:
    while True:
        with contextlib.suppress(StoreAway):
            return await times_applied(store)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT, signal.SIGKILL])
async def test_a_restart_under_load_loses_nothing_and_does_nothing_twice(
    postgres: PostgresServer, store: Store, how: signal.Signals
) -> None:
    numbers = itertools.count()
    acknowledged: list[int] = []
    enough = asyncio.Event()

    async def writer() -> None:
        for n in numbers:
            await append(store, n)
            acknowledged.append(n)
            if enough.is_set():
                return

    writers = [asyncio.ensure_future(writer()) for _ in range(20)]
    for _ in range(3):
        before = len(acknowledged)
        while len(acknowledged) < before + 100:  # noqa: ASYNC110 - twenty writers count
            await asyncio.sleep(0.01)
        await asyncio.to_thread(postgres.stop, how)
        await asyncio.to_thread(postgres.start)
    enough.set()
    await asyncio.gather(*writers)
    assert await times_applied(store) == Counter(acknowledged)
    assert store.health.ok


async def test_a_write_that_came_too_late_is_never_done(postgres: PostgresServer) -> None:
    store = Store.open(postgres.new_database(), deadline=0.5)
    await surely(store, 0)
    await asyncio.to_thread(postgres.stop)
    tries = await asyncio.gather(*(append(store, n) for n in range(1, 20)), return_exceptions=True)
    assert all(isinstance(outcome, StoreAway) for outcome in tries)
    assert not store.health.ok and isinstance(store.health.problem, StoreAway)
    with pytest.raises(StoreAway):
        await times_applied(store)
    await asyncio.to_thread(postgres.start)
    await healthy(store)
    await surely(store, 100)
    assert await surely_applied(store) == Counter([0, 100])
    await store.close()


async def test_a_database_that_hangs_is_given_up_and_does_nothing_later(
    postgres: PostgresServer,
) -> None:
    store = Store.open(postgres.new_database(), deadline=0.5)
    await surely(store, 0)
    postgres.freeze()
    try:
        # Not a COMMIT but the first statement hangs, so it is certain that nothing was done.
        for n in (1, 2):
            with pytest.raises(StoreAway):
                await append(store, n)
        with pytest.raises(StoreAway):
            await times_applied(store)
    finally:
        postgres.thaw()
    await surely(store, 3)
    assert await surely_applied(store) == Counter([0, 3])
    await store.close()


@pytest.mark.parametrize("how", list(Lose))
async def test_a_commit_without_an_answer_is_settled_exactly(
    postgres: PostgresServer, line: LossyLine, how: Lose
) -> None:
    name = postgres.new_database().split("@/")[1].split("?")[0]
    store = Store.open(postgres.url_of(name, line.folder), deadline=60)
    for n in range(5):
        line.lose = how
        await asyncio.gather(*(append(store, 10 * n + i) for i in range(10)))
    assert line.lost == 5
    assert await times_applied(store) == Counter(range(50))
    await store.close()


async def test_leading_survives_a_lost_answer(postgres: PostgresServer, line: LossyLine) -> None:
    name = postgres.new_database().split("@/")[1].split("?")[0]
    store = Store.open(postgres.url_of(name, line.folder), deadline=60)
    line.lose = Lose.ANSWER
    assert await store.lead() == 1
    await append(store, 1)
    assert await times_applied(store) == Counter([1])
    await store.close()


async def test_a_read_only_database_is_named_and_recovers(
    postgres: PostgresServer, store: Store
) -> None:
    await append(store, 0)
    postgres.sql("ALTER SYSTEM SET default_transaction_read_only = on")
    postgres.sql("SELECT pg_reload_conf()")
    try:
        with pytest.raises(StoreReadOnly, match="read-only"):
            for n in itertools.count(1):  # the reload takes a moment to reach the connection
                await append(store, n)
        assert isinstance(store.health.problem, StoreReadOnly)
        before = await times_applied(store)
    finally:
        # Takes effect for new transactions; the admin's own connection has to write to undo it.
        postgres.sql("ALTER SYSTEM RESET default_transaction_read_only")
        postgres.sql("SELECT pg_reload_conf()")
    await healthy(store)
    await append(store, -1)
    assert await times_applied(store) == before + Counter([-1])


async def test_reads_survive_a_restart(postgres: PostgresServer, store: Store) -> None:
    await append(store, 1)
    assert await times_applied(store) == Counter([1])
    await asyncio.to_thread(postgres.restart)
    assert await times_applied(store) == Counter([1])
