"""The local engine with made-up GPUs: tasks are real processes, their usage is not."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from danlu.engines.api import (
    NOTHING,
    GpuInfo,
    GpuUsage,
    Inventory,
    Launch,
    NodeInfo,
    NodeUsage,
    Observation,
    Phase,
    Plan,
    Seen,
    TaskRef,
    TaskSeen,
    Unreachable,
    Usage,
    UsageReport,
)
from danlu.engines.local.config import LocalConfig
from danlu.engines.local.engine import LocalEngine
from danlu.server.demo.cast import GPU_MEMORY, OUTSIDE, SICK
from danlu.server.demo.load import Load, gpu_usage, resting, wave
from danlu.spec.units import G

_SETTLING = 20.0  # seconds
_OUTSIDE = Seen(
    "outside-the-demo",
    (TaskSeen(0, Phase.RUNNING, OUTSIDE[0], gpus=(OUTSIDE[1],)),),
    installation="somebody-else",
)


class DemoEngine(LocalEngine):
    """`begun`: when the first jobs of a new demo are supposed to have started, by attempt."""

    def __init__(self, config: LocalConfig, name: str, begun: Mapping[str, float]) -> None:
        super().__init__(config, name)
        self._begun = begun
        self._loads: dict[str, Load] = {}  # by attempt
        self._counted: dict[str | TaskRef, _Counters] = {}
        self._made = self._at = time.time()

    async def inventory(self) -> Inventory:
        found = await super().inventory()
        return replace(found, nodes=tuple(_with_gpus(node) for node in found.nodes))

    async def launch(self, launch: Launch, plan: Plan) -> Seen:
        self._loads[launch.attempt_id] = Load.of(launch.attempt_id, launch.tasks[0].env)
        return self._backdated(await super().launch(launch, plan))

    async def observe(self, cursor: str | None, known: Mapping[str, str] = NOTHING) -> Observation:
        found = await super().observe(cursor, known)
        seen = tuple(self._backdated(each) for each in found.seen)
        return replace(
            found, seen=(*seen, _OUTSIDE), scope=found.scope.union({_OUTSIDE.attempt_id})
        )

    async def forget(self, attempt_id: str, handle: str = "") -> None:
        await super().forget(attempt_id, handle)
        self._loads.pop(attempt_id, None)

    async def usage(self) -> UsageReport:
        real = await super().usage()
        waited = real.at - self._made
        if waited < _SETTLING and not self._begun.keys() <= self._loads.keys():
            raise Unreachable("the demo is starting its jobs")  # or their charts would show a gap
        seconds, self._at = max(0.0, real.at - self._at), real.at
        tasks: dict[TaskRef, Usage] = {}
        gpus: dict[tuple[str, int], GpuUsage] = {}
        held: dict[str, int] = {}
        for attempt in self._watcher.attempts.values():
            load = self._loads.get(attempt.id) or Load.of(attempt.id, {})
            since = self._begun.get(attempt.id)
            for task in attempt.tasks:
                ref = TaskRef(attempt.id, task.index, attempt.job_id)
                if ref not in real.tasks:
                    continue
                age = real.at - (since or task.seen.started_at or real.at)
                looks = [load.gpu(age, real.at, index) for index in task.gpus]
                for index, (busy, memory) in zip(task.gpus, looks, strict=True):
                    gpus[task.node, index] = gpu_usage(index, busy, memory, real.at)
                counters = self._counters(ref).add(load, seconds, real.at, bool(task.gpus))
                self._counters(task.node).add(load, seconds, real.at, bool(task.gpus))
                memory = load.host_memory(age) if task.gpus else real.tasks[ref].memory
                held[task.node] = held.get(task.node, 0) + memory
                tasks[ref] = counters.usage(memory, real.tasks[ref].processes, looks)
        self._counted = {
            key: value
            for key, value in self._counted.items()
            if isinstance(key, str) or key in tasks
        }
        nodes = {
            name: self._node(name, usage, gpus, held.get(name, 0), real.at)
            for name, usage in real.nodes.items()
        }
        return UsageReport(real.at, tasks, nodes)

    def _node(
        self,
        name: str,
        usage: NodeUsage,
        gpus: Mapping[tuple[str, int], GpuUsage],
        memory: int,
        at: float,
    ) -> NodeUsage:
        counted = self._counters(name)
        config = next(node for node in self._nodes if node.name == name)
        count = sum(count for _, count in config.gpus)
        shown = [
            _outside(index, at) if (name, index) == OUTSIDE else gpus.get((name, index))
            for index in range(count)
        ]
        return replace(
            usage,
            cpu_seconds=counted.cpu,
            memory=memory + 3 * G,
            disk_read=int(counted.read),
            disk_written=int(counted.written),
            gpus=tuple(
                gpu or resting(index, at)
                for index, gpu in enumerate(shown)
                if (name, index) != SICK
            ),
        )

    def _counters(self, key: str | TaskRef) -> _Counters:
        return self._counted.setdefault(key, _Counters())

    def _backdated(self, seen: Seen) -> Seen:
        at = self._begun.get(seen.attempt_id)
        if at is None:
            return seen
        tasks = (
            replace(task, started_at=at) if task.started_at is not None else task
            for task in seen.tasks
        )
        return replace(seen, tasks=tuple(tasks))


class _Counters:
    """Grow as the counters of a machine do."""

    def __init__(self) -> None:
        self.cpu = self.read = self.written = 0.0

    def add(self, load: Load, seconds: float, at: float, on_gpu: bool) -> _Counters:
        if on_gpu:
            read, written = load.disk(at)
            self.cpu += load.cores(at) * seconds
            self.read += read * seconds
            self.written += written * seconds
        return self

    def usage(self, memory: int, processes: int, looks: list[tuple[float, int]]) -> Usage:
        return Usage(
            self.cpu,
            memory,
            processes,
            int(self.read),
            int(self.written),
            gpu_utilisation=sum(busy for busy, _ in looks) / len(looks) if looks else None,
            gpu_memory=sum(used for _, used in looks) if looks else None,
        )


def _with_gpus(node: NodeInfo) -> NodeInfo:
    return replace(node, gpus=tuple(_made_up(node.name, gpu) for gpu in node.gpus))


def _made_up(node: str, gpu: GpuInfo) -> GpuInfo:
    uuid = f"GPU-demo-{node}-{gpu.index}"
    if (node, gpu.index) == SICK:
        return GpuInfo(gpu.index, gpu.model, uuid, GPU_MEMORY, False, "Xid 48 (ECC)")
    return GpuInfo(gpu.index, gpu.model, uuid, GPU_MEMORY)


def _outside(index: int, at: float) -> GpuUsage:
    return gpu_usage(index, 0.35 + 0.06 * wave(11, at), 9 * G, at)
