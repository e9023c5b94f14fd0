"""Many writes share one commit, and none can harm another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select

from danlu.store import Store, StoreConflict, StoreError, Tx, events, jobs, tables
from danlu.store.tx import Statement
from tests.store.reading import all_events
from tests.store.samples import a_job, an_attempt, an_event

_TRANSACTIONS = Statement(select(func.max(tables.batches.c.token)))


async def written(store: Store) -> list[Any]:
    found = await store.read(all_events)
    return [event.data["n"] for event in found]


def appends(n: int) -> Any:
    return lambda tx: events.append(tx, [an_event(n=n)])


async def test_what_was_written_is_seen_by_the_next_read(store: Store) -> None:
    await store.write(appends(1))
    assert await written(store) == [1]


async def test_a_write_returns_what_its_function_returns(store: Store) -> None:
    assert await store.write(appends(1)) == [1]
    assert await store.write(appends(2)) == [2]


async def test_two_hundred_waiting_writes_need_far_fewer_transactions(store: Store) -> None:
    await asyncio.gather(*(store.write(appends(n)) for n in range(200)))
    row = await store.read(lambda tx: tx.row(_TRANSACTIONS))
    assert row is not None and row[0] < 100
    assert await written(store) == list(range(200))


def refuses_before_writing(tx: Tx) -> None:
    raise LookupError("no such job")


def runs_out(tx: Tx) -> None:
    next(iter([]))


def exits(tx: Tx) -> None:
    raise SystemExit(3)


def refuses_after_writing(tx: Tx) -> None:
    events.append(tx, [an_event(n=-1)])
    raise LookupError("no such job")


def breaks_a_rule(tx: Tx) -> None:
    events.append(tx, [an_event(n=-1)])
    from danlu.store import attempts

    attempts.insert_attempt(tx, an_attempt("a job that is not there"))


def hides_that_it_broke_a_rule(tx: Tx) -> None:
    try:
        breaks_a_rule(tx)
    except Exception:
        return


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (refuses_before_writing, LookupError),
        (runs_out, RuntimeError),
        (exits, RuntimeError),
        (refuses_after_writing, LookupError),
        (breaks_a_rule, StoreConflict),
        (hides_that_it_broke_a_rule, StoreConflict),
    ],
)
async def test_a_failing_write_fails_alone(
    store: Store, bad: Any, error: type[BaseException]
) -> None:
    ops = [bad if n % 5 == 3 else appends(n) for n in range(50)]
    results = await asyncio.gather(*(store.write(op) for op in ops), return_exceptions=True)
    for n, result in enumerate(results):
        if n % 5 == 3:
            assert isinstance(result, error)
        else:
            assert isinstance(result, list), result
    assert await written(store) == [n for n in range(50) if n % 5 != 3]


async def test_numbers_stay_gapless_when_a_neighbour_fails(store: Store) -> None:
    def fails_late(tx: Tx) -> None:
        jobs.insert_jobs(tx, [a_job()])
        raise LookupError

    good = [lambda tx: jobs.insert_jobs(tx, [a_job()])] * 6
    ops: list[Any] = [op for pair in zip(good, [fails_late] * 6, strict=True) for op in pair]
    results = await asyncio.gather(*(store.write(op) for op in ops), return_exceptions=True)
    numbers = [r[0].row.number for r in results if isinstance(r, list)]
    assert numbers == [1, 2, 3, 4, 5, 6]


async def test_a_read_cannot_write(store: Store) -> None:
    with pytest.raises(Exception, match=r"read-only|readonly|不可写|not writable"):
        await store.read(appends(1))
    assert await written(store) == []
    await store.write(appends(2))
    assert await written(store) == [2]


async def test_a_failing_read_leaves_the_next_one_unharmed(store: Store) -> None:
    with pytest.raises(ZeroDivisionError):
        await store.read(lambda tx: 1 // 0)
    assert await written(store) == []


async def test_closing_does_what_was_asked_before(url: str) -> None:
    store = Store.open(url)
    waiting = [asyncio.ensure_future(store.write(appends(n))) for n in range(100)]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.gather(*waiting)
    with pytest.raises(StoreError, match="shutting down"):
        await store.write(appends(100))
    again = Store.open(url)
    assert len(await written(again)) == 100
    await again.close()


async def test_a_caller_that_went_away_harms_nobody(store: Store) -> None:
    gone = asyncio.ensure_future(store.write(appends(1)))
    stays = asyncio.ensure_future(store.write(appends(2)))
    await asyncio.sleep(0)
    gone.cancel()
    await stays
    assert 2 in await written(store)


async def test_a_healthy_store_says_so(store: Store) -> None:
    await store.write(appends(1))
    assert store.health.ok and store.health.problem is None


async def test_a_write_nobody_waits_for_any_more_is_not_tried(url: str) -> None:
    """It was run and rolled back, and with it all that shared its transaction."""
    store = Store.open(url, deadline=0.5)
    release, begun, tried = threading.Event(), threading.Event(), list[str]()

    def slow(tx: Tx) -> None:
        begun.set()
        release.wait()

    def noted(name: str) -> Callable[[Tx], None]:
        return lambda tx: tried.append(name)

    blocking = asyncio.create_task(store.write(slow))
    await asyncio.to_thread(begun.wait)
    late = asyncio.create_task(store.write(noted("late")))
    cancelled = asyncio.create_task(store.write(noted("cancelled")))
    await asyncio.sleep(0)
    cancelled.cancel()
    with pytest.raises(StoreError):
        await late
    in_time = asyncio.create_task(store.write(noted("in time")))
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(blocking, in_time, return_exceptions=True)
    assert tried == ["in time"]
    await store.close()
