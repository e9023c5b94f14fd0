"""Room kept for one waiting job: when and where it can start, and who may go before it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from operator import itemgetter

from danlu.sched.api import Basis, Cause, CauseKind, Reservation, TaskPlace, TaskShape, Waiting
from danlu.sched.backfill_view import View
from danlu.sched.free import Free, Need
from danlu.sched.timeline import end_of, run_of

Slot = tuple[float, int, int]  # from when, what stays free there then, node
Release = tuple[float, TaskShape, tuple[int, ...]]  # when, of what, on which cards


class Releases:
    """What ends when on which node."""

    def __init__(self, view: View) -> None:
        self._by_node: dict[str, list[Release]] = {}
        self._needs: dict[int, Need] = {}
        self._nodes = view.room.nodes
        by_node, now = self._by_node, view.now
        for job in view.snapshot.running:
            end = end_of(job, now)
            for shape, place in zip(job.shapes, job.places, strict=True):
                by_node.setdefault(place.node, []).append((end, shape, place.cards))
        for one in view.begun:
            end = inf if one.end is None else one.end
            for shape, place in zip(one.shapes, one.places, strict=True):
                by_node.setdefault(place.node, []).append((end, shape, place.cards))

    def need(self, shape: TaskShape) -> Need:
        need = self._needs.get(id(shape))
        if need is None:
            need = self._needs[id(shape)] = Need(shape)
        return need

    def of(self, at: int) -> list[Release]:
        releases = self._by_node.get(self._nodes[at].name)
        return sorted(releases, key=itemgetter(0)) if releases else []


class Reserve:
    """The earliest start of one gang if nothing else began, on the nodes where that is."""

    def __init__(self, view: View, job: Waiting, not_before: float = 0.0) -> None:
        self._view = view
        self.job = job
        self._releases = Releases(view)
        self._tasks: dict[int, list[Need]] = {}  # node -> tasks kept room for
        self.at = self._find(view.shapes(job))
        self.at = max(self.at, not_before) if self.at != inf else inf
        self._late = {at: self._then(at) for at in self._tasks}
        self._outside: frozenset[str] | None = None

    @property
    def outside(self) -> frozenset[str]:
        """The queue's other nodes."""
        if self._outside is None:
            nodes, only = self._view.room.nodes, self._view.only
            self._outside = frozenset(
                node.name
                for at, node in enumerate(nodes)
                if at not in self._tasks and (only is None or node.name in only)
            )
        return self._outside

    def admits(
        self, shapes: Sequence[TaskShape], places: Sequence[TaskPlace], end: float | None
    ) -> bool:
        """Whether it ends before, or leaves the kept room alone. What is admitted is remembered."""
        if end is not None and end <= self.at:
            return True
        taken: list[tuple[Free, Need, tuple[int, ...]]] = []
        for shape, place in zip(shapes, places, strict=True):
            free = self._late.get(self._view.room.position(place.node))
            if free is None:
                continue
            need = self._releases.need(shape)
            positions = free.choose(need) if free.fits(need) else None
            if positions is None:
                for one, its, where in taken:
                    one.change(its, where, -1)
                return False
            free.change(need, positions, 1)
            taken.append((free, need, positions))
        return True

    def reservation(self) -> Reservation | None:
        if self.at == inf:
            return None
        nodes = self._view.room.nodes
        places = [TaskPlace(nodes[at].name) for at, needs in self._tasks.items() for _ in needs]
        return Reservation(self.job.job_id, self.at, tuple(places))

    def _find(self, shapes: Sequence[TaskShape]) -> float:
        groups: dict[TaskShape, int] = {}
        for shape in shapes:
            groups[shape] = groups.get(shape, 0) + 1
        latest = self._view.now
        largest_first = sorted(groups, key=lambda s: (s.amount, s.cpus, s.memory), reverse=True)
        for shape in largest_first:
            slots = self._slots(shape, groups[shape])
            if len(slots) < groups[shape]:
                return inf
            for time, _, at in slots:
                latest = max(latest, time)
                self._tasks.setdefault(at, []).append(self._releases.need(shape))
        return latest

    def _slots(self, shape: TaskShape, count: int) -> list[Slot]:
        """The first `count` places for a task of this shape, over all nodes."""
        view, need = self._view, self._releases.need(shape)
        suitable = view.room.suitable(shape, view.only)
        slots: list[Slot] = []
        bound = inf
        for at in range(len(view.room.nodes)):
            if suitable is None or suitable[at]:
                slots.extend(self._on_node(at, need, count, bound))
                if len(slots) >= 2 * count + 8:
                    slots = sorted(slots)[:count]
                    bound = slots[-1][0]
        return sorted(slots)[:count]

    def _on_node(self, at: int, need: Need, count: int, bound: float) -> list[Slot]:
        free = self._view.room.room_of(at)
        if not free.usable or len(free.cards) < need.cards:
            return []
        free = free.copy()
        pending = list(self._tasks.get(at, ()))
        slots: list[Slot] = []
        time = self._view.now
        releases = self._releases.of(at)
        for place in range(-1, len(releases)):
            if place >= 0:
                time, shape, cards = releases[place]
                if time > bound or time == inf:
                    break
                free.change(self._releases.need(shape), free.positions(cards), -1)
            while pending and _take(free, pending[0]):
                pending.pop(0)
            while not pending and len(slots) < count and _take(free, need):
                slots.append((time, free.whole, at))
            if len(slots) == count:
                break
        return slots

    def _then(self, at: int) -> Free:
        """The node at the time of the start, with the room kept taken away."""
        free = self._view.room.room_of(at).copy()
        for end, shape, cards in self._releases.of(at):
            if end <= self.at:
                free.change(self._releases.need(shape), free.positions(cards), -1)
        for need in self._tasks[at]:
            _take(free, need)
        return free


def _take(free: Free, need: Need) -> bool:
    if not free.fits(need):
        return False
    free.change(need, free.choose(need) or (), 1)
    return True


def admitted(view: View, reserve: Reserve, job: Waiting, places: tuple[TaskPlace, ...]) -> bool:
    """Starts it at `places`, else away from the kept room; else gives `places` back."""
    shapes, run = view.shapes(job), run_of(job)
    end = None if run is None else view.now + run
    if reserve.at == inf:
        # Nobody knows when the earlier job can start, so nobody can say what delays it.
        view.undo(job, places)
        return False
    if reserve.admits(shapes, places, end):
        view.commit(job, places)
        return True
    view.undo(job, places)
    elsewhere = view.place(job, reserve.outside) if reserve.outside else None
    if elsewhere is None:
        return False
    view.commit(job, elsewhere)
    return True


def reserved(reserve: Reserve) -> Cause:
    numbers: dict[str, int | float | str] = {"ref": reserve.job.ref}
    if reserve.at != inf:
        numbers["at"] = reserve.at
    return Cause(CauseKind.RESERVED, Basis.VERIFIED, numbers)
