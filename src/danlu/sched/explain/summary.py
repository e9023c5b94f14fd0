"""Extremes of what is free per node, to rule out placements without checking every node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from danlu.sched.api import TaskShape
from danlu.sched.place.free import Free, Need, millicpus
from danlu.sched.place.place import Room

Only = frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Summary:
    """Over the nodes a task may use; GPUs of models it accepts."""

    nodes: int
    idle: int = 0
    most_idle: int = 0
    least_idle: int = 0
    most_part: int = 0
    least_part: int = 0
    most_cpus: int = 0
    least_cpus: int = 0
    most_memory: int = 0
    least_memory: int = 0

    def could_hold(self, shape: TaskShape) -> bool:
        """False: no node can. True: each resource is available on some node, maybe not the same."""
        return (
            self.nodes > 0
            and shape.gpus <= self.most_idle
            and shape.share <= self.most_part
            and millicpus(shape.cpus) <= self.most_cpus
            and shape.memory <= self.most_memory
        )

    def lacks(self, shape: TaskShape) -> list[str]:
        """Resources that are insufficient on at least one node."""
        gpus = self.least_part < shape.share if shape.share else self.least_idle < shape.gpus
        cpus, memory = self.least_cpus < millicpus(shape.cpus), self.least_memory < shape.memory
        return [n for n, lack in (("gpus", gpus), ("cpus", cpus), ("memory", memory)) if lack]


def fits(room: Room, shapes: Sequence[TaskShape], only: Only) -> bool:
    """Like `room.fits_gang`, but fast if the answer is no."""
    distinct = {id(shape): shape for shape in shapes}.values()
    if not all(summary_of(room, shape, only).could_hold(shape) for shape in distinct):
        return False
    return room.fits_gang(shapes, only)


def summary_of(room: Room, shape: TaskShape, only: Only) -> Summary:
    """Computed once per set of accepted models."""
    need, mask = Need(shape), room.suitable(shape, only)
    key = (need.model, need.models, id(mask))
    known = room.notes.get(key)
    if isinstance(known, Summary):
        return known
    found = room.notes[key] = _count(_common(room, mask), need)
    return found


def largest_part(free: Free, need: Need) -> int:
    """The largest free part of any GPU."""
    most = max(free.gpus, default=0)
    if need.any_model or not most:
        return most
    pairs = zip(free.gpus, free.models, strict=True)
    return max((part for part, model in pairs if need.accepts(model)), default=0)


@dataclass(frozen=True, slots=True)
class _Common:
    """The part that does not depend on the requested model."""

    nodes: int
    partly: Sequence[Free]  # nodes with free GPU capacity
    cpus: tuple[int, int]  # least, most
    memory: tuple[int, int]


def _common(room: Room, mask: bytearray | None) -> _Common:
    known = room.notes.get(id(mask))
    if isinstance(known, _Common):
        return known
    frees = [
        free for at, free in enumerate(room.context()) if free.usable and (mask is None or mask[at])
    ]
    cpus = [free.millicpus for free in frees] or [0]
    memory = [free.memory for free in frees] or [0]
    partly = [free for free in frees if any(free.gpus)]
    found = _Common(len(frees), partly, (min(cpus), max(cpus)), (min(memory), max(memory)))
    room.notes[id(mask)] = found
    return found


def _count(common: _Common, need: Need) -> Summary:
    if not common.nodes:
        return Summary(0)
    idle = [free.idle(need) if free.whole else 0 for free in common.partly]
    part = [largest_part(free, need) for free in common.partly]
    if len(idle) < common.nodes:
        idle.append(0)
        part.append(0)
    return Summary(
        common.nodes,
        sum(idle),
        max(idle),
        min(idle),
        max(part),
        min(part),
        common.cpus[1],
        common.cpus[0],
        common.memory[1],
        common.memory[0],
    )
