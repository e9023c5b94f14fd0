"""GPU totals of the cluster, computed from the ledger once for all readers.

Each GPU is fully accounted for as used, reserved, free or down. `idle`, `draining`
and `lent` are parts of `used`, not additional to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from danlu.control.live_job import LiveJob
from danlu.sched.api import ANY, WHOLE, NodeState, Quotas, Reservation

NOBODY: Mapping[tuple[str, int], int] = {}


@dataclass(slots=True)
class Count:
    """Thousandths of GPUs. total = free + reserved + used + out + outside + unknown."""

    total: int = 0
    free: int = 0
    reserved: int = 0  # free, but reserved for a waiting job or one being moved there
    used: int = 0
    out: int = 0  # free GPUs that are unhealthy or on nodes that are down or drained
    outside: int = 0  # held outside this installation
    unknown: int = 0  # the node's engine does not answer
    idle: int = 0  # part of `used`: held by jobs that are starting or stopping
    draining: int = 0  # part of `used`: on drained nodes, out of use once their jobs end
    lent: int = 0  # part of `used`: held by groups beyond their guaranteed share

    def add(self, other: Count) -> None:
        self.total += other.total
        self.free += other.free
        self.reserved += other.reserved
        self.used += other.used
        self.out += other.out
        self.outside += other.outside
        self.unknown += other.unknown
        self.idle += other.idle
        self.draining += other.draining


@dataclass(frozen=True, slots=True)
class ClusterTotals:
    all: Count
    gpus: Mapping[tuple[str, int], Count]  # (node, index)
    nodes: Mapping[str, Count]
    models: Mapping[str, Count]


def add_up(
    states: Iterable[NodeState],
    running: Iterable[LiveJob],
    moving: Mapping[tuple[str, int], int],
    reservations: Iterable[Reservation],
    quotas: Quotas,
    outside: Mapping[tuple[str, int], int] = NOBODY,
    away: frozenset[str] = ANY,
) -> ClusterTotals:
    """`moving`: reserved for jobs being moved; `outside`: held outside this installation;
    `away`: nodes of engines that do not answer.
    """
    kept = _kept(reservations)
    idle, held = _held(running)
    whole = Count()
    gpus: dict[tuple[str, int], Count] = {}
    nodes: dict[str, Count] = {}
    models: dict[str, Count] = {}
    for node in states:
        mine = nodes[node.name] = Count()
        usable = node.up and not node.drained
        for gpu in node.gpus:
            key = (node.name, gpu.index)
            usable_ = usable and gpu.healthy
            count = _gpu(gpu.free, usable_, moving.get(key, 0), key in kept, outside.get(key, 0))
            if node.name in away:
                count.unknown, count.out = count.out, 0
            count.idle = min(idle.get(key, 0), count.used)
            count.draining = count.used if node.drained else 0
            gpus[key] = count
            for sum_ in (whole, mine, models.setdefault(gpu.model, Count())):
                sum_.add(count)
    whole.lent = _lent(held, quotas, whole.free)
    return ClusterTotals(whole, gpus, nodes, models)


def _gpu(free: int, usable: bool, moving: int, kept: bool, outside: int) -> Count:
    count = Count(total=WHOLE, used=max(0, WHOLE - free - moving - outside))
    count.outside = min(outside, WHOLE - count.used)
    rest = WHOLE - count.used - count.outside
    count.reserved = min(moving, rest)
    rest -= count.reserved
    if not usable:
        count.out = rest
    elif kept:
        count.reserved += rest
    else:
        count.free = rest
    return count


def _kept(reservations: Iterable[Reservation]) -> set[tuple[str, int]]:
    return {
        (place.node, index)
        for reservation in reservations
        for place in reservation.places
        for index in place.gpus
    }


def _held(
    running: Iterable[LiveJob],
) -> tuple[dict[tuple[str, int], int], dict[str | None, int]]:
    """Held but idle amounts by GPU, and everything held by group."""
    idle: dict[tuple[str, int], int] = {}
    held: dict[str | None, int] = {}
    for job in running:
        attempt = job.attempt
        if attempt is None:
            continue
        waits = attempt.started_at is None or attempt.stop is not None
        for place in attempt.places:
            amount = place.share or WHOLE
            for index in place.gpus:
                group = job.row.group
                held[group] = held.get(group, 0) + amount
                if waits:
                    key = (place.node, index)
                    idle[key] = idle.get(key, 0) + amount
    return idle, held


def _lent(held: Mapping[str | None, int], quotas: Quotas, free: int) -> int:
    """GPUs that others hold out of the guaranteed shares of groups."""
    shares = {name: quota.guaranteed for name, quota in quotas.groups.items() if quota.guaranteed}
    unused = sum(max(0, own - held.get(name, 0)) for name, own in shares.items())
    beyond = sum(max(0, amount - shares.get(name or "", 0)) for name, amount in held.items())
    return min(max(0, unused - free), beyond)
