"""What the control loop keeps in memory is built anew at a start, from what is on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.engines.api import Unreachable
from danlu.spec.states import Reason
from tests.control.desk import Desk
from tests.engines.world import eventually


def _wait(path: Path) -> str:
    return f"while [ ! -e {path} ]; do sleep 0.02; done"


async def test_a_running_job_is_adopted_and_ends_as_it_would_have(
    desk: Desk, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    job = await desk.submit(command=f"echo before; {_wait(go)}; echo after; exit 5")
    await desk.until(job, "running")
    await desk.restart()
    assert (await desk.look(job)).state == "running"
    go.touch()
    ended = await desk.ended(job)
    assert (ended.exit_code, ended.attempt) == (5, 1)
    assert await desk.log(ended) == b"before\nafter\n"


async def test_a_job_that_ended_while_nobody_looked_is_found(desk: Desk, tmp_path: Path) -> None:
    go, done = tmp_path / "go", tmp_path / "done"
    job = await desk.submit(command=f"{_wait(go)}; touch {done}; exit 6", retries=1)
    await desk.until(job, "running")
    await desk.close()
    go.touch()
    await eventually(done.exists)
    await desk.open()
    ended = await desk.ended(job)
    assert (ended.exit_code, ended.attempt, ended.failures) == (6, 2, 2)


async def test_what_running_jobs_hold_stays_theirs(desk: Desk) -> None:
    jobs = [await desk.submit(command="sleep 1000", gpus=2, ports=2, cpus=2) for _ in range(3)]
    for job in jobs:
        await desk.until(job, "running")
    rooms = desk.controller.rooms
    before = _holders(desk)
    free = [(state.name, state.cpus_free, state.memory_free) for state in rooms.ledger.states()]
    leased = {p for job in jobs for p in _ports(desk, job.id)}
    await desk.restart()
    rooms = desk.controller.rooms
    after = _holders(desk)
    assert after == before
    assert len(after) == 6
    assert [(s.name, s.cpus_free, s.memory_free) for s in rooms.ledger.states()] == free
    another = await desk.submit(command="sleep 1000", ports=4)
    await desk.until(another, "running")
    assert leased.isdisjoint(_ports(desk, another.id))


def _holders(desk: Desk) -> dict[tuple[str, int], list[str]]:
    cards = desk.controller.rooms.ledger.card_holders()
    return {card: [hold.job_id for hold in holds] for card, holds in cards.items()}


def _ports(desk: Desk, job_id: str) -> list[int]:
    attempt = desk.controller.rooms.jobs[job_id].attempt
    assert attempt is not None
    return [int(port) for place in attempt.places for port in place["ports"]]


async def test_the_queue_keeps_its_order_its_holds_and_its_dependencies(desk: Desk) -> None:
    first = await desk.submit(name="first", command="true", held=True)
    waits = await desk.submit(name="waits", command="true", after=[f"first-{first.number}"])
    never = await desk.submit(
        name="never", command="true", after=[{"job": f"first-{first.number}", "when": "failed"}]
    )
    urgent = await desk.submit(name="urgent", command="true", priority=9, held=True)
    await desk.restart()
    queue = desk.controller.rooms.queue.waiting
    assert [job.job_id for job in queue] == [urgent.id, first.id, waits.id, never.id]
    assert all(job.blocked is not None for job in queue)
    await desk.controller.hold(desk.controller.rooms.jobs[first.id], False, "test")
    assert (await desk.ended(waits)).state == "succeeded"
    assert (await desk.ended(never)).reason is Reason.DEPENDENCY_FAILED


async def test_a_dependency_that_was_met_while_the_server_was_down_counts(
    desk: Desk, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    first = await desk.submit(name="first", command=_wait(go))
    job = await desk.submit(command="true", after=[f"first-{first.number}"])
    await desk.until(first, "running")
    await desk.close()
    go.touch()
    await desk.open()
    assert (await desk.ended(job)).state == "succeeded"


async def test_the_limit_of_an_array_counts_what_still_runs(desk: Desk) -> None:
    jobs = await desk.submit_all(command="sleep 1000", array="0-4%2")
    for job in jobs[:2]:
        await desk.until(job, "running")
    await desk.restart()
    await desk.stop(jobs[0])
    await desk.until(jobs[2], "running")
    states = [(await desk.look(job)).state for job in jobs]
    assert states == ["stopped", "running", "running", "queued", "queued"]


async def test_a_stop_that_was_acknowledged_happens_after_the_restart(desk: Desk) -> None:
    job = await desk.submit(command="trap '' TERM; echo up; while :; do sleep 0.1; done")
    await desk.until(job, "running")
    await desk.printed(job, b"up")
    await desk.stop(job, grace=1.0)
    await desk.restart()
    ended = await desk.ended(job)
    assert (ended.state, ended.reason) == ("stopped", Reason.STOPPED_BY_USER)
    assert ended.detail["detail"] == "test"


async def test_a_time_limit_goes_on_counting(desk: Desk) -> None:
    job = await desk.submit(command="sleep 1000", time_limit=2, grace=0)
    await desk.until(job, "running")
    await desk.restart()
    ended = await desk.ended(job)
    assert ended.reason is Reason.TIME_LIMIT
    assert ended.attempt == 1


async def test_what_a_predecessor_placed_is_launched_by_who_leads_now(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the new leader has launched others before it."""

    async def away(*_: object) -> str:
        raise Unreachable("not now")

    engine = desk.controller.rooms.engine
    monkeypatch.setattr(engine, "launch", away)
    job = await desk.submit(command="echo ran")
    await desk.until(job, "starting")
    before = desk.controller.rooms.epoch
    await desk.close()
    monkeypatch.undo()
    (desk.data / "run" / "epoch").write_text(str(before + 1))
    await desk.open()
    ended = await desk.ended(job)
    assert (ended.state, ended.attempt) == ("succeeded", 1)
