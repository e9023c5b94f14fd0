"""Ports are the engine's to give: it may answer late, and it may have none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from danlu.engines.api import Ports, Unreachable
from tests.control.harness import Harness


class Late:
    """Leases that take a while, and fail as often as they are told to."""

    def __init__(self, inner: Ports) -> None:
        self.inner = inner
        self.refusals = 0
        self.asked = 0
        self.called = asyncio.Event()
        self.go = asyncio.Event()
        self.go.set()

    async def lease(
        self, attempt_id: str, node: str, count: int, first: int | None = None
    ) -> tuple[int, ...]:
        self.asked += 1
        self.called.set()
        await self.go.wait()
        if self.refusals:
            self.refusals -= 1
            raise Unreachable("no port is free")
        return await self.inner.lease(attempt_id, node, count, first)

    async def keep(self, attempt_id: str, node: str, ports: Sequence[int]) -> None:
        await asyncio.sleep(0.01)
        await self.inner.keep(attempt_id, node, ports)

    async def free(self, attempt_id: str) -> None:
        await asyncio.sleep(0.01)
        await self.inner.free(attempt_id)


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[Harness]:
    made = Harness(tmp_path)
    await made.open()
    yield made
    await made.clear()
    await made.close()


@pytest.fixture
def late(harness: Harness) -> Late:
    ports = Late(harness.engine.ports)
    harness.engine.ports = ports  # type: ignore[misc]
    return ports


async def test_a_job_that_finds_no_port_waits_and_then_runs(harness: Harness, late: Late) -> None:
    late.refusals = 2
    job = await harness.submit(command="true", ports=1, gpus=4)
    assert job.state == "queued"
    assert not harness.controller.context.ledger.gpu_holders()
    ended = await harness.ended(job)
    assert (ended.state, ended.attempt) == ("succeeded", 1)
    assert late.asked == 3


async def test_room_is_taken_before_the_ports_are_there(harness: Harness, late: Late) -> None:
    late.go.clear()
    first = asyncio.create_task(harness.submit(command="sleep 1000", ports=1, gpus=4, nodes=["n1"]))
    await late.called.wait()
    second = await harness.submit(command="sleep 1000", gpus=4, nodes=["n1"])
    late.go.set()
    await harness.until(await first, "running")
    assert (await harness.look(second)).state == "queued"


async def test_who_gives_up_while_ports_are_leased_leaves_nothing_behind(
    harness: Harness, late: Late
) -> None:
    late.go.clear()
    asked = asyncio.create_task(harness.submit(command="true", ports=1, gpus=4))
    await late.called.wait()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    context = harness.controller.context
    assert (context.ledger.gpu_holders(), context.attempts) == ({}, {})


async def test_a_job_stopped_while_ports_are_leased_never_runs(
    harness: Harness, late: Late, tmp_path: Path
) -> None:
    blocker = await harness.submit(command="sleep 1000", gpus=4, nodes=["n1"])
    job = await harness.submit(command=f"touch {tmp_path}/ran", ports=1, gpus=4, nodes=["n1"])
    late.go.clear()
    await harness.stop(blocker)
    await late.called.wait()
    late.refusals = 1
    await harness.stop(job)
    late.go.set()
    assert (await harness.ended(job)).state == "stopped"
    assert not (tmp_path / "ran").exists()
