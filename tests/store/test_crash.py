"""Acknowledged means on disk: the writing process is killed with -9 in the middle of its work."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

from danlu.store import Store, jobs
from tests.store.reading import all_events
from tests.support.postgres import PostgresServer

ROUNDS = 4


def acknowledged_until_killed(url: str, round_: str, at_least: int) -> set[str]:
    command = [sys.executable, "-m", "tests.store.hammer", url, round_]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        seen = [process.stdout.readline().strip() for _ in range(at_least)]
        process.kill()
        # What it could still print before it died was acknowledged, too; a torn line was not.
        rest = process.stdout.read()
    whole = rest.rsplit("\n", 1)[0].split("\n") if "\n" in rest else []
    return {name for name in (*seen, *whole) if name}


async def test_no_acknowledged_write_is_lost_when_the_writer_is_killed(url: str) -> None:
    acknowledged: set[str] = set()
    for round_ in range(ROUNDS):
        acknowledged |= acknowledged_until_killed(url, f"r{round_}", at_least=100 * round_ + 1)
    await everything_is_there_once(url, acknowledged)


async def test_no_acknowledged_write_is_lost_when_postgresql_is_killed_too(
    postgres: PostgresServer,
) -> None:
    url = postgres.new_database()
    acknowledged = acknowledged_until_killed(url, "r0", at_least=300)
    postgres.kill()
    postgres.start()
    await everything_is_there_once(url, acknowledged)


async def everything_is_there_once(url: str, acknowledged: set[str]) -> None:
    store = Store.open(url)
    try:
        rows = await store.read(jobs.active_jobs)
        logged = await store.read(all_events)
    finally:
        await store.close()
    ids = [row.id for row in rows]
    assert acknowledged <= set(ids)
    # Whole transactions: a job and its event are both there or neither is.
    assert Counter(ids) == Counter(event.data["name"] for event in logged)
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    assert [event.seq for event in logged] == list(range(1, len(logged) + 1))
