"""The scheduler: one pure function. Strict order, best fit, whole gangs or nothing.

Nobody overtakes: where the first job finds no room, the ones behind it wait. Jobs kept back by
something other than room (held, a dependency, a pause) and jobs that no node could ever hold do not
stand in anybody's way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from danlu.sched.api import (
    WHOLE,
    Decision,
    NodeState,
    Policy,
    Snapshot,
    Start,
    TaskPlace,
    TaskShape,
    Waiting,
)
from danlu.sched.place import Room


def decide(snapshot: Snapshot, policy: Policy) -> Decision:
    if policy.name != "fifo":
        raise ValueError(f"unknown policy {policy.name!r}; known: fifo")
    room = Room(snapshot.nodes)
    active = dict(snapshot.array_active)
    starts: list[Start] = []
    possible: dict[tuple[TaskShape, ...], bool] = {}
    for job in snapshot.waiting:
        if job.blocked is not None or array_is_full(job, active):
            continue
        places = room.place(job.shapes)
        if places is None:
            if job.shapes not in possible:
                possible[job.shapes] = could_ever_run(job.shapes, snapshot.nodes)
            if not possible[job.shapes]:
                continue
            return Decision(tuple(starts), job.job_id)
        if job.array is not None:
            active[job.array] = active.get(job.array, 0) + 1
        starts.append(Start(job.job_id, places))
    return Decision(tuple(starts))


def array_is_full(job: Waiting, active: dict[str, int]) -> bool:
    if job.array is None or job.array_limit is None:
        return False
    return active.get(job.array, 0) >= job.array_limit


def could_ever_run(shapes: tuple[TaskShape, ...], nodes: Sequence[NodeState]) -> bool:
    """Would the gang fit if everything here were free and up?"""
    return place_when_empty(shapes, nodes) is not None


def place_when_empty(
    shapes: tuple[TaskShape, ...], nodes: Sequence[NodeState]
) -> tuple[TaskPlace, ...] | None:
    return Room([emptied(node) for node in nodes]).place(shapes)


def emptied(node: NodeState) -> NodeState:
    cards = tuple(replace(card, free=WHOLE, healthy=True) for card in node.cards)
    return replace(node, cpus_free=node.cpus, memory_free=node.memory, cards=cards, up=True)
