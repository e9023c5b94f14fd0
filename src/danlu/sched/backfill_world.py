"""The strict queue followed node by node: when and where each would start if nobody overtook."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

from danlu.sched.api import TaskPlace, TaskShape
from danlu.sched.backfill_strict import Strict
from danlu.sched.backfill_view import View
from danlu.sched.memory import Entry

Places = tuple[TaskPlace, ...]


class World(Strict):
    """Places as the real queue does, so that its starts are those of a queue without backfill."""

    def _append(self, added: Sequence[Entry]) -> None:
        cluster = _Cluster(self._view, self._entries)
        for entry in added:
            at, places = cluster.append(max(self._now, entry.submitted), entry)
            self._entries.append(replace(entry, at=at, places=places))


class _Cluster:
    def __init__(self, view: View, entries: Sequence[Entry]) -> None:
        self._view = view
        self._room = view.room.copy()
        self._names = {node.name for node in view.room.nodes}
        self._at = max((entry.at for entry in entries), default=view.now)
        self._stuck = self._at == inf  # nobody knows when the last one starts
        self._at = max(self._at, view.now)
        for job in view.snapshot.running:
            self._change(self._room.free, job.shapes, job.places)
        # None of these starts after the last of them; what has ended by then is gone.
        self._held = [(e.end, n, e) for n, e in enumerate(entries) if e.end > self._at]
        heapq.heapify(self._held)
        for _, _, entry in self._held:
            self._change(self._room.take, entry.shapes, entry.places)
        self._count = len(entries)
        self._busy: dict[str, float] | None = None

    def append(self, after: float, entry: Entry) -> tuple[float, Places]:
        self._pass_to(after)
        while not self._stuck:
            places = self._room.place(
                entry.shapes, self._view.only, entry.owner, self._prefer(entry.run)
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

    def _prefer(self, run: float) -> Callable[[int], float | tuple[float, ...]] | None:
        if run == inf or not self._view.compares_nodes:
            return None
        if self._busy is None:
            self._busy = {}
            for end, _, entry in self._held:
                for place in entry.places:
                    self._busy[place.node] = max(self._busy.get(place.node, 0.0), end)
        return self._view.longest_busy(self._busy, self._at, run)

    def _change(
        self,
        change: Callable[[Sequence[TaskShape], Sequence[TaskPlace]], None],
        shapes: Sequence[TaskShape],
        places: Sequence[TaskPlace],
    ) -> None:
        """What lies on nodes that are still there."""
        both = [p for p in zip(shapes, places, strict=False) if p[1].node in self._names]
        change([shape for shape, _ in both], [place for _, place in both])
