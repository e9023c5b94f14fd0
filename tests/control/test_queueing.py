"""The control loop on an engine that has a queue of its own, places by itself, and is not alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from danlu.control import driver
from danlu.control.life import Stage
from danlu.engines.api import Identity, Launch, TaskLaunch
from danlu.sched.api import CauseKind
from danlu.sched.explain.words import sentence
from danlu.spec.job import GpuRequest, Resources
from danlu.spec.states import Reason
from danlu.store.events import events_of
from danlu.store.rows import AttemptRow, JobRow
from tests.control.harness import PATIENCE, Harness
from tests.engines.harness import argv, attempt_id, eventually
from tests.engines.queueing import WAITS, BatchSystem, Entry, QueueingEngine

A_WHILE = 0.5  # seconds: several looks at the engine


class QueueingHarness(Harness):
    engine: QueueingEngine

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, lambda data: QueueingEngine(self.system))
        self.system = BatchSystem(folder / "elsewhere")

    async def submitted(self, job: JobRow) -> Entry:
        """Waits until it has reached the batch system."""
        await eventually(lambda: self._entry(job))
        entry = self._entry(job)
        assert entry is not None
        return entry

    def _entry(self, job: JobRow) -> Entry | None:
        entries = self.system.entries.values()
        return next((e for e in entries if e.launch.job_id == job.id), None)

    async def attempt(self, job: JobRow) -> AttemptRow:
        """As it is on disk."""
        return (await self.lookup.attempts(job.id))[-1]

    async def written(self, job: JobRow, entry: Entry) -> None:
        """Waits until its handle is on disk."""
        async with asyncio.timeout(PATIENCE):
            while (await self.attempt(job)).handle != entry.handle:  # noqa: ASYNC110 - a file
                await asyncio.sleep(0.02)

    async def events(self, job: JobRow) -> list[str]:
        found = await self.store.read(lambda tx: events_of(tx, job.id))
        return [event.kind for event in found]

    def why(self, job: JobRow) -> str:
        return sentence(self.controller.planner.explain(job.id)).en


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[QueueingHarness]:
    harness = QueueingHarness(tmp_path)
    harness.system.data.mkdir()
    await harness.system.start()
    await harness.open()
    yield harness
    harness.system.away = harness.system.blind = False
    async with asyncio.timeout(60):
        await harness.clear()
    await harness.close()
    await harness.system.close()


async def test_what_waits_in_the_engines_queue_is_queued_and_its_time_has_not_begun(
    harness: QueueingHarness,
) -> None:
    harness.system.held = True
    job = await harness.submit(command="sleep 1000", time_limit=1, grace=0)
    await harness.submitted(job)
    await asyncio.sleep(1.3)
    waits = await harness.look(job)
    assert (waits.state, waits.started_at) == ("queued", None)
    explanation = harness.controller.planner.explain(job.id)
    assert [cause.kind for cause in explanation.causes] == [CauseKind.ENGINE]
    assert WAITS in harness.why(job)
    harness.system.release()
    runs = await harness.until(job, "running")
    assert runs.started_at is not None
    assert runs.started_at > runs.submitted_at + 1.3
    ended = await harness.ended(job)
    assert ended.reason is Reason.TIME_LIMIT


async def test_an_engine_that_places_is_told_no_places_and_tells_them(
    harness: QueueingHarness,
) -> None:
    job = await harness.submit(command="sleep 1000", gpus=2, count=2)
    entry = await harness.submitted(job)
    assert entry.launch.places is None
    await harness.until(job, "running")
    found = [(place.node, place.gpus) for place in (await harness.attempt(job)).places]
    assert found == [("q1", (0, 1)), ("q1", (2, 3))]
    held = harness.controller.context.ledger.gpu_holders()
    assert {gpu for gpu, holds in held.items() if holds} == {("q1", i) for i in range(4)}
    await harness.restart()
    assert (await harness.look(job)).state == "running"
    assert harness.controller.context.ledger.gpu_holders().keys() == held.keys()


async def test_a_gang_that_starts_in_stages_gets_the_nodes_of_all_its_tasks(
    harness: QueueingHarness,
) -> None:
    harness.system.staged = True
    job = await harness.submit(command="sleep 1000", gpus=2, count=2)
    await harness.until(job, "running")
    found = [(place.node, place.gpus) for place in (await harness.attempt(job)).places]
    assert found == [("q1", (0, 1)), ("", ())]
    await harness.system.start_rest()
    await _placed(harness, job)
    held = harness.controller.context.ledger.gpu_holders()
    assert {gpu: len(holds) for gpu, holds in held.items()} == {("q1", i): 1 for i in range(4)}
    kinds = [kind for kind in await harness.events(job) if kind != "pending"]  # if it waited
    assert kinds == ["submitted", "admitted", "placed", "started", "placed"]


async def test_a_gang_that_starts_in_stages_across_a_restart_gets_all_its_nodes(
    harness: QueueingHarness,
) -> None:
    harness.system.staged = True
    job = await harness.submit(command="sleep 1000", gpus=2, count=2)
    await harness.until(job, "running")
    await harness.close()
    await harness.system.start_rest()
    await harness.open()
    await _placed(harness, job)


async def _placed(harness: QueueingHarness, job: JobRow) -> None:
    """Waits until all nodes of a gang of two are on disk."""
    async with asyncio.timeout(PATIENCE):
        while True:
            places = (await harness.attempt(job)).places
            if all(place.node for place in places):
                break
            await asyncio.sleep(0.02)
    assert [(place.node, place.gpus) for place in places] == [("q1", (0, 1)), ("q1", (2, 3))]


async def test_a_queue_that_the_engine_places_gets_all_that_limits_allow(
    harness: QueueingHarness,
) -> None:
    """However full the nodes look: the engine decides who is next."""
    harness.system.held = True
    jobs = [await harness.submit(command="true", gpus=4) for _ in range(3)]
    late = await harness.submit(command="true", held=True)
    for job in jobs:
        await harness.submitted(job)
    assert harness.system.submissions[-1] != late.id
    assert (await harness.look(late)).state == "queued"
    assert "Held" in harness.why(late)
    explanation = harness.controller.planner.explain(late.id)
    assert all(cause.basis != "verified" for cause in explanation.causes)
    harness.system.release()
    for job in jobs:
        assert (await harness.ended(job)).state == "succeeded"


async def test_a_handle_whose_answer_was_lost_is_found_kept_and_used(
    harness: QueueingHarness,
) -> None:
    harness.system.lost_answers = 1
    job = await harness.submit(command="sleep 1000")
    entry = await harness.submitted(job)
    await harness.until(job, "running")
    assert (await harness.attempt(job)).handle == entry.handle
    harness.system.blind = True
    await harness.restart()
    await harness.stop(job)
    await eventually(lambda: entry.ended)
    harness.system.blind = False
    assert (await harness.ended(job)).reason is Reason.STOPPED_BY_USER
    assert len(harness.system.submissions) == 1


async def test_an_engine_that_is_away_at_the_start_is_taken_over_when_it_is_back(
    harness: QueueingHarness,
) -> None:
    runs = await harness.submit(command="sleep 1000")
    await harness.until(runs, "running")
    await harness.close()
    harness.system.away = True
    async with asyncio.timeout(30):
        await harness.open()
    assert (await harness.look(runs)).state == "running"
    waits = await harness.submit(command="true")
    await asyncio.sleep(A_WHILE)
    assert (await harness.look(waits)).state == "queued"
    assert "has not answered" in harness.why(waits)
    context = harness.controller.context
    assert context.engines.unknown_since(context.jobs[runs.id]) is not None
    harness.system.away = False
    assert (await harness.ended(waits)).state == "succeeded"
    await eventually(lambda: context.engines.unknown_since(context.jobs[runs.id]) is None)
    await harness.stop(runs)
    assert (await harness.ended(runs)).attempt == 1
    assert len(harness.system.submissions) == 2


async def test_what_the_engine_cannot_tell_after_a_restart_is_unknown_and_not_launched_again(
    harness: QueueingHarness,
) -> None:
    job = await harness.submit(command="sleep 1000")
    await harness.until(job, "running")
    await harness.close()
    harness.system.blind = True
    await harness.open()
    await asyncio.sleep(A_WHILE)
    found = await harness.look(job)
    assert (found.state, found.attempt) == ("running", 1)
    assert len(harness.system.submissions) == 1
    context = harness.controller.context
    assert context.engines.unknown_since(context.jobs[job.id]) is not None
    harness.system.blind = False
    await eventually(lambda: context.engines.unknown_since(context.jobs[job.id]) is None)
    await harness.stop(job)
    assert (await harness.ended(job)).attempt == 1


async def test_what_another_installation_launched_is_left_alone_and_counted_apart(
    harness: QueueingHarness,
) -> None:
    harness.system.submit(_launch("another installation", gpus=3))
    theirs = next(iter(harness.system.entries.values()))
    await eventually(lambda: theirs.tasks[0].gpus)
    await harness.restart()
    job = await harness.submit(command="true")
    assert (await harness.ended(job)).state == "succeeded"
    await asyncio.sleep(A_WHILE)
    assert not theirs.ended
    assert theirs.handle in harness.system.entries
    assert theirs.launch.attempt_id not in harness.controller.context.attempts

    def counted() -> tuple[int, int, int]:
        totals = harness.controller.planner.totals().all
        return totals.outside, totals.used, totals.free

    await eventually(lambda: counted() == (3000, 0, 1000))


async def test_our_own_that_nobody_wants_any_more_is_ended(harness: QueueingHarness) -> None:
    mine = harness.controller.context.installation
    entry = harness.system.submit(_launch(mine))
    await eventually(lambda: entry.handle not in harness.system.entries)


async def test_a_result_that_the_engine_forgot_is_lost_and_the_job_is_tried_again(
    harness: QueueingHarness,
) -> None:
    job = await harness.submit(command="sleep 0.4")
    await harness.until(job, "running")
    await harness.close()
    harness.system.forget()  # it may have ended by now
    await eventually(lambda: not harness.system.entries)
    harness.system.forgets = False
    await harness.open()
    ended = await harness.ended(job)
    assert (ended.state, ended.attempt, ended.failures) == ("succeeded", 2, 0)


async def test_what_waits_in_the_engines_queue_is_found_there_after_a_restart(
    harness: QueueingHarness,
) -> None:
    harness.system.held = True
    job = await harness.submit(command="true")
    entry = await harness.submitted(job)
    await eventually(lambda: harness.controller.context.jobs[job.id].seen)
    await harness.restart()
    await harness.written(job, entry)
    assert (await harness.look(job)).state == "queued"
    assert "pending" in await harness.events(job)
    harness.system.release()
    ended = await harness.ended(job)
    assert (ended.state, ended.attempt) == ("succeeded", 1)
    assert len(harness.system.submissions) == 1


async def test_a_short_stay_in_the_engines_queue_is_not_written_but_its_handle_is(
    harness: QueueingHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "SETTLED", 3600.0)
    harness.system.held = True
    job = await harness.submit(command="true")
    entry = await harness.submitted(job)
    live = harness.controller.context.jobs[job.id]
    await eventually(lambda: live.stage is Stage.PENDING)
    assert (await harness.attempt(job)).handle == ""
    harness.system.release()
    assert (await harness.ended(job)).state == "succeeded"
    assert (await harness.attempt(job)).handle == entry.handle
    assert "pending" not in await harness.events(job)


async def test_a_stop_soon_after_it_joined_the_engines_queue_is_not_overwritten(
    harness: QueueingHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "SETTLED", 1.5)
    harness.system.held = True
    job = await harness.submit(command="true")
    entry = await harness.submitted(job)
    live = harness.controller.context.jobs[job.id]
    await eventually(lambda: live.stage is Stage.PENDING)
    harness.system.away = True  # it cannot be told yet
    await harness.controller.stop(live, "ann")
    await harness.written(job, entry)
    assert (await harness.look(job)).state == "stopping"
    harness.system.away = False
    assert (await harness.ended(job)).state == "stopped"


async def test_what_is_starting_for_long_is_found_there_after_a_restart(
    harness: QueueingHarness,
) -> None:
    harness.system.held = harness.system.pulls = True
    job = await harness.submit(command="true")
    entry = await harness.submitted(job)
    starting = await harness.until(job, "starting")
    assert starting.started_at is None
    assert (await harness.attempt(job)).handle == entry.handle
    assert "pending" not in await harness.events(job)
    await harness.restart()
    harness.system.release()
    ended = await harness.ended(job)
    assert (ended.state, ended.attempt) == ("succeeded", 1)
    assert len(harness.system.submissions) == 1


async def test_a_job_that_is_stopped_in_the_engines_queue_never_starts(
    harness: QueueingHarness,
) -> None:
    harness.system.held = True
    job = await harness.submit(command="true")
    await harness.submitted(job)
    await harness.stop(job)
    ended = await harness.ended(job)
    assert (ended.reason, ended.started_at) == (Reason.STOPPED_BY_USER, None)


def _launch(installation: str, gpus: int = 0) -> Launch:
    need = Resources(GpuRequest(gpus), 1.0, 1 << 26, 1 << 20)
    task = TaskLaunch(0, "main", 0, argv("sleep", "600"), need)
    launch = Launch(attempt_id(), "theirs", 0, Identity("bob"), (task,))
    return replace(launch, installation=installation)
