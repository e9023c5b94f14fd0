"""Nothing is decided on a job that its engine does not report."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from danlu.engines.api import NOTHING, Observation
from danlu.engines.local.config import LocalConfig
from danlu.engines.local.engine import LocalEngine
from danlu.sched.api import LOWER_PRIORITY, Policy, QueuePolicy
from tests.control.harness import NODES, Harness

A_WHILE = 0.5  # seconds: several passes of the scheduler


class BlindEngine(LocalEngine):
    """Answers, but cannot say what became of anything while `blind`."""

    blind = False

    async def observe(self, cursor: str | None, known: Mapping[str, str] = NOTHING) -> Observation:
        if not self.blind:
            return await super().observe(cursor, known)
        found = await super().observe(None, known)
        return replace(found, scope=frozenset(), seen=())


class BlindHarness(Harness):
    engine: BlindEngine

    def __init__(self, folder: Path) -> None:
        self.blind = False
        super().__init__(folder, self._make_engine)

    def _make_engine(self, data: Path) -> BlindEngine:
        engine = BlindEngine(LocalConfig(data, NODES[:1]))
        engine.blind = self.blind
        return engine


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[BlindHarness]:
    harness = BlindHarness(tmp_path)
    await harness.open()
    yield harness
    harness.engine.blind = False
    await harness.clear()
    await harness.close()


async def test_an_unknown_job_is_preempted_only_once_it_is_known_again(
    harness: BlindHarness,
) -> None:
    low = await harness.submit(command="sleep 1000", gpus=4, preemptible=True, priority=10, grace=0)
    await harness.until(low, "running")
    harness.blind = True
    await harness.restart()
    context = harness.controller.context
    assert context.engines.unknown_since(context.jobs[low.id]) is not None
    rules = QueuePolicy(preempt=LOWER_PRIORITY)
    harness.controller.planner.follow(Policy(queues={"default": rules}), context.rulebook.quotas)
    high = await harness.submit(command="sleep 1000", gpus=4, priority=90)
    await asyncio.sleep(A_WHILE)
    assert (await harness.look(low)).state == "running"
    assert (await harness.look(high)).state == "queued"
    harness.engine.blind = False
    await harness.until(high, "running")
    assert (await harness.look(low)).state == "queued"
