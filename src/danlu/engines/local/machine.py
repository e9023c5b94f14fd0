"""Usage of the whole machine: CPU, memory, disks, network."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from danlu.engines.api import NodeUsage

_TICKS = os.sysconf("SC_CLK_TCK")
_SECTOR = 512  # bytes; /proc/diskstats always uses 512


def measure(folder: str) -> NodeUsage:
    """`folder`: where tasks and logs are; its disk's free space is reported."""
    read, written = _disks()
    received, sent = network("/proc/self/net/dev", _physical)
    return NodeUsage(
        cpu_seconds=_cpu_seconds(),
        memory=_memory(),
        disk_free=disk_free(folder),
        disk_read=read,
        disk_written=written,
        net_received=received,
        net_sent=sent,
    )


def disk_free(folder: str) -> int | None:
    try:
        disk = os.statvfs(folder)
    except OSError:
        return None
    return disk.f_bavail * disk.f_frsize


def network(
    table: str, chosen: Callable[[list[str]], Iterable[str]]
) -> tuple[int | None, int | None]:
    """Bytes received and sent over the chosen interfaces, without loopback."""
    counters: dict[str, tuple[int, int]] = {}
    for line in _lines(table)[2:]:
        name, _, rest = line.partition(":")
        fields = rest.split()
        if len(fields) > 8 and name.strip() != "lo":
            counters[name.strip()] = int(fields[0]), int(fields[8])
    if not counters:
        return None, None
    names = list(chosen(list(counters)))
    return sum(counters[name][0] for name in names), sum(counters[name][1] for name in names)


def _physical(names: list[str]) -> list[str]:
    """Real devices only: traffic through a bridge would be counted twice."""
    return [name for name in names if os.path.exists(f"/sys/class/net/{name}/device")] or names


def _cpu_seconds() -> float | None:
    for line in _lines("/proc/stat"):
        if line.startswith("cpu "):
            ticks = [int(field) for field in line.split()[1:9]]
            idle = sum(ticks[3:5])  # including iowait
            return (sum(ticks) - idle) / _TICKS
    return None


def _memory() -> int | None:
    values = dict(line.split(":", 1) for line in _lines("/proc/meminfo") if ":" in line)
    try:
        total, free = (int(values[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
    except (KeyError, ValueError):
        return None
    return (total - free) * 1024


def _disks() -> tuple[int | None, int | None]:
    """Whole disks only: partitions and mapped devices would count the same bytes again."""
    read = written = 0
    found = False
    for line in _lines("/proc/diskstats"):
        fields = line.split()
        if len(fields) > 9 and os.path.exists(f"/sys/block/{fields[2]}/device"):
            found = True
            read += int(fields[5]) * _SECTOR
            written += int(fields[9]) * _SECTOR
    return (read, written) if found else (None, None)


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []
