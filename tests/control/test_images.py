"""Nodes that cannot pull an image: said of each, and others are tried."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from danlu.engines.api import ImageProgress, Inventory, Launch, NoImage, Plan
from danlu.engines.local.config import LocalConfig
from danlu.engines.local.engine import LocalEngine
from danlu.spec.states import State
from tests.control.harness import NODES, PATIENCE, Harness


class HalfBroken(LocalEngine):
    """Runs jobs with an image without it, but cannot pull it to some nodes."""

    broken: frozenset[str] = frozenset()

    async def inventory(self) -> Inventory:
        return replace(await super().inventory(), images=True)

    async def prepare_image(
        self, node: str, image: str, progress: Callable[[ImageProgress], None]
    ) -> None:
        if node in self.broken:
            raise NoImage("image_failed", f"{image}: no space left on device")

    def plan(self, launch: Launch) -> Plan:
        tasks = tuple(replace(task, image=None) for task in launch.tasks)
        return super().plan(replace(launch, tasks=tasks))


def engine(*broken: str) -> Callable[[Path], HalfBroken]:
    def make(data: Path) -> HalfBroken:
        made = HalfBroken(LocalConfig(data, NODES))
        made.broken = frozenset(broken)
        return made

    return make


async def test_a_node_that_cannot_pull_is_known_and_another_one_is_tried(tmp_path: Path) -> None:
    seen: set[tuple[str, str]] = set()
    for broken in ("n1", "n2"):
        folder = tmp_path / broken
        folder.mkdir()
        harness = Harness(folder, engine(broken))
        await harness.open()
        try:
            jobs = [
                await harness.submit(image="x:1", command="echo $DANLU_NODE", nodes=nodes)
                for nodes in (["n1", "n2"], ["n2", "n1"])
            ]
            for job in jobs:
                ended = await harness.ended(job)
                assert ended.state is State.SUCCEEDED
            trouble = harness.controller.context.image_trouble
            assert set(trouble) <= {(broken, "x:1")}
            seen |= set(trouble)
        finally:
            await harness.close()
    assert seen, "jobs begin with one of the two"


async def test_when_no_node_can_pull_the_job_says_so(tmp_path: Path) -> None:
    harness = Harness(tmp_path, engine("n1", "n2"))
    await harness.open()
    try:
        job = await harness.submit(image="x:1", command="true", gpus=4)
        live = harness.controller.context.jobs[job.id]
        async with asyncio.timeout(PATIENCE):
            while live.row.faults < 2:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.02)
        trouble = harness.controller.context.image_trouble
        assert set(trouble) == {("n1", "x:1"), ("n2", "x:1")}
        assert "no space left" in trouble["n1", "x:1"].text.en
    finally:
        await harness.close()
