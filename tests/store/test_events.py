"""Events are append-only and stand in the order of commits."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from danlu.store import Store, Tx, events
from danlu.store.database import Connection
from tests.store.reading import all_events
from tests.store.samples import an_event


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE events SET kind = 'forged'",
        "DELETE FROM events",
        "DELETE FROM events WHERE seq = 1",
        "REPLACE INTO events VALUES (1, NULL, 0, 'forged', 'eve', '{}')",
        "TRUNCATE events",
    ],
)
def test_nobody_changes_what_happened(connection: Connection, change: str) -> None:
    dialect = type(connection).__name__
    if change.startswith("REPLACE") and "Postgres" in dialect:
        change = (
            "INSERT INTO events VALUES (1, NULL, 0, 'forged', 'eve', '{}') "
            "ON CONFLICT (seq) DO UPDATE SET kind = 'forged'"
        )
    if change.startswith("TRUNCATE") and "Sqlite" in dialect:
        change = "DELETE FROM events WHERE 1"
    connection.begin()
    events.append(connection.tx, [an_event(), an_event()])
    connection.commit()
    with pytest.raises(Exception, match="append-only"):
        connection.execute(change)
    found = all_events(connection.tx)
    assert [(event.seq, event.kind) for event in found] == [(1, "submitted"), (2, "submitted")]


async def test_a_follower_never_misses_one(store: Store, url: str) -> None:
    """Two servers write at once; whoever reads on from the last number sees every event."""
    other = Store.open(url)
    total = 200

    def appends(tx: Tx) -> list[int]:
        return events.append(tx, [an_event(), an_event()])

    async def write(target: Store) -> None:
        for _ in range(total // 10):
            await asyncio.gather(*(target.write(appends) for _ in range(5)))

    seen: list[int] = []

    async def follow() -> None:
        while len(seen) < 2 * total:
            last = seen[-1] if seen else 0
            found = await store.read(partial(all_events, after=last))
            seen.extend(event.seq for event in found)

    await asyncio.gather(write(store), write(other), follow())
    assert seen == list(range(1, 2 * total + 1))
    await other.close()


async def test_events_of_one_job_can_be_read_in_pieces(store: Store) -> None:
    rows = [an_event("a", n=1), an_event("b", n=2), an_event("a", n=3), an_event(None, n=4)]
    assert await store.write(lambda tx: events.append(tx, rows)) == [1, 2, 3, 4]
    assert await store.write(lambda tx: events.append(tx, [])) == []

    async def of_a(after: int, limit: int) -> list[int]:
        found = await store.read(lambda tx: events.events_of(tx, "a", after, limit))
        return [event.data["n"] for event in found]

    assert await of_a(0, 10) == [1, 3]
    assert await of_a(0, 1) == [1]
    assert await of_a(1, 10) == [3]
    assert await store.read(events.last_seq) == 4
