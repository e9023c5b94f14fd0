"""What tasks use: asked at their doors, many at once, each with a deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from danlu.engines.api import (
    GpuUsage,
    NodeUsage,
    Phase,
    TaskRef,
    TaskSeen,
    Unreachable,
    Usage,
    UsageReport,
)
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

    async def ask(attempt: Attempt, seen: TaskSeen) -> None:
        task, node = seen.task, seen.node
        door = doors.read(attempt.id, task)
        if door is None:
            return
        async with gate:
            try:
                answer = await ask_once(door, USAGE, _PATIENCE)
            except Unreachable:
                return  # a gap
        gpus = gpus_of(answer.get("gpus"), seen.gpus)
        tasks[TaskRef(attempt.id, task, attempt.job_id)] = _usage(answer, gpus)
        own = answer.get("node")
        if isinstance(own, dict):
            others = known[node].gpus if node in known else ()
            known[node] = NodeUsage(
                _number(own.get("cpu")),
                _whole(own.get("memory")),
                disk_free=disk_free,
                gpus=(*others, *gpus),
            )

    await asyncio.gather(
        *(
            ask(attempt, task)
            for attempt in attempts
            for task in attempt.tasks
            if task.phase is Phase.RUNNING
        )
    )
    return UsageReport(time.time(), tasks, known)


def gpus_of(values: Any, own: Sequence[int]) -> tuple[GpuUsage, ...]:
    """In the order of the task's own: whatever it says, it speaks of no others."""
    if not isinstance(values, list) or len(values) != len(own):
        return ()
    found = []
    for index, row in zip(own, values, strict=True):
        cells = row if isinstance(row, list) and len(row) == 4 else [None] * 4
        used, heat, power = (_number(cells[place]) for place in (0, 2, 3))
        used = None if used is None else min(1.0, used)
        found.append(GpuUsage(index, used, _whole(cells[1]), heat, power))
    return tuple(found)


def _usage(answer: Mapping[str, Any], gpus: Sequence[GpuUsage]) -> Usage:
    busy = [gpu.utilisation for gpu in gpus if gpu.utilisation is not None]
    memory = [gpu.memory for gpu in gpus if gpu.memory is not None]
    return Usage(
        _number(answer.get("cpu")) or 0.0,
        _whole(answer.get("memory")) or 0,
        _whole(answer.get("processes")) or 0,
        _whole(answer.get("read")),
        _whole(answer.get("written")),
        gpu_utilisation=sum(busy) / len(busy) if busy else None,
        gpu_memory=sum(memory) if memory else None,
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e18 else None


def _whole(value: Any) -> int | None:
    found = _number(value)
    return None if found is None else int(found)
