"""The admin's settings for jobs: defaults and limits."""

from __future__ import annotations

import math
from dataclasses import dataclass

from danlu.spec.job import GpuRequest, Kind
from danlu.spec.units import G, M


@dataclass(frozen=True, slots=True)
class EnvironmentDefaults:
    """For jobs of kind `environment`."""

    queue: str = "default"
    time_limit: float | None = None  # None: as for other jobs
    idle_limit: float | None = None
    max_idle_limit: float | None = None  # if set, none is without a limit


@dataclass(frozen=True, slots=True)
class Defaults:
    """Defaults follow the GPUs: 8 CPUs per GPU, up to 15 per task, and 10 GB per CPU.

    `node_*` describe the largest node. They limit the defaults, so that a job that asks for nothing
    fits a small machine and leaves the other GPUs of a node their share; explicit requests are not
    limited by them.
    """

    cpus_per_gpu: float = 8
    max_default_cpus: float = 15
    cpus_without_gpu: float = 1
    memory_per_cpu: int = 10 * G
    shm_share: float = 0.5  # fraction of the memory
    min_shm: int = 64 * M
    time_limit: float | None = None
    log_cap: int = G  # if the job sets none

    max_gpus: int | None = None  # per task, like cpus and memory
    max_cpus: float | None = None
    max_memory: int | None = None
    max_tasks: int = 1024  # per job
    max_array: int = 10_000
    max_time_limit: float | None = None
    max_log_cap: int = 64 * G

    environment: EnvironmentDefaults = EnvironmentDefaults()

    node_gpus: int | None = None
    node_cpus: float | None = None
    node_memory: int | None = None

    def cpus(self, gpus: GpuRequest) -> float:
        amount = gpus.fraction or gpus.count
        cpus = self.cpus_without_gpu
        if amount:
            cpus = min(amount * self._cpus_per_gpu(), self.max_default_cpus)
            cpus = max(1.0, math.floor(cpus))
        return float(_least(cpus, self.node_cpus, self.max_cpus))

    def _cpus_per_gpu(self) -> float:
        if self.node_cpus and self.node_gpus:
            return min(self.cpus_per_gpu, self.node_cpus / self.node_gpus)
        return self.cpus_per_gpu

    def memory(self, cpus: float, shm: int | None) -> int:
        each: float = self.memory_per_cpu
        if self.node_cpus and self.node_memory:
            each = min(each, self.node_memory / self.node_cpus)
        memory: float = max(M, cpus * each // M * M)
        if shm is not None:
            # Shared memory is part of memory: leave the program as much again.
            memory = max(memory, 2 * shm)
        return max(int(_least(memory, self.node_memory, self.max_memory)), shm or 0)

    def shm(self, memory: int) -> int:
        share = int(memory * self.shm_share) // M * M
        return min(max(share, self.min_shm), memory)

    def limited_time(self, kind: Kind = Kind.TRAIN) -> float | None:
        """If a maximum is set, no job runs without a limit."""
        limit = self.time_limit
        if kind is Kind.ENVIRONMENT and self.environment.time_limit is not None:
            limit = self.environment.time_limit
        return self.max_time_limit if limit is None else _least(limit, self.max_time_limit)

    def limited_idle(self, kind: Kind) -> float | None:
        if kind is not Kind.ENVIRONMENT:
            return None
        limit, most = self.environment.idle_limit, self.environment.max_idle_limit
        return most if limit is None else _least(limit, most)

    def queue(self, kind: Kind) -> str:
        return self.environment.queue if kind is Kind.ENVIRONMENT else "default"


def _least(value: float, *caps: float | None) -> float:
    return min([value, *(cap for cap in caps if cap is not None)])
