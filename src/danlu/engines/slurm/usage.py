"""What tasks use: asked at their doors, many at once, each with a deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Any

from danlu.engines.api import NodeUsage, Phase, TaskRef, Unreachable, Usage, UsageReport
from danlu.engines.slurm.attempts import Attempt
from danlu.engines.slurm.inventory import Node
from danlu.engines.slurm.reach import USAGE, Doors, ask_once

_PATIENCE = 5.0  # seconds
_AT_ONCE = 64


async def measure(
    attempts: Iterable[Attempt], doors: Doors, nodes: Iterable[Node], disk_free: int | None
) -> UsageReport:
    gate = asyncio.Semaphore(_AT_ONCE)
    tasks: dict[TaskRef, Usage] = {}
    known: dict[str, NodeUsage] = {
        node.info.name: NodeUsage(memory=node.memory_used, disk_free=disk_free)
        for node in nodes
        if node.info.up
    }

    async def ask(attempt: Attempt, task: int, node: str) -> None:
        door = doors.read(attempt.id, task)
        if door is None:
            return
        async with gate:
            try:
                answer = await ask_once(door, USAGE, _PATIENCE)
            except Unreachable:
                return  # a gap
        tasks[TaskRef(attempt.id, task, attempt.job_id)] = _usage(answer)
        own = answer.get("node")
        if isinstance(own, dict):
            known[node] = NodeUsage(
                _number(own.get("cpu")), _whole(own.get("memory")), disk_free=disk_free
            )

    await asyncio.gather(
        *(
            ask(attempt, task.task, task.node)
            for attempt in attempts
            for task in attempt.tasks
            if task.phase is Phase.RUNNING
        )
    )
    return UsageReport(time.time(), tasks, known)


def _usage(answer: Mapping[str, Any]) -> Usage:
    return Usage(
        _number(answer.get("cpu")) or 0.0,
        _whole(answer.get("memory")) or 0,
        _whole(answer.get("processes")) or 0,
        _whole(answer.get("read")),
        _whole(answer.get("written")),
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e18 else None


def _whole(value: Any) -> int | None:
    found = _number(value)
    return None if found is None else int(found)
