"""What only the accounting database can tell: ends that the controller has forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import datetime

import pytest

from danlu.engines.api import Phase, TaskSeen
from danlu.spec.job import GpuRequest, Resources
from tests.engines.harness import argv, eventually
from tests.real.slurm.harness import SlurmHarness, engine_on
from tests.support.slurm_database import SlurmWithDatabase, real_slurm_with_database

WHOLE_NODES = Resources(GpuRequest(5, "rtx3090"), 1.0, 100 << 20, 0)


@pytest.fixture(scope="module")
def database() -> Iterator[SlurmWithDatabase]:
    slurm = real_slurm_with_database()
    try:
        yield slurm
    finally:
        slurm.close()


@pytest.fixture
async def harness(database: SlurmWithDatabase) -> AsyncIterator[SlurmHarness]:
    more = {"bin": str(database.folder / "bin"), "lost_after": 2.0}
    harness = SlurmHarness(lambda data: engine_on(database, data, **more), database.fresh_folder())
    await harness.start()
    yield harness
    await harness.close()
    database.tidy()


async def cancelled_meanwhile(
    database: SlurmWithDatabase, harness: SlurmHarness
) -> tuple[int, TaskSeen]:
    """A job that waited, was cancelled and forgotten while the server was away."""
    launch = harness.launch(argv("true"), resources=WHOLE_NODES)
    for name in database.nodes:
        database.run("scontrol", "update", f"nodename={name}", "state=drain", "reason=test")
    seen = await harness.engine.launch(launch, harness.engine.plan(launch))
    number = int(seen.handle)
    await harness.engine.close()
    await asyncio.to_thread(database.run, "scancel", seen.handle)
    await eventually(lambda: database.forgotten(number))
    await harness.restart()
    await harness.engine.observe(None, {launch.attempt_id: seen.handle})
    (task,) = await harness.ended(launch.attempt_id)
    return number, task


async def test_who_ended_a_forgotten_job_and_when_is_learned_from_the_database(
    database: SlurmWithDatabase, harness: SlurmHarness
) -> None:
    number, task = await cancelled_meanwhile(database, harness)
    assert database.accounted(number, "State").startswith("CANCELLED")
    assert (task.phase, task.hint) == (Phase.EXITED, "stopped_outside"), task
    ended = datetime.fromisoformat(database.accounted(number, "End")).timestamp()
    assert task.ended_at == ended


async def test_without_an_answer_of_the_database_a_forgotten_job_is_lost(
    database: SlurmWithDatabase, harness: SlurmHarness
) -> None:
    database.spoil("sacct", "exit 1")
    _, task = await cancelled_meanwhile(database, harness)
    assert (task.phase, task.detail) == (Phase.LOST, "gone from Slurm")
