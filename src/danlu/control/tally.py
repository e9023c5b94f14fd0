"""The ledger added up: what every card of the cluster is doing, once for all who ask.

Each card's whole is split without rest: used, reserved, free or down. `idle` is a part of used,
`lent` of used, too; both say something about cards that are counted there already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from danlu.control.active import Active
from danlu.sched.api import WHOLE, NodeState, Quotas, Reservation


@dataclass(slots=True)
class Count:
    """Thousandths of cards. total = free + reserved + used + out."""

    total: int = 0
    free: int = 0
    reserved: int = 0  # free, but kept for a waiting job, or for one that is being moved there
    used: int = 0
    out: int = 0  # free on nodes that are down or taken out, or cards that are not well
    idle: int = 0  # of `used`: held by jobs that are not running yet, or are being stopped
    lent: int = 0  # of `used`: held beyond their own share by groups, while others have one

    def add(self, other: Count) -> None:
        self.total += other.total
        self.free += other.free
        self.reserved += other.reserved
        self.used += other.used
        self.out += other.out
        self.idle += other.idle


@dataclass(frozen=True, slots=True)
class Books:
    all: Count
    cards: Mapping[tuple[str, int], Count]  # (node, index)
    nodes: Mapping[str, Count]
    models: Mapping[str, Count]


def add_up(
    states: Iterable[NodeState],
    running: Iterable[Active],
    moving: Mapping[tuple[str, int], int],
    reservations: Iterable[Reservation],
    quotas: Quotas,
) -> Books:
    """`moving`: what is held of cards to which jobs are being moved."""
    kept = _kept(reservations)
    idle, held = _held(running)
    whole = Count()
    cards: dict[tuple[str, int], Count] = {}
    nodes: dict[str, Count] = {}
    models: dict[str, Count] = {}
    for node in states:
        mine = nodes[node.name] = Count()
        usable = node.up and not node.drained
        for card in node.cards:
            key = (node.name, card.index)
            count = _card(card.free, usable and card.healthy, moving.get(key, 0), key in kept)
            count.idle = min(idle.get(key, 0), count.used)
            cards[key] = count
            for sum_ in (whole, mine, models.setdefault(card.model, Count())):
                sum_.add(count)
    whole.lent = _lent(held, quotas, whole.free)
    return Books(whole, cards, nodes, models)


def _card(free: int, usable: bool, moving: int, kept: bool) -> Count:
    count = Count(total=WHOLE, used=max(0, WHOLE - free - moving))
    rest = WHOLE - count.used
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
        for index in place.cards
    }


def _held(
    running: Iterable[Active],
) -> tuple[dict[tuple[str, int], int], dict[str | None, int]]:
    """By card what is held without being used yet or any more; by group what is held in all."""
    idle: dict[tuple[str, int], int] = {}
    held: dict[str | None, int] = {}
    for job in running:
        attempt = job.attempt
        if attempt is None:
            continue
        waits = attempt.started_at is None or attempt.stop is not None
        for place in attempt.places:
            amount = int(place.get("share") or WHOLE)
            for index in place["cards"]:
                group = job.row.group
                held[group] = held.get(group, 0) + amount
                if waits:
                    key = (str(place["node"]), int(index))
                    idle[key] = idle.get(key, 0) + amount
    return idle, held


def _lent(held: Mapping[str | None, int], quotas: Quotas, free: int) -> int:
    """Cards that groups with a share of their own lack if they want them now: others have them."""
    shares = {name: quota.guaranteed for name, quota in quotas.groups.items() if quota.guaranteed}
    unused = sum(max(0, own - held.get(name, 0)) for name, own in shares.items())
    beyond = sum(max(0, amount - shares.get(name or "", 0)) for name, amount in held.items())
    return min(max(0, unused - free), beyond)
