"""A job with an idle limit is warned and stopped once nobody and nothing uses it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from danlu.control.live_job import LiveJob
from danlu.control.settings import IdleSettings
from danlu.metrics.values import Kind, Subject
from danlu.spec.states import Reason, State
from danlu.store import events
from danlu.store.rows import JobRow
from tests.control.harness import Harness
from tests.support.tools import give, tools_venv

LIMIT = 0.4
ENOUGH = 2.0  # seconds, several times the limit


@pytest.fixture
async def idle(tmp_path: Path) -> AsyncIterator[Harness]:
    harness = Harness(tmp_path)
    harness.more = {"sample_every": 0.05}
    await harness.open()
    yield harness
    await harness.clear()
    await harness.close()


async def running(harness: Harness, command: str = "sleep 1000", **job: object) -> LiveJob:
    row = await harness.submit(**{"command": command, "idle_limit": LIMIT, **job})
    await harness.until(row, State.RUNNING)
    return harness.controller.context.jobs[row.id]


async def kinds(harness: Harness, row: JobRow) -> list[str]:
    found = await harness.store.read(lambda tx: events.events_of(tx, row.id, 0, 100))
    return [event.kind for event in found]


async def stays(harness: Harness, job: LiveJob) -> bool:
    await asyncio.sleep(ENOUGH)
    return job.id in harness.controller.context.jobs and job.row.state is State.RUNNING


async def test_what_nobody_uses_is_warned_and_then_stopped(idle: Harness) -> None:
    job = await running(idle)
    ended = await idle.ended(job.row)
    assert (ended.state, ended.reason) == (State.STOPPED, Reason.IDLE)
    assert ended.detail["limit"] == "0.4s"
    told = await kinds(idle, ended)
    assert told[-3:] == ["idle", "stop_requested", "ended"]


async def test_without_a_limit_nothing_is_stopped(idle: Harness) -> None:
    row = await idle.submit(command="sleep 1000")
    await idle.until(row, State.RUNNING)
    assert await stays(idle, idle.controller.context.jobs[row.id])


async def test_what_computes_is_used(tmp_path: Path) -> None:
    """On a crowded machine it gets little CPU, or none for a moment, but not for this long."""
    harness = Harness(tmp_path)
    harness.more = {"sample_every": 0.05, "idle": IdleSettings(cpus=0.0)}
    await harness.open()
    job = await running(harness, "while :; do :; done", idle_limit=5)
    other = await running(harness, idle_limit=5)
    assert (await harness.ended(other.row)).reason is Reason.IDLE
    assert job.row.state is State.RUNNING
    await harness.clear()
    await harness.close()


async def test_somebody_who_is_connected_uses_it(idle: Harness) -> None:
    job = await running(idle)
    leave = idle.controller.context.presence.enter(job.id)
    assert await stays(idle, job)
    leave()
    leave()  # does nothing more
    assert idle.controller.context.presence.count(job.id) == 0
    assert (await idle.ended(job.row)).reason is Reason.IDLE


async def test_tensorboard_is_used_by_its_visitors_only(tmp_path: Path) -> None:
    """It reads its folders again and again by itself."""
    harness = Harness(tmp_path)
    everything_is_use = IdleSettings(cpus=-1)
    harness.more = {"sample_every": 0.05, "idle": everything_is_use}
    give(harness.data, tools_venv())
    await harness.open()
    row = await harness.submit(tool="tensorboard", args=["/etc"], idle_limit=LIMIT, kind="service")
    job = harness.controller.context.jobs[row.id]
    leave = harness.controller.context.presence.enter(job.id)
    await harness.until(row, State.RUNNING)
    assert await stays(harness, job)
    leave()
    assert (await harness.ended(row)).reason is Reason.IDLE
    await harness.close()


async def test_a_busy_kernel_uses_it(idle: Harness) -> None:
    class Kernels:
        async def busy(self, job: LiveJob) -> bool:
            return job.row.name == "busy"

    idle.controller.context.kernels = Kernels()
    job, other = await running(idle, name="busy"), await running(idle, name="other")
    assert await stays(idle, job)
    assert (await idle.ended(other.row)).reason is Reason.IDLE


@pytest.mark.parametrize("setting", ["connections", "kernels"])
async def test_each_of_these_is_a_setting(tmp_path: Path, setting: str) -> None:
    class Kernels:
        async def busy(self, job: LiveJob) -> bool:
            return True

    harness = Harness(tmp_path)
    harness.more = {"sample_every": 0.05, "idle": IdleSettings(**{setting: False})}
    await harness.open()
    job = await running(harness)
    if setting == "connections":
        harness.controller.context.presence.enter(job.id)
    else:
        harness.controller.context.kernels = Kernels()
    assert (await harness.ended(job.row)).reason is Reason.IDLE
    await harness.close()


async def test_what_is_not_measured_counts_as_used(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.more = {"sample_every": 1000.0}
    await harness.open()
    job = await running(harness)
    for _ in range(20):
        await harness.controller.idle.look()
        await asyncio.sleep(LIMIT / 10)
    assert job.row.state is State.RUNNING
    assert harness.controller.idle.stops_at(job) is None
    await harness.clear()
    await harness.close()


async def test_a_restarted_server_counts_from_its_start(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    everything_is_use = IdleSettings(cpus=-1)
    harness.more = {"sample_every": 0.05, "idle": everything_is_use}
    await harness.open()
    job = await running(harness)
    assert await stays(harness, job)
    harness.more = {"sample_every": 0.05}
    await harness.restart()
    assert (await harness.ended(job.row)).reason is Reason.IDLE
    await harness.close()


async def test_the_samples_are_those_of_its_tasks(idle: Harness) -> None:
    """What the watch reads is what the sampler writes."""
    job = await running(idle, "while :; do :; done")
    assert job.attempt is not None
    subject = Subject(Kind.TASK, job.id, 0, job.attempt.id)
    sampler = idle.controller.context.sampler
    while "cpu" not in sampler.latest(subject):  # noqa: ASYNC110 - there is no event for it
        await asyncio.sleep(0.02)
