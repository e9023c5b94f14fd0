"""An engine that loses answers, is away or does things twice: jobs end as they should, once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from danlu.spec.states import Reason
from tests.control.harness import Harness, local
from tests.engines.faulty import Fault, FaultyEngine


class Shaky(FaultyEngine):
    """At first only launching and stopping go wrong, and only as planned."""

    _calm = True

    def shake(self, rate: float) -> None:
        """From now on everything may go wrong."""
        self._calm, self._rate = False, rate

    async def _answerable(self) -> Fault:
        return Fault.NONE if self._calm else await super()._answerable()


class ShakyHarness(Harness):
    engine: Shaky

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, lambda data: Shaky(local(data), seed=11))


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[ShakyHarness]:
    harness = ShakyHarness(tmp_path)
    await harness.open()
    yield harness
    await harness.clear()
    await harness.close()


@pytest.mark.parametrize("fault", list(Fault))
async def test_a_launch_that_goes_wrong_runs_the_command_exactly_once(
    harness: ShakyHarness, tmp_path: Path, fault: Fault
) -> None:
    runs = tmp_path / "runs"
    harness.engine.plan_faults(fault)
    job = await harness.submit(command=f"echo run >> {runs}; exit 3")
    ended = await harness.ended(job)
    assert (ended.reason, ended.exit_code) == (Reason.EXIT_CODE, 3)
    assert runs.read_text() == "run\n"
    assert ended.failures == 1, "what the platform did wrong is not charged to the job"


@pytest.mark.parametrize("fault", list(Fault))
async def test_a_stop_that_goes_wrong_is_given_again(harness: ShakyHarness, fault: Fault) -> None:
    job = await harness.submit(command="sleep 1000")
    await harness.until(job, "running")
    harness.engine.plan_faults(fault)
    await harness.stop(job)
    ended = await harness.ended(job)
    assert ended.reason is Reason.STOPPED_BY_USER


async def test_under_constant_trouble_every_job_ends_once_as_it_should(
    harness: ShakyHarness, tmp_path: Path
) -> None:
    harness.engine.shake(0.25)
    jobs = [await harness.submit(**_job(number, tmp_path)) for number in range(40)]
    for number, job in enumerate(jobs):
        ended = await harness.ended(job)
        code = number % 3
        assert ended.exit_code == code, (number, ended.reason, ended.detail)
        assert ended.state == ("succeeded" if code == 0 else "failed")
        times = 2 if number % 4 == 1 and code else 1
        tasks = 2 if number % 4 == 2 else 1
        assert (tmp_path / str(number)).read_text().count("run") == times * tasks, number
    assert len(harness.engine.injected) > 20
    harness.engine.shake(0.0)


def _job(number: int, runs: Path) -> dict[str, object]:
    command = f"echo run >> {runs}/{number}; exit {number % 3}"
    match number % 4:
        case 1:
            return {"command": command, "retries": 1}
        case 2:
            # Together they write before either ends: one that fails ends the other.
            both = f"until [ $(grep -c run {runs}/{number}) = 2 ]; do sleep 0.02; done"
            first, last = command.split(";")
            return {"command": f"{first}; {both}; {last}", "count": 2}
        case _:
            return {"command": command}
