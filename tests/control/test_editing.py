"""A waiting job is changed in place: it keeps its turn, and what `why` suggests comes true."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu.control.changes import change_of
from danlu.control.editing import edit
from danlu.control.live_job import shapes_of, waiting_of
from danlu.sched.api import Effect
from danlu.sched.explain import whatif
from danlu.spec.complete import complete
from danlu.spec.defaults import Defaults
from danlu.spec.edit import edited
from danlu.spec.states import State
from danlu.spec.text import Text
from danlu.store.errors import StoreError
from danlu.store.events import events_of
from danlu.store.rows import JobRow
from tests.control.harness import Harness


async def change(harness: Harness, row: JobRow, **changes: object) -> None:
    job = harness.controller.context.jobs[row.id]
    await edit(harness.controller, [(job, edited(job.spec, changes, Defaults()))], "alice")


async def full(harness: Harness, gpus: int = 3) -> None:
    for _ in range(2):
        await harness.until(await harness.submit(command="sleep 1000", gpus=gpus), "running")


async def test_it_keeps_its_turn_and_the_change_is_recorded(harness: Harness) -> None:
    await full(harness)
    first = await harness.submit(command="sleep 1000", gpus=4, name="first")
    second = await harness.submit(command="sleep 1000", gpus=2, name="second")
    await change(harness, first, gpus=3)
    waiting = harness.controller.context.queue.waiting
    assert [job.job_id for job in waiting] == [first.id, second.id]
    row = await harness.look(first)
    assert (row.seq, row.priority, row.submitted_at) == (
        first.seq,
        first.priority,
        first.submitted_at,
    )
    events = await harness.store.read(lambda tx: events_of(tx, first.id))
    assert events[-1].data == {
        "changes": {"gpus": [4, 3], "cpus": [0.5, 0.375], "memory": ["64M", "48M"]}
    }


async def test_a_higher_priority_goes_first_also_after_a_restart(harness: Harness) -> None:
    await full(harness)
    first = await harness.submit(command="sleep 1000", gpus=4, name="first")
    second = await harness.submit(command="sleep 1000", gpus=4, name="second")
    await change(harness, second, priority=5)
    for _ in range(2):
        waiting = harness.controller.context.queue.waiting
        assert [job.job_id for job in waiting] == [second.id, first.id]
        assert (await harness.look(second)).priority == 5
        await harness.restart()


async def test_a_change_survives_a_restart(harness: Harness) -> None:
    await full(harness)
    row = await harness.submit(command="sleep 1000", gpus=4)
    await change(harness, row, gpus=2)
    await harness.restart()
    assert [shape.gpus for shape in harness.controller.context.jobs[row.id].shapes] == [2]


async def test_a_change_that_cannot_be_written_changes_nothing(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await full(harness)
    row = await harness.submit(command="sleep 1000", gpus=4)

    async def broken(op: object) -> None:
        raise StoreError(Text("the disk is gone", "磁盘不见了"))

    with monkeypatch.context() as patch:
        patch.setattr(harness.store, "write", broken)
        with pytest.raises(StoreError):
            await change(harness, row, gpus=1)
    job = harness.controller.context.jobs[row.id]
    assert (job.shapes[0].gpus, job.editing) == (4, False)
    assert job.waiting is not None
    assert job.waiting.blocked is None


async def test_stopping_a_job_while_it_is_changed_ends_it(harness: Harness) -> None:
    await full(harness)
    row = await harness.submit(command="sleep 1000", gpus=4)
    await asyncio.gather(change(harness, row, gpus=3), harness.stop(row))
    await harness.ended(row)
    assert not harness.controller.context.queue.waiting


async def test_each_suggestion_of_a_start_is_true_when_its_change_is_made(harness: Harness) -> None:
    await full(harness)
    planner = harness.controller.planner
    row = await harness.submit(command="sleep 1000", gpus=4)
    tried = 0
    for kind in {one.kind for one in planner.explain(row.id).suggestions}:
        found = {one.kind: one for one in planner.explain(row.id).suggestions}
        if found[kind].effect is not Effect.STARTS_NOW:
            continue
        assert found[kind].change
        await change(harness, row, **found[kind].change)
        await harness.until(row, "running")
        tried += 1
        await harness.stop(row)
        await harness.ended(row)
        row = await harness.submit(command="sleep 1000", gpus=4)
    assert tried


@given(
    st.integers(1, 4),
    st.integers(0, 6),
    st.sampled_from([None, "A100"]),
    st.sampled_from([1.0, 3.5, 8.0]),
    st.sampled_from([None, 3600]),
)
@settings(max_examples=60, deadline=None)
def test_the_change_of_a_suggestion_asks_for_what_was_tried(
    tasks: int, gpus: int, model: str | None, cpus: float, limit: int | None
) -> None:
    asked = {"count": gpus, "model": model} if model and gpus else gpus
    job = {"command": "x", "gpus": asked, "cpus": cpus, "memory": "8G", "count": tasks}
    spec = complete({**job, "time_limit": limit, "nodes": {"labels": ["fast"]}})
    before = waiting_of(_row(), spec, shapes_of(spec))
    for after in (*whatif.splits(before), *(one.job for one in whatif._place(before))):
        after_spec = edited(spec, change_of(spec, before, after), Defaults())
        assert shapes_of(after_spec) == after.shapes


def _row() -> JobRow:
    return JobRow("id", "alice", "x", 1, "train", State.QUEUED, {}, "default", 0, 0.0)
