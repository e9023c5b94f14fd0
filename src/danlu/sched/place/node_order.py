"""Placement orders. The admin picks one by name; ties go to the node listed first.

tight   the node with the fewest GPUs left (A3)
spread  the node with the most GPUs left
server  the admin's order of servers, then tight
gpu     the model with the most free GPUs, so that rare models stay free; then tight
person  nodes where this user already has jobs, then empty ones; then tight
learned the least valuable gap for the usual jobs (see `learned.py`)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from danlu.sched.api import WHOLE
from danlu.sched.place.free import Free, Need

if TYPE_CHECKING:
    from danlu.sched.place.place import Room

ORDERS = ("tight", "spread", "server", "gpu", "person", "learned")

Key = Callable[[int, Free, Need], tuple[object, ...]]


def key_of(order: str, owner: str, owners: Mapping[int, set[str]], room: Room) -> Key:
    if order in ("tight", "learned"):
        return tight
    if order == "spread":
        return spread
    if order == "server":
        return lambda at, free, need: (room.nodes[at].rank, *tight(at, free, need))
    if order == "gpu":
        plenty = _idle_by_model(room)
        return lambda at, free, need: (_scarcity(free, need, plenty), *tight(at, free, need))
    if order == "person":
        return lambda at, free, need: (_company(owners.get(at), owner), *tight(at, free, need))
    raise ValueError(f"unknown order of placing {order!r}; known: {', '.join(ORDERS)}")


def tight(_at: int, free: Free, need: Need) -> tuple[int, ...]:
    """What would stay free; the smallest value wins."""
    part = 0
    if need.share and not need.indexes:
        part = (free.smallest_part(need) or 0) - need.share
    return (part, free.whole, free.millicpus, free.memory)


def spread(_at: int, free: Free, need: Need) -> tuple[int, ...]:
    left = sum(free.gpus)
    return (-left, -free.millicpus, -free.memory)


def _idle_by_model(room: Room) -> dict[str, int]:
    idle: dict[str, int] = {}
    for at in range(len(room.nodes)):
        free = room.room_of(at)
        for amount, model in zip(free.gpus, free.models, strict=True):
            if amount == WHOLE:
                idle[model] = idle.get(model, 0) + 1
    return idle


def _scarcity(free: Free, need: Need, plenty: Mapping[str, int]) -> int:
    """Minus the number of idle GPUs of the most plentiful model it would get here."""
    if not (need.gpus or need.share):
        # CPU jobs avoid nodes with rare models.
        return -min((plenty.get(model, 0) for model in free.models), default=1 << 30)
    return -max((plenty.get(m, 0) for m in free.models if need.accepts(m)), default=0)


def _company(here: set[str] | None, owner: str) -> int:
    if not here:
        return 1
    return 0 if owner in here else 2
