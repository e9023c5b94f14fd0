"""What the control loop keeps in memory is built anew at a start, from what is on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.engines.api import Unreachable
from danlu.spec.states import Reason
from tests.control.harness import Harness
from tests.engines.harness import eventually


def _wait(path: Path) -> str:
    return f"while [ ! -e {path} ]; do sleep 0.02; done"


async def test_a_running_job_is_adopted_and_ends_as_it_would_have(
    harness: Harness, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    job = await harness.submit(command=f"echo before; {_wait(go)}; echo after; exit 5")
    await harness.until(job, "running")
    await harness.restart()
    assert (await harness.look(job)).state == "running"
    go.touch()
    ended = await harness.ended(job)
    assert (ended.exit_code, ended.attempt) == (5, 1)
    assert await harness.log(ended) == b"before\nafter\n"


async def test_a_job_that_ended_while_nobody_looked_is_found(
    harness: Harness, tmp_path: Path
) -> None:
    go, done = tmp_path / "go", tmp_path / "done"
    job = await harness.submit(command=f"{_wait(go)}; touch {done}; exit 6", retries=1)
    await harness.until(job, "running")
    await harness.close()
    go.touch()
    await eventually(done.exists)
    await harness.open()
    ended = await harness.ended(job)
    assert (ended.exit_code, ended.attempt, ended.failures) == (6, 2, 2)


async def test_what_running_jobs_hold_stays_theirs(harness: Harness) -> None:
    jobs = [await harness.submit(command="sleep 1000", gpus=2, ports=2, cpus=2) for _ in range(3)]
    for job in jobs:
        await harness.until(job, "running")
    context = harness.controller.context
    before = _holders(harness)
    free = [(state.name, state.cpus_free, state.memory_free) for state in context.ledger.states()]
    leased = {p for job in jobs for p in _ports(harness, job.id)}
    await harness.restart()
    context = harness.controller.context
    after = _holders(harness)
    assert after == before
    assert len(after) == 6
    assert [(s.name, s.cpus_free, s.memory_free) for s in context.ledger.states()] == free
    another = await harness.submit(command="sleep 1000", ports=4)
    await harness.until(another, "running")
    assert leased.isdisjoint(_ports(harness, another.id))


def _holders(harness: Harness) -> dict[tuple[str, int], list[str]]:
    gpus = harness.controller.context.ledger.gpu_holders()
    return {gpu: [hold.job_id for hold in holds] for gpu, holds in gpus.items()}


def _ports(harness: Harness, job_id: str) -> list[int]:
    attempt = harness.controller.context.jobs[job_id].attempt
    assert attempt is not None
    return [port for place in attempt.places for port in place.ports]


async def test_the_queue_keeps_its_order_its_holds_and_its_dependencies(harness: Harness) -> None:
    first = await harness.submit(name="first", command="true", held=True)
    waits = await harness.submit(name="waits", command="true", after=[f"first-{first.number}"])
    never = await harness.submit(
        name="never", command="true", after=[{"job": f"first-{first.number}", "when": "failed"}]
    )
    urgent = await harness.submit(name="urgent", command="true", priority=9, held=True)
    await harness.restart()
    queue = harness.controller.context.queue.waiting
    assert [job.job_id for job in queue] == [urgent.id, first.id, waits.id, never.id]
    assert all(job.blocked is not None for job in queue)
    await harness.controller.hold(harness.controller.context.jobs[first.id], False, "test")
    assert (await harness.ended(waits)).state == "succeeded"
    assert (await harness.ended(never)).reason is Reason.DEPENDENCY_FAILED


async def test_a_dependency_that_was_met_while_the_server_was_down_counts(
    harness: Harness, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    first = await harness.submit(name="first", command=_wait(go))
    job = await harness.submit(command="true", after=[f"first-{first.number}"])
    await harness.until(first, "running")
    await harness.close()
    go.touch()
    await harness.open()
    assert (await harness.ended(job)).state == "succeeded"


async def test_the_limit_of_an_array_counts_what_still_runs(harness: Harness) -> None:
    jobs = await harness.submit_all(command="sleep 1000", array="0-4%2")
    for job in jobs[:2]:
        await harness.until(job, "running")
    await harness.restart()
    await harness.stop(jobs[0])
    await harness.until(jobs[2], "running")
    states = [(await harness.look(job)).state for job in jobs]
    assert states == ["stopped", "running", "running", "queued", "queued"]


async def test_a_stop_that_was_acknowledged_happens_after_the_restart(harness: Harness) -> None:
    job = await harness.submit(command="trap '' TERM; echo up; while :; do sleep 0.1; done")
    await harness.until(job, "running")
    await harness.printed(job, b"up")
    await harness.stop(job, grace=1.0)
    await harness.restart()
    ended = await harness.ended(job)
    assert (ended.state, ended.reason) == ("stopped", Reason.STOPPED_BY_USER)
    assert ended.detail["detail"] == "test"


async def test_a_time_limit_goes_on_counting(harness: Harness) -> None:
    job = await harness.submit(command="sleep 1000", time_limit=2, grace=0)
    await harness.until(job, "running")
    await harness.restart()
    ended = await harness.ended(job)
    assert ended.reason is Reason.TIME_LIMIT
    assert ended.attempt == 1


async def test_what_a_predecessor_placed_is_launched_by_who_leads_now(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the new leader has launched others before it."""

    async def away(*_: object) -> str:
        raise Unreachable("not now")

    engine = harness.engine
    monkeypatch.setattr(engine, "launch", away)
    job = await harness.submit(command="echo ran")
    await harness.until(job, "starting")
    before = harness.controller.context.epoch
    await harness.close()
    monkeypatch.undo()
    (harness.data / "run" / "epoch").write_text(str(before + 1))
    await harness.open()
    ended = await harness.ended(job)
    assert (ended.state, ended.attempt) == ("succeeded", 1)
