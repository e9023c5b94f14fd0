"""Lists of jobs: every filter, every order, and pages that hold while jobs arrive."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from danlu.spec.states import State
from danlu.store import Store, jobs
from danlu.store.listing import (
    SORTS,
    JobQuery,
    Whole,
    count_jobs,
    list_folded,
    list_jobs,
    place_of,
)
from danlu.store.rows import JobRow, Sight
from tests.store.samples import a_job


async def insert(store: Store, *rows: JobRow) -> list[JobRow]:
    stored = await store.write(lambda tx: jobs.insert_jobs(tx, rows))
    return [row for row, _ in stored]


async def found(store: Store, **filters: Any) -> list[str]:
    rows = await store.read(lambda tx: list_jobs(tx, JobQuery(**filters)))
    return [row.name for row in rows]


def asking(*words: str, **values: Any) -> JobRow:
    role = {"name": "main", "command": {"run_as": "argv", "words": list(words)}}
    return a_job(spec={"roles": [role]}, **values)


async def test_the_newest_come_first_and_limits_hold(store: Store) -> None:
    await insert(store, *(a_job(name=name) for name in "abcd"))
    assert await found(store) == ["d", "c", "b", "a"]
    assert await found(store, limit=2) == ["d", "c"]
    assert await found(store, descending=False, limit=3) == ["a", "b", "c"]


async def test_every_filter_leaves_only_what_it_names(store: Store) -> None:
    await insert(
        store,
        a_job(name="a", owner="bob", group="vision", submitted_at=10.0),
        a_job(name="b", kind="service", state=State.RUNNING, submitted_at=20.0),
        a_job(name="c", queue="fast", state=State.FAILED, submitted_at=30.0),
    )
    assert await found(store, owner="bob") == ["a"]
    assert await found(store, group="vision") == ["a"]
    assert await found(store, name="b") == ["b"]
    assert await found(store, kind="service") == ["b"]
    assert await found(store, queue="fast") == ["c"]
    assert await found(store, states=(State.RUNNING, State.FAILED)) == ["c", "b"]
    assert await found(store, active=True) == ["b", "a"]
    assert await found(store, active=False) == ["c"]
    assert await found(store, since=20.0) == ["c", "b"]
    assert await found(store, until=20.0) == ["a"]
    assert await found(store, since=15.0, until=25.0, kind="service") == ["b"]
    assert await found(store, owner="nobody") == []


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ("train", ["wide", "plain"]),
        ("TRAIN.PY --LR", ["wide"]),
        ("训练", ["chinese"]),
        ('say "hi"', ["quoted"]),
        ("100%", ["percent"]),
        ("a_c", []),
        ("back\\slash", ["backslash"]),
        ("plai", ["plain"]),
        ("words", []),
        ("nothing like it", []),
    ],
)
async def test_text_is_sought_in_names_and_commands_only(
    store: Store, wanted: str, names: list[str]
) -> None:
    await insert(
        store,
        asking("python train.py", name="plain"),
        asking("python", "Train.py", "--lr", "0.1", name="wide"),
        asking("python 训练.py", name="chinese"),
        asking('echo say "hi"', name="quoted"),
        asking("echo 100% abc", name="percent"),
        asking("back\\slash", name="backslash"),
    )
    assert await found(store, text=wanted) == names


async def test_who_may_not_see_all_sees_own_jobs_and_those_of_the_groups_they_lead(
    store: Store,
) -> None:
    await insert(
        store,
        a_job(name="own", owner="alice"),
        a_job(name="led", owner="bob", group="vision"),
        a_job(name="other", owner="bob", group="speech"),
        a_job(name="private", owner="bob"),
    )
    assert await found(store, seen_by=Sight("alice")) == ["own"]
    assert await found(store, seen_by=Sight("alice", ("vision",))) == ["led", "own"]
    assert await found(store, seen_by=Sight("alice", ("vision", "x")), owner="bob") == ["led"]
    assert await found(store, seen_by=Sight("carol", ())) == []


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("sort", SORTS)
async def test_pages_hold_every_job_once_in_order_while_others_arrive(
    store: Store, sort: str, descending: bool
) -> None:
    def many(first: int) -> list[JobRow]:
        states = list(State)
        return [
            a_job(
                name=f"n{i * 7 % 5}",
                owner=f"o{i % 3}",
                state=states[i % len(states)],
                priority=i % 4 - 2,
                started_at=None if i % 3 == 0 else 100.5 + i % 4,
                ended_at=None if i % 2 else 200.0 + i % 5,
            )
            for i in range(first, first + 23)
        ]

    known = await insert(store, *many(0))
    query = JobQuery(sort=sort, descending=descending, limit=4)
    seen: list[JobRow] = []
    while page := await store.read(lambda tx, query=query: list_jobs(tx, query)):
        seen += page
        query = replace(query, behind=place_of(page[-1], sort))
        if len(seen) < 20:
            await insert(store, *many(len(seen))[:2])
    places = [place_of(row, sort) for row in seen]
    assert places == sorted(places, reverse=descending)
    ids = [row.id for row in seen]
    assert len(ids) == len(set(ids))
    assert {row.id for row in known} <= set(ids)


async def test_arrays_are_folded_and_counted_whatever_part_of_them_matches(store: Store) -> None:
    states = [State.SUCCEEDED, State.RUNNING, State.QUEUED, State.QUEUED]
    array = [
        a_job(name="grid", array_id="first", array_index=i, state=state)
        for i, state in enumerate(states)
    ]
    rows = await insert(store, a_job(name="old"), *array, a_job(name="new"))
    whole = Whole(rows[1].seq, {State.SUCCEEDED: 1, State.RUNNING: 1, State.QUEUED: 2})

    async def folded(**filters: Any) -> list[tuple[int, Whole | None]]:
        found = await store.read(lambda tx: list_folded(tx, JobQuery(**filters)))
        return [(row.seq, each) for row, each in found]

    ends = (rows[5].seq, None), (rows[0].seq, None)
    assert await folded() == [ends[0], (rows[4].seq, whole), ends[1]]
    assert await folded(limit=2) == [ends[0], (rows[4].seq, whole)]
    assert await folded(behind=(None, whole.first)) == [ends[1]]
    assert await folded(states=(State.RUNNING,)) == [(rows[2].seq, whole)]
    counted = await store.read(lambda tx: count_jobs(tx, JobQuery(active=True, limit=1)))
    assert counted == {State.RUNNING: 1, State.QUEUED: 4}
