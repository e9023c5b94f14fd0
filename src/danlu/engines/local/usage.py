"""Usage of running tasks and their nodes, from /proc, cgroups and NVML."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from danlu.engines.api import GpuUsage, NodeUsage, TaskRef, Usage, UsageReport
from danlu.engines.local import machine
from danlu.engines.local.nvml import Look, Watch

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Kept(NamedTuple):
    keeper: int
    groups: list[str]
    before: float = 0  # CPU seconds its keeper had used before this task
    node: str = ""
    gpus: tuple[int, ...] = ()  # the real ones
    shared: bool = False  # other tasks may share these GPUs


class Nodes(NamedTuple):
    folder: str  # with tasks and logs
    gpus: Mapping[str, tuple[int, ...]]  # node -> its real GPUs, by its own index


class _Process:
    __slots__ = ("cpu", "pages", "parent")

    def __init__(self, fields: list[bytes]) -> None:
        self.parent = int(fields[1])
        self.cpu = sum(int(field) for field in fields[11:15])
        self.pages = int(fields[21])


class _Table:
    """A snapshot of all processes of the machine."""

    def __init__(self, processes: dict[int, _Process]) -> None:
        self.processes = processes
        self._children: dict[int, list[int]] = {}
        for pid, process in processes.items():
            self._children.setdefault(process.parent, []).append(pid)

    def below(self, pid: int) -> list[int]:
        found: list[int] = []
        left = list(self._children.get(pid, ()))
        while left:
            pid = left.pop()
            left += self._children.get(pid, ())
            found.append(pid)
        return found


class Meter:
    def __init__(self, nodes: Nodes, watch: Watch | None) -> None:
        self._nodes = nodes
        self._watch = watch  # None: no real GPUs
        self._before: dict[TaskRef, float] = {}  # CPU seconds at the last sample
        self._burnt = dict.fromkeys(nodes.gpus, 0.0)

    def measure(self, keepers: Mapping[TaskRef, Kept]) -> UsageReport:
        """Blocks for a few milliseconds."""
        shared = {gpu for kept in keepers.values() if kept.shared for gpu in kept.gpus}
        gpus = self._watch.look(shared) if self._watch is not None else {}
        table = _Table(_all_processes() if keepers else {})
        tasks = {
            task: _usage(kept, table, gpus)
            for task, kept in keepers.items()
            if kept.keeper in table.processes
        }
        return UsageReport(time.time(), tasks, self._measure_nodes(keepers, tasks, gpus))

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()

    def _measure_nodes(
        self,
        keepers: Mapping[TaskRef, Kept],
        tasks: Mapping[TaskRef, Usage],
        looks: Mapping[int, Look],
    ) -> dict[str, NodeUsage]:
        folder, gpus = self._nodes
        if len(gpus) == 1:
            name = next(iter(gpus))
            return {name: replace(machine.measure(folder), gpus=_gpus(gpus[name], looks))}
        # Several declared nodes share the machine: each gets its own tasks' usage.
        memory = dict.fromkeys(gpus, 0)
        for ref, usage in tasks.items():
            node = keepers[ref].node
            if node not in memory:  # it was removed from danlu.toml, and its tasks go on
                continue
            memory[node] += usage.memory
            self._burnt[node] += max(0.0, usage.cpu_seconds - self._before.get(ref, 0.0))
        self._before = {ref: usage.cpu_seconds for ref, usage in tasks.items()}
        free = machine.disk_free(folder)
        return {
            name: NodeUsage(self._burnt[name], memory[name], free, gpus=_gpus(indexes, looks))
            for name, indexes in gpus.items()
        }


def _gpus(indexes: tuple[int, ...], looks: Mapping[int, Look]) -> tuple[GpuUsage, ...]:
    return tuple(
        GpuUsage(own, look.utilisation, look.memory, look.temperature, look.power)
        for own, real in enumerate(indexes)
        if (look := looks.get(real)) is not None
    )


def _usage(kept: Kept, table: _Table, gpus: Mapping[int, Look]) -> Usage:
    # Includes the keeper's own CPU time, which is negligible.
    below = table.below(kept.keeper)
    cpu = table.processes[kept.keeper].cpu + sum(table.processes[pid].cpu for pid in below)
    memory = _group_memory(kept.groups)
    if memory is None:
        memory = sum(table.processes[pid].pages for pid in below) * _PAGE
    read, written = _transferred(below)
    received, sent = _network(below)
    own = frozenset(below)
    looks = [gpus[gpu] for gpu in kept.gpus if gpu in gpus]
    return Usage(
        max(0.0, cpu / _TICKS - kept.before),
        memory,
        len(below),
        read,
        written,
        received,
        sent,
        _utilisation(looks, own, kept.shared),
        _gpu_memory(looks, own, kept.shared),
    )


def _utilisation(looks: list[Look], pids: frozenset[int], shared: bool) -> float | None:
    if shared:
        parts = [
            sum(share for pid, share in look.utilisation_of.items() if pid in pids)
            for look in looks
            if look.utilisation_of is not None
        ]
    else:
        parts = [look.utilisation for look in looks if look.utilisation is not None]
    return min(1.0, sum(parts) / len(parts)) if parts else None


def _gpu_memory(looks: list[Look], pids: frozenset[int], shared: bool) -> int | None:
    """By process if the driver reports it; otherwise all of it if the GPU is not shared."""
    known: list[int] = []
    for look in looks:
        own = [used for pid in pids if (used := look.memory_of.get(pid)) is not None]
        if own:
            known.append(sum(own))
        elif not shared and look.memory is not None:
            known.append(look.memory)
    return sum(known) if known else None


def _transferred(pids: list[int]) -> tuple[int | None, int | None]:
    """Bytes of disk I/O. An ended process's bytes are added to the parent that waited for it."""
    read = written = 0
    known = False
    for pid in pids:
        try:
            with open(f"/proc/{pid}/io", encoding="ascii") as file:
                fields = dict(line.split(": ") for line in file)
            read += int(fields["read_bytes"])
            written += int(fields["write_bytes"])
        except (OSError, ValueError, KeyError):
            continue
        known = True
    return (read, written) if known else (None, None)


def _network(pids: list[int]) -> tuple[int | None, int | None]:
    """Only in a network namespace of its own: traffic on the host network is shared."""
    for pid in pids:
        try:
            if os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net"):
                return None, None
        except OSError:
            continue
        return machine.network(f"/proc/{pid}/net/dev", lambda names: names)
    return None, None


def _group_memory(groups: list[str]) -> int | None:
    for folder in groups:
        for name in ("memory.usage_in_bytes", "memory.current"):
            try:
                with open(f"{folder}/{name}", encoding="ascii") as file:
                    used = int(file.read())
                with open(f"{folder}/memory.stat", encoding="ascii") as file:
                    stat = dict(line.split() for line in file)
            except (OSError, ValueError):
                continue
            cache = stat.get("total_inactive_file", stat.get("inactive_file", "0"))
            return max(0, used - int(cache))
    return None


def _all_processes() -> dict[int, _Process]:
    found: dict[int, _Process] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    found[int(name)] = _Process(file.read().rpartition(b")")[2].split())
            except (OSError, ValueError, IndexError):
                continue
    return found
