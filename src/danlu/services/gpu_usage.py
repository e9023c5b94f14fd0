"""How busy every GPU is now, and which are held without being used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from danlu.control.context import Context
from danlu.metrics.values import Kind, Subject

IDLE_AFTER = 900.0  # seconds without use until a held GPU is called idle


@dataclass(frozen=True, slots=True)
class GpuNow:
    """None: not measured."""

    busy: float | None = None  # 0 to 1
    memory: int | None = None  # bytes in use
    idle_since: float | None = None  # unused for a while

    def held_idle(self, since: float | None, at: float) -> float | None:
        """Since when its holder, who has had it since then, has not used it."""
        if self.idle_since is None or since is None:
            return self.idle_since
        idle = max(self.idle_since, since)
        return idle if at - idle >= IDLE_AFTER else None


UNKNOWN = GpuNow()


@dataclass(frozen=True, slots=True, eq=False)
class Wave:
    """The latest measurement of all GPUs, the same object until the next one."""

    at: float
    nodes: Mapping[str, tuple[GpuNow, ...]]  # in the order of their indexes


class GpuUsage:
    """Computed once for all readers."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._wave = Wave(0.0, {})

    def now(self) -> Wave:
        sampler = self._context.sampler
        at = sampler.measured_at
        if at != self._wave.at:
            self._wave = Wave(
                at,
                {
                    node.name: tuple(self._gpu(node.name, gpu.index, at) for gpu in node.gpus)
                    for node in self._context.ledger.nodes()
                    if node.gpus
                },
            )
        return self._wave

    def _gpu(self, node: str, index: int, at: float) -> GpuNow:
        sampler, subject = self._context.sampler, Subject(Kind.GPU, node, index)
        values = sampler.latest(subject)
        if not values:
            return UNKNOWN
        since = sampler.idle.since(subject)
        memory = values.get("gpu_memory")
        return GpuNow(
            values.get("gpu"),
            None if memory is None else int(memory),
            since if since is not None and at - since >= IDLE_AFTER else None,
        )
