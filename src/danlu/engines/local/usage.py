"""What running tasks use, from one look at /proc (and their cgroups, for memory)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from danlu.engines.api import TaskRef, Usage

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Kept(NamedTuple):
    keeper: int
    groups: list[str]
    before: float = 0  # seconds of CPU its keeper had burnt when it took this task


class _Process:
    __slots__ = ("cpu", "pages", "parent")

    def __init__(self, fields: list[bytes]) -> None:
        self.parent = int(fields[1])
        self.cpu = sum(int(field) for field in fields[11:15])
        self.pages = int(fields[21])


def measure(keepers: Mapping[TaskRef, Kept]) -> dict[TaskRef, Usage]:
    processes = _all_processes()
    children: dict[int, list[int]] = {}
    for pid, process in processes.items():
        children.setdefault(process.parent, []).append(pid)
    return {
        task: _usage(kept, processes, children)
        for task, kept in keepers.items()
        if kept.keeper in processes
    }


def _usage(
    kept: Kept,
    processes: dict[int, _Process],
    children: dict[int, list[int]],
) -> Usage:
    # What the keeper itself burnt is in its first two fields; too little to tell apart.
    cpu = processes[kept.keeper].cpu
    pages = count = 0
    below = list(children.get(kept.keeper, ()))
    while below:
        pid = below.pop()
        below += children.get(pid, ())
        cpu += processes[pid].cpu
        pages += processes[pid].pages
        count += 1
    memory = _group_memory(kept.groups)
    seconds = max(0.0, cpu / _TICKS - kept.before)
    return Usage(seconds, pages * _PAGE if memory is None else memory, count)


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
