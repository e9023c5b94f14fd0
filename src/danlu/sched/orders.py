"""In which order nodes are filled. The admin picks one by name; ties go to the node listed first.

tight   the node with the fewest cards left (A3)
spread  the node with the most cards left
server  the admin's order of servers, then tight
card    the model of which most is free, so that rare models stay free; then tight
person  where this person already has work, then where nobody has; then tight
learned what is worth least to the jobs that usually come (see `learned.py`)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from danlu.sched.api import WHOLE
from danlu.sched.free import Free, Need

if TYPE_CHECKING:
    from danlu.sched.place import Room

ORDERS = ("tight", "spread", "server", "card", "person", "learned")

Key = Callable[[int, Free, Need], tuple[object, ...]]


def key_of(order: str, owner: str, owners: Mapping[int, set[str]], room: Room) -> Key:
    if order in ("tight", "learned"):
        return tight
    if order == "spread":
        return spread
    if order == "server":
        return lambda at, free, need: (room.nodes[at].rank, *tight(at, free, need))
    if order == "card":
        plenty = _idle_by_model(room)
        return lambda at, free, need: (_scarcity(free, need, plenty), *tight(at, free, need))
    if order == "person":
        return lambda at, free, need: (_company(owners.get(at), owner), *tight(at, free, need))
    raise ValueError(f"unknown order of placing {order!r}; known: {', '.join(ORDERS)}")


def tight(_at: int, free: Free, need: Need) -> tuple[int, ...]:
    """The smallest is best: what would stay free."""
    part = 0
    if need.share and not need.indexes:
        part = (free.smallest_part(need) or 0) - need.share
    return (part, free.whole, free.millicpus, free.memory)


def spread(_at: int, free: Free, need: Need) -> tuple[int, ...]:
    left = sum(free.cards)
    return (-left, -free.millicpus, -free.memory)


def _idle_by_model(room: Room) -> dict[str, int]:
    idle: dict[str, int] = {}
    for at in range(len(room.nodes)):
        free = room.room_of(at)
        for amount, model in zip(free.cards, free.models, strict=True):
            if amount == WHOLE:
                idle[model] = idle.get(model, 0) + 1
    return idle


def _scarcity(free: Free, need: Need, plenty: Mapping[str, int]) -> int:
    """Minus the number of idle cards of the most plentiful model it would get here."""
    if not (need.cards or need.share):
        # Work without cards keeps away from the rare ones altogether.
        return -min((plenty.get(model, 0) for model in free.models), default=1 << 30)
    return -max((plenty.get(m, 0) for m in free.models if need.accepts(m)), default=0)


def _company(here: set[str] | None, owner: str) -> int:
    if not here:
        return 1
    return 0 if owner in here else 2
