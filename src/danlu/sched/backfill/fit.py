"""When and where a gang can start, per node, as running jobs end and nothing else starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from operator import itemgetter

from danlu.sched.api import TaskShape
from danlu.sched.place.free import Free, Need
from danlu.sched.place.place import Room
from danlu.spec.placement import Placement

Slot = tuple[float, int, int]  # start, remaining free capacity, node
Release = tuple[float, TaskShape, tuple[int, ...]]  # end, shape, GPUs
Ending = tuple[float, Sequence[TaskShape], Sequence[Placement]]  # end, shapes, places


class Releases:
    """Ends of running jobs by node."""

    def __init__(self, room: Room, endings: Iterable[Ending]) -> None:
        self._by_node: dict[str, list[Release]] = {}
        self._needs: dict[int, Need] = {}
        self._nodes = room.nodes
        by_node = self._by_node
        for end, shapes, places in endings:
            for shape, place in zip(shapes, places, strict=True):
                by_node.setdefault(place.node, []).append((end, shape, place.gpus))

    def need(self, shape: TaskShape) -> Need:
        need = self._needs.get(id(shape))
        if need is None:
            need = self._needs[id(shape)] = Need(shape)
        return need

    def of(self, at: int) -> list[Release]:
        releases = self._by_node.get(self._nodes[at].name)
        return sorted(releases, key=itemgetter(0)) if releases else []


class Fit:
    """`at`: the earliest start, or inf if unknown. `tasks`: node -> resources it gets there."""

    def __init__(
        self,
        room: Room,
        only: frozenset[str] | None,
        now: float,
        releases: Releases,
        shapes: Sequence[TaskShape],
    ) -> None:
        self._room, self._only, self._now = room, only, now
        self.releases = releases
        self.tasks: dict[int, list[Need]] = {}
        self.at = self._find(shapes)

    def then(self, at: int, time: float) -> Free:
        """The node at that time, without what the gang gets there."""
        free = self._room.room_of(at).copy()
        for end, shape, gpus in self.releases.of(at):
            if end <= time:
                free.change(self.releases.need(shape), free.positions(gpus), -1)
        for need in self.tasks[at]:
            take(free, need)
        return free

    def _find(self, shapes: Sequence[TaskShape]) -> float:
        groups: dict[TaskShape, int] = {}
        for shape in shapes:
            groups[shape] = groups.get(shape, 0) + 1
        latest = self._now
        largest_first = sorted(groups, key=lambda s: (s.amount, s.cpus, s.memory), reverse=True)
        for shape in largest_first:
            slots = self._slots(shape, groups[shape])
            if len(slots) < groups[shape]:
                return inf
            for time, _, at in slots:
                latest = max(latest, time)
                self.tasks.setdefault(at, []).append(self.releases.need(shape))
        return latest

    def _slots(self, shape: TaskShape, count: int) -> list[Slot]:
        """The first `count` places for a task of this shape, over all nodes."""
        need = self.releases.need(shape)
        suitable = self._room.suitable(shape, self._only)
        slots: list[Slot] = []
        bound = inf
        for at in range(len(self._room.nodes)):
            if suitable is None or suitable[at]:
                slots.extend(self._on_node(at, need, count, bound))
                if len(slots) >= 2 * count + 8:
                    slots = sorted(slots)[:count]
                    bound = slots[-1][0]
        return sorted(slots)[:count]

    def _on_node(self, at: int, need: Need, count: int, bound: float) -> list[Slot]:
        free = self._room.room_of(at)
        if not free.usable or len(free.gpus) < need.gpus:
            return []
        free = free.copy()
        pending = list(self.tasks.get(at, ()))
        slots: list[Slot] = []
        time = self._now
        releases = self.releases.of(at)
        for place in range(-1, len(releases)):
            if place >= 0:
                time, shape, gpus = releases[place]
                if time > bound or time == inf:
                    break
                free.change(self.releases.need(shape), free.positions(gpus), -1)
            while pending and take(free, pending[0]):
                pending.pop(0)
            while not pending and len(slots) < count and take(free, need):
                slots.append((time, free.whole, at))
            if len(slots) == count:
                break
        return slots


def take(free: Free, need: Need) -> bool:
    if not free.fits(need):
        return False
    free.change(need, free.choose(need) or (), 1)
    return True
