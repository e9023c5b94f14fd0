"""Jobs get their numbers without races and are found again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import func, select

from danlu.spec.states import Reason, State
from danlu.store import Store, StoreConflict, Tx, attempts, jobs, tables
from danlu.store.listing import JobQuery, list_jobs
from danlu.store.rows import JobRow
from danlu.store.tx import Statement
from tests.store.samples import a_job, an_attempt, new_id


async def insert(store: Store, *rows: JobRow) -> list[JobRow]:
    inserted = await store.write(lambda tx: jobs.insert_jobs(tx, list(rows)))
    return [one.row for one in inserted]


async def listed(store: Store, **filters: Any) -> list[str]:
    found = await store.read(lambda tx: list_jobs(tx, JobQuery(**filters)))
    return [row.ref for row in found]


async def test_each_owner_and_name_counts_for_itself(store: Store) -> None:
    rows = await insert(
        store, a_job(), a_job(), a_job(name="bert"), a_job(owner="bob"), a_job(name="bert")
    )
    expected = ["alice/mnist-1", "alice/mnist-2", "alice/bert-1", "bob/mnist-1", "alice/bert-2"]
    assert [row.ref for row in rows] == expected
    assert [row.seq for row in rows] == [1, 2, 3, 4, 5]


async def test_two_servers_at_once_never_give_a_number_twice(store: Store, url: str) -> None:
    other = Store.open(url)
    both = await asyncio.gather(*(insert(s, a_job()) for _ in range(50) for s in (store, other)))
    assert sorted(row.number for (row,) in both) == list(range(1, 101))
    assert sorted(row.seq for (row,) in both) == list(range(1, 101))
    await other.close()


async def test_the_elements_of_an_array_share_one_number(store: Store) -> None:
    await insert(store, a_job())
    array = new_id()
    elements = [
        a_job(id=array if i == 0 else new_id(), array_id=array, array_index=i) for i in range(3)
    ]
    rows = await insert(store, *elements)
    assert [row.ref for row in rows] == [f"alice/mnist-2.{i}" for i in range(3)]
    (late,) = await insert(store, a_job(array_id=array, array_index=7))
    assert late.ref == "alice/mnist-2.7"
    (next_one,) = await insert(store, a_job())
    assert next_one.number == 3


async def test_the_same_id_again_changes_nothing(store: Store) -> None:
    job = a_job()
    (first,) = await insert(store, job)
    again = a_job(id=job.id, name="other", state=State.FAILED)
    result = await store.write(lambda tx: jobs.insert_jobs(tx, [again, a_job()]))
    assert [one.new for one in result] == [False, True]
    assert result[0].row == first
    assert await listed(store) == ["alice/mnist-2", "alice/mnist-1"]


async def test_the_same_id_twice_in_one_request_is_one_job(store: Store) -> None:
    job = a_job()
    result = await store.write(lambda tx: jobs.insert_jobs(tx, [job, job]))
    assert [one.new for one in result] == [True, False]
    assert result[0].row == result[1].row


async def test_inserting_leaves_the_given_rows_as_they_were(store: Store) -> None:
    job = a_job()
    await insert(store, job)
    assert (job.number, job.seq) == (0, 0)


async def test_two_plain_jobs_cannot_share_a_reference(store: Store) -> None:
    await insert(store, a_job(), a_job(name="bert"))

    def clash(tx: Tx) -> bool:
        bert = jobs.find_job(tx, "alice", "bert", 1)[0]
        return jobs.update_job(tx, bert.id, name="mnist")

    with pytest.raises(StoreConflict):
        await store.write(clash)


async def test_changes_are_kept(store: Store) -> None:
    (row,) = await insert(store, a_job())
    ended = {
        "state": State.FAILED,
        "reason": Reason.EXIT_CODE,
        "detail": {"code": 3},
        "exit_code": 3,
        "ended_at": 1700000009.125,
        "held": True,
    }
    assert await store.write(lambda tx: jobs.update_job(tx, row.id, **ended))
    stored = await store.read(lambda tx: jobs.get_job(tx, row.id))
    assert stored is not None
    for name, value in ended.items():
        assert getattr(stored, name) == value
        assert type(getattr(stored, name)) is type(value)


async def test_changing_what_does_not_exist_is_told(store: Store) -> None:
    assert not await store.write(lambda tx: jobs.update_job(tx, "nobody", priority=1))
    assert await store.read(lambda tx: jobs.get_job(tx, "nobody")) is None
    with pytest.raises(TypeError, match="colour"):
        await store.write(lambda tx: jobs.update_job(tx, "nobody", colour="red"))


async def test_a_reference_finds_what_it_names(store: Store) -> None:
    array = new_id()
    elements = [a_job(array_id=array, array_index=i) for i in range(3)]
    await insert(store, *elements, a_job(owner="bob"))

    async def find(*reference: Any) -> list[str]:
        found = await store.read(lambda tx: jobs.find_job(tx, *reference))
        return [row.ref for row in found]

    whole = [f"alice/mnist-1.{i}" for i in range(3)]
    assert await find("alice", "mnist", 1) == whole
    assert await find("alice", "mnist", 1, 2) == [whole[2]]
    assert await find("bob", "mnist", 1) == ["bob/mnist-1"]
    assert await find(None, "mnist", 1) == [*whole, "bob/mnist-1"]
    assert await find(None, "mnist", 2) == []
    assert await find("alice", "mnist", 1, 3) == []


async def test_lists_are_newest_first_and_filtered(store: Store) -> None:
    states = [State.QUEUED, State.RUNNING, State.SUCCEEDED, State.FAILED, State.STOPPING]
    await insert(store, *(a_job(state=state) for state in states), a_job(owner="bob", name="bert"))
    of_alice = [f"alice/mnist-{n}" for n in (5, 4, 3, 2, 1)]
    assert await listed(store) == ["bob/bert-1", *of_alice]
    assert await listed(store, owner="alice") == of_alice
    assert await listed(store, name="bert") == ["bob/bert-1"]
    assert await listed(store, states=(State.FAILED, State.QUEUED), owner="alice") == [
        "alice/mnist-4",
        "alice/mnist-1",
    ]
    assert await listed(store, active=True, owner="alice") == [of_alice[0], *of_alice[3:]]
    assert await listed(store, active=False) == of_alice[1:3]
    assert await listed(store, limit=2) == ["bob/bert-1", "alice/mnist-5"]
    assert await listed(store, limit=2, behind=(None, 5)) == ["alice/mnist-4", "alice/mnist-3"]
    active = await store.read(jobs.active_jobs)
    assert [row.seq for row in active] == [1, 2, 5, 6]


async def test_the_last_that_ended_well_are_told_the_oldest_first(store: Store) -> None:
    states = (State.SUCCEEDED, State.FAILED, State.SUCCEEDED, State.QUEUED, State.SUCCEEDED)
    await insert(store, *(a_job(state=state) for state in states))
    for most, expected in ((10, [1, 3, 5]), (2, [3, 5])):
        rows = await store.read(lambda tx, most=most: jobs.succeeded_lately(tx, most))
        assert [row.seq for row in rows] == expected


async def test_attempts_belong_to_their_job(store: Store) -> None:
    (job,) = await insert(store, a_job())
    first, second = an_attempt(job.id, 1), an_attempt(job.id, 2)

    def both(tx: Tx) -> None:
        attempts.insert_attempt(tx, second)
        attempts.insert_attempt(tx, first)
        attempts.update_attempt(tx, first.id, state=State.FAILED, stop={"by": "alice"}, tasks=[{}])

    await store.write(both)
    found = await store.read(lambda tx: attempts.attempts_of(tx, job.id))
    assert [attempt.number for attempt in found] == [1, 2]
    assert found[0].stop == {"by": "alice"} and found[0].tasks == [{}] and found[1].stop is None
    assert await store.read(attempts.active_attempts) == [second]
    assert found[1] == second
    with pytest.raises(StoreConflict):
        await store.write(lambda tx: attempts.insert_attempt(tx, an_attempt(job.id, 2)))
    with pytest.raises(StoreConflict):
        await store.write(lambda tx: attempts.insert_attempt(tx, an_attempt("nobody")))


async def test_a_large_array_is_inserted_whole(store: Store) -> None:
    array = new_id()
    rows = await insert(store, *(a_job(array_id=array, array_index=i) for i in range(3000)))
    assert {row.number for row in rows} == {1}
    assert len(await store.read(jobs.active_jobs)) == 3000


async def test_the_elements_of_an_array_share_one_stored_spec(store: Store) -> None:
    array, spec = new_id(), {"roles": [{"command": {"words": ["train", "x" * 5000]}}]}
    elements = [a_job(array_id=array, array_index=i, spec=spec) for i in range(100)]
    await insert(store, *elements, a_job())
    size = Statement(select(func.sum(func.length(tables.jobs.c.spec))))
    (stored,) = await store.read(lambda tx: tx.row(size)) or (0,)
    assert stored < 5000
    found = await store.read(jobs.active_jobs)
    assert [row.spec for row in found[:100]] == [spec] * 100
    assert found[0].spec is found[99].spec, "in memory, too"
    by_id = await store.read(lambda tx: jobs.get_jobs(tx, [elements[7].id, "no such job"]))
    assert {id: row.spec for id, row in by_id.items()} == {elements[7].id: spec}
    assert len(await listed(store, text="TRAIN xxx", limit=200)) == 100


async def test_an_array_sent_again_with_another_spec_stays_as_it_is(store: Store) -> None:
    array = new_id()
    first = [
        a_job(id=array if i == 0 else f"{array}-{i}", array_id=array, array_index=i)
        for i in range(2)
    ]
    await insert(store, *first)
    larger = [
        a_job(
            id=array if i == 0 else f"{array}-{i}", array_id=array, array_index=i, spec={"a": "b"}
        )
        for i in range(4)
    ]
    result = await store.write(lambda tx: jobs.insert_jobs(tx, larger))
    assert [(one.row.id, one.new, one.row.spec) for one in result] == [
        (row.id, False, row.spec) for row in first
    ]
