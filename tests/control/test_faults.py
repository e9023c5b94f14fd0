"""An engine that loses answers, is away or does things twice: jobs end as they should, once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from danlu.spec.states import Reason
from tests.control.desk import Desk
from tests.engines.faulty import Fault, FaultyEngine


class Shaky(FaultyEngine):
    """At first only launching and stopping go wrong, and only as planned."""

    _calm = True

    def shake(self, rate: float) -> None:
        """From now on everything may go wrong."""
        self._calm, self._rate = False, rate

    async def _answerable(self) -> Fault:
        return Fault.NONE if self._calm else await super()._answerable()


class ShakyDesk(Desk):
    engine: Shaky

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, lambda engine: Shaky(engine, seed=11))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[ShakyDesk]:
    desk = ShakyDesk(tmp_path)
    await desk.open()
    yield desk
    await desk.clear()
    await desk.close()


@pytest.mark.parametrize("fault", list(Fault))
async def test_a_launch_that_goes_wrong_runs_the_command_exactly_once(
    desk: ShakyDesk, tmp_path: Path, fault: Fault
) -> None:
    runs = tmp_path / "runs"
    desk.engine.plan_faults(fault)
    job = await desk.submit(command=f"echo run >> {runs}; exit 3")
    ended = await desk.ended(job)
    assert (ended.reason, ended.exit_code) == (Reason.EXIT_CODE, 3)
    assert runs.read_text() == "run\n"
    assert ended.failures == 1, "what the platform did wrong is not charged to the job"


@pytest.mark.parametrize("fault", list(Fault))
async def test_a_stop_that_goes_wrong_is_given_again(desk: ShakyDesk, fault: Fault) -> None:
    job = await desk.submit(command="sleep 1000")
    await desk.until(job, "running")
    desk.engine.plan_faults(fault)
    await desk.stop(job)
    ended = await desk.ended(job)
    assert ended.reason is Reason.STOPPED_BY_USER


async def test_under_constant_trouble_every_job_ends_once_as_it_should(
    desk: ShakyDesk, tmp_path: Path
) -> None:
    desk.engine.shake(0.25)
    jobs = [await desk.submit(**_job(number, tmp_path)) for number in range(40)]
    for number, job in enumerate(jobs):
        ended = await desk.ended(job)
        code = number % 3
        assert ended.exit_code == code, (number, ended.reason, ended.detail)
        assert ended.state == ("succeeded" if code == 0 else "failed")
        times = 2 if number % 4 == 1 and code else 1
        tasks = 2 if number % 4 == 2 else 1
        assert (tmp_path / str(number)).read_text().count("run") == times * tasks, number
    assert len(desk.engine.injected) > 20
    desk.engine.shake(0.0)


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
