"""Room kept for one waiting job: when and where it can start, and who may go before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from danlu.sched.api import Basis, Cause, CauseKind, Reservation, TaskPlace, TaskShape, Waiting
from danlu.sched.backfill_apart import Apart
from danlu.sched.backfill_fit import Ending, Fit, Releases
from danlu.sched.backfill_view import View
from danlu.sched.free import Free, Need
from danlu.sched.timeline import end_of, run_of


class Reserve:
    """The earliest start of one gang if nothing else began, on the nodes where that is."""

    def __init__(self, view: View, job: Waiting, not_before: float = 0.0) -> None:
        self._view = view
        self.job = job
        releases = Releases(view.room, _endings(view))
        fit = Fit(view.room, view.only, view.now, releases, view.shapes(job))
        self._releases, self._tasks = releases, fit.tasks
        self.at = max(fit.at, not_before) if fit.at != inf else inf
        self._late = {at: fit.then(at, self.at) for at in fit.tasks}
        self._outside: frozenset[str] | None = None
        self.apart = Apart(view)
        self.apart.waits(job)

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


def _endings(view: View) -> Iterator[Ending]:
    for job in view.snapshot.running:
        yield end_of(job, view.now), job.shapes, job.places
    for one in view.begun:
        yield inf if one.end is None else one.end, one.shapes, one.places


def admitted(view: View, reserve: Reserve, job: Waiting, places: tuple[TaskPlace, ...]) -> bool:
    """Starts it at `places`, else away from the kept room; else gives `places` back."""
    shapes, run = view.shapes(job), run_of(job)
    end = None if run is None else view.now + run
    if reserve.at == inf:
        # Nobody knows when the earlier job can start: only what it cannot use is free for others.
        view.undo(job, places)
        return reserve.apart.start(job)
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
