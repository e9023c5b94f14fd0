"""The strict queue per node: when and where each job would start without overtaking."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

from danlu.sched.api import Running, TaskShape
from danlu.sched.backfill.strict import Strict
from danlu.sched.backfill.view import View
from danlu.sched.memory import Entry, Memory
from danlu.sched.place.free import Free
from danlu.sched.sharing import Order
from danlu.spec.placement import Placement

Places = tuple[Placement, ...]


class World(Strict):
    """Places jobs like the real queue, so that its starts are those without backfill."""

    def _remembered(
        self, memory: Memory, waiting: Mapping[str, Order], running: dict[str, Running]
    ) -> list[Entry]:
        entries = super()._remembered(memory, waiting, running)
        # Slots on nodes that are gone, down or drained are dropped.
        usable = {name: free.indexes for name, free in _context(self._view) if free.usable}
        for entry in entries:
            if entry.begun is None and not all(_is_there(place, usable) for place in entry.places):
                self._stale = True
        return entries

    def _append(self, added: Sequence[Entry]) -> None:
        cluster = _Cluster(self._view, self._entries)
        for entry in added:
            at, places = cluster.append(max(self._now, entry.submitted), entry)
            self._entries.append(replace(entry, at=at, places=places))


class _Cluster:
    def __init__(self, view: View, entries: Sequence[Entry]) -> None:
        self._view = view
        self._room = view.room.copy()
        self._gpus = {name: free.indexes for name, free in _context(view)}
        self._at = max((entry.at for entry in entries), default=view.now)
        self._stuck = self._at == inf  # the start of the last job is unknown
        self._at = max(self._at, view.now)
        for job in view.snapshot.running:
            self._change(self._room.free, job.shapes, job.places)
        # Jobs start in order, so what has ended before the last start no longer matters.
        self._held = [(e.end, n, e) for n, e in enumerate(entries) if e.end > self._at]
        heapq.heapify(self._held)
        for _, _, entry in self._held:
            self._change(self._room.take, entry.shapes, entry.places)
        self._count = len(entries)
        self._busy: dict[str, float] | None = None

    def append(self, after: float, entry: Entry) -> tuple[float, Places]:
        self._pass_to(after)
        rules = self._view.group.rules(entry.queue)
        self._room.fill_by(rules.place)
        while not self._stuck:
            places = self._room.place(
                entry.shapes, rules.nodes, entry.owner, self._prefer(entry.run, entry.queue)
            )
            if places is not None:
                self._hold(entry, places)
                return self._at, places
            if not self._held or self._held[0][0] == inf:
                self._stuck = True
            else:
                self._pass_to(self._held[0][0])
        return inf, ()

    def _hold(self, entry: Entry, places: Places) -> None:
        started = replace(entry, at=self._at, places=places)
        self._count += 1
        heapq.heappush(self._held, (started.end, self._count, started))
        if self._busy is not None:
            for place in places:
                self._busy[place.node] = max(self._busy.get(place.node, 0.0), started.end)

    def _pass_to(self, time: float) -> None:
        self._at = max(self._at, time)
        while self._held and self._held[0][0] <= self._at:
            _, _, ended = heapq.heappop(self._held)
            self._change(self._room.free, ended.shapes, ended.places)
            self._busy = None

    def _prefer(self, run: float, queue: str) -> Callable[[int], float | tuple[float, ...]] | None:
        if run == inf or not self._view.compares_nodes(queue):
            return None
        if self._busy is None:
            self._busy = {}
            for end, _, entry in self._held:
                for place in entry.places:
                    self._busy[place.node] = max(self._busy.get(place.node, 0.0), end)
        return self._view.longest_busy(self._busy, self._at, run)

    def _change(
        self,
        change: Callable[[Sequence[TaskShape], Sequence[Placement]], None],
        shapes: Sequence[TaskShape],
        places: Sequence[Placement],
    ) -> None:
        """Placements on nodes and GPUs that still exist."""
        both = [p for p in zip(shapes, places, strict=False) if _is_there(p[1], self._gpus)]
        change([shape for shape, _ in both], [place for _, place in both])


def _context(view: View) -> Iterator[tuple[str, Free]]:
    for node, free in zip(view.room.nodes, view.room.context(), strict=True):
        yield node.name, free


def _is_there(place: Placement, gpus: Mapping[str, tuple[int, ...]]) -> bool:
    indexes = gpus.get(place.node)
    return indexes is not None and all(index in indexes for index in place.gpus)
