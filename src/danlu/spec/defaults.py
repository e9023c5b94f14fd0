"""What the admin may set about jobs: how gaps are filled, and what is too much."""

from __future__ import annotations

import math
from dataclasses import dataclass

from danlu.spec.job import GpuRequest
from danlu.spec.units import G, M


@dataclass(frozen=True, slots=True)
class Defaults:
    """Filling in follows the GPUs: 8 CPUs a card, up to 15 for a task, and 10 GB a CPU.

    `node_*` describe the largest node. They bound what is filled in, so that a job that asks for
    nothing fits a small machine and leaves the other cards of a node their share; what somebody
    asks for in words is not bounded by them.
    """

    cpus_per_gpu: float = 8
    max_default_cpus: float = 15
    cpus_without_gpu: float = 1
    memory_per_cpu: int = 10 * G
    shm_share: float = 0.5  # of the memory
    min_shm: int = 64 * M
    time_limit: float | None = None
    log_cap: int = G  # of a task whose job names none

    max_gpus: int | None = None  # of one task, as are cpus and memory
    max_cpus: float | None = None
    max_memory: int | None = None
    max_tasks: int = 1024  # of one job
    max_array: int = 10_000
    max_time_limit: float | None = None
    max_log_cap: int = 64 * G

    node_gpus: int | None = None
    node_cpus: float | None = None
    node_memory: int | None = None

    def cpus(self, gpus: GpuRequest) -> float:
        cards = gpus.fraction or gpus.count
        cpus = self.cpus_without_gpu
        if cards:
            cpus = min(cards * self._cpus_of_a_card(), self.max_default_cpus)
            cpus = max(1.0, math.floor(cpus))
        return float(_least(cpus, self.node_cpus, self.max_cpus))

    def _cpus_of_a_card(self) -> float:
        if self.node_cpus and self.node_gpus:
            return min(self.cpus_per_gpu, self.node_cpus / self.node_gpus)
        return self.cpus_per_gpu

    def memory(self, cpus: float, shm: int | None) -> int:
        each: float = self.memory_per_cpu
        if self.node_cpus and self.node_memory:
            each = min(each, self.node_memory / self.node_cpus)
        memory: float = max(M, cpus * each // M * M)
        if shm is not None:
            # Shared memory is a part of memory: leave the program as much again.
            memory = max(memory, 2 * shm)
        return max(int(_least(memory, self.node_memory, self.max_memory)), shm or 0)

    def shm(self, memory: int) -> int:
        share = int(memory * self.shm_share) // M * M
        return min(max(share, self.min_shm), memory)

    def limited_time(self) -> float | None:
        """Where a longest time is set, no job runs without a limit."""
        if self.time_limit is None:
            return self.max_time_limit
        return _least(self.time_limit, self.max_time_limit)


def _least(value: float, *caps: float | None) -> float:
    return min([value, *(cap for cap in caps if cap is not None)])
