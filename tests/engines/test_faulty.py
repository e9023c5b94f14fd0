"""The fault-injecting engine does what its faults say; callers that follow the contract cope."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from danlu.engines.api import Engine, InDoubt, Unreachable
from tests.engines import conftest
from tests.engines.faulty import Fault, FaultyEngine
from tests.engines.harness import EngineHarness, argv, shell


@pytest.fixture
def make() -> Callable[[Path], Engine]:
    return lambda data: FaultyEngine(conftest.local(data))


def faulty_of(harness: EngineHarness) -> FaultyEngine:
    assert isinstance(harness.engine, FaultyEngine)
    return harness.engine


async def test_a_lost_answer_hides_a_task_that_runs(harness: EngineHarness) -> None:
    launch = harness.launch(argv("true"))
    faulty_of(harness).plan_faults(Fault.LOST_ANSWER)
    with pytest.raises(InDoubt):
        await harness.engine.launch(launch, harness.engine.plan(launch))
    assert await harness.engine.settle(launch.attempt_id) is not None


async def test_a_lost_request_starts_nothing(harness: EngineHarness) -> None:
    launch = harness.launch(argv("true"))
    faulty_of(harness).plan_faults(Fault.LOST_REQUEST)
    with pytest.raises(InDoubt):
        await harness.engine.launch(launch, harness.engine.plan(launch))
    assert await harness.engine.settle(launch.attempt_id) is None


async def test_an_engine_that_is_away_says_nothing_about_tasks(harness: EngineHarness) -> None:
    faulty_of(harness).plan_faults(Fault.AWAY)
    with pytest.raises(Unreachable):
        await harness.engine.observe(None)


async def test_every_job_runs_once_through_a_hundred_faults(harness: EngineHarness) -> None:
    faulty = faulty_of(harness)
    runs = harness.outside / "runs"
    kinds = [Fault.LOST_ANSWER, Fault.LOST_REQUEST, Fault.TWICE, Fault.AWAY, Fault.SLOW]
    for number in range(40):
        faulty.plan_faults(*(kinds[(number + i) % 5] for i in range(3)))
        attempt = await harness.begin(shell(f"echo {number} >> {runs}"))
        await harness.ended(attempt)
        await harness.again(lambda attempt=attempt: harness.engine.forget(attempt))
    assert runs.read_text().split() == [str(number) for number in range(40)]
    assert len(faulty.injected) >= 100
