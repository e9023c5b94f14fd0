"""The reservation of a waiting job: when and where it can start, and what may go before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from danlu.sched.api import Basis, Cause, CauseKind, Reservation, TaskShape, Waiting
from danlu.sched.backfill.apart import Apart
from danlu.sched.backfill.fit import Ending, Fit, Releases
from danlu.sched.backfill.timeline import end_of, run_of
from danlu.sched.backfill.view import View
from danlu.sched.place.free import Free, Need
from danlu.spec.placement import Placement

Taken = list[tuple[Free, Need, tuple[int, ...]]]


class Reserve:
    """The earliest start of a gang if nothing else starts, and its nodes."""

    def __init__(self, view: View, job: Waiting, not_before: float = 0.0) -> None:
        self._view = view
        self.job = job
        releases = Releases(view.room, _endings(view))
        fit = Fit(view.room, view.only_of(job), view.now, releases, view.shapes(job))
        self._releases, self._tasks = releases, fit.tasks
        self.at = max(fit.at, not_before) if fit.at != inf else inf
        self._late = {at: fit.then(at, self.at) for at in fit.tasks}
        self._outside: dict[frozenset[str] | None, frozenset[str]] = {}
        self.apart = Apart(view)
        self.apart.waits(job)

    def outside(self, job: Waiting) -> frozenset[str]:
        """The nodes of its queue without reserved resources."""
        only = self._view.only_of(job)
        if only not in self._outside:
            self._outside[only] = frozenset(
                node.name
                for at, node in enumerate(self._view.room.nodes)
                if at not in self._tasks and (only is None or node.name in only)
            )
        return self._outside[only]

    def admits(
        self, shapes: Sequence[TaskShape], places: Sequence[Placement], end: float | None
    ) -> Taken | None:
        """What it takes besides the reservation; None if it would delay it."""
        taken: Taken = []
        if self.at == inf or (end is not None and end <= self.at):
            return taken if self.at != inf else None
        for shape, place in zip(shapes, places, strict=True):
            free = self._late.get(self._view.room.position(place.node))
            if free is None:
                continue
            need = self._releases.need(shape)
            positions = free.choose(need) if free.fits(need) else None
            if positions is None:
                give_back(taken)
                return None
            free.change(need, positions, 1)
            taken.append((free, need, positions))
        return taken

    def reservation(self) -> Reservation | None:
        if self.at == inf:
            return None
        nodes = self._view.room.nodes
        places = [Placement(nodes[at].name) for at, needs in self._tasks.items() for _ in needs]
        return Reservation(self.job.job_id, self.at, tuple(places))


def _endings(view: View) -> Iterator[Ending]:
    for job in view.snapshot.running:
        yield end_of(job, view.now), job.shapes, job.places
    for one in view.begun:
        yield inf if one.end is None else one.end, one.shapes, one.places


def admitted(
    view: View, reserves: Sequence[Reserve], job: Waiting, places: tuple[Placement, ...]
) -> Reserve | None:
    """Starts it at `places` or away from all reservations; else returns the conflicting one."""
    refuses = _in_the_way(view, reserves, job, places)
    if refuses is None:
        view.commit(job, places)
        return None
    view.undo(job, places)
    nodes = _away(reserves, job)
    elsewhere = view.place(job, nodes) if nodes else None
    if elsewhere is None:
        return refuses
    view.commit(job, elsewhere)
    return None


def _in_the_way(
    view: View, reserves: Sequence[Reserve], job: Waiting, places: tuple[Placement, ...]
) -> Reserve | None:
    shapes, run = view.shapes(job), run_of(job)
    end = None if run is None else view.now + run
    all_taken: list[Taken] = []
    for reserve in reserves:
        taken = reserve.admits(shapes, places, end)
        if taken is None:
            for others in all_taken:
                give_back(others)
            return reserve
        all_taken.append(taken)
    return None


def _away(reserves: Sequence[Reserve], job: Waiting) -> frozenset[str]:
    """Nodes without reservations. For a job with an unknown start, nodes where it could not use
    the resources.
    """
    found: frozenset[str] | None = None
    for reserve in reserves:
        if reserve.at == inf:
            nodes = frozenset() if reserve.apart.shares_quota(job) else reserve.apart.beside(job)
        else:
            nodes = reserve.outside(job)
        found = nodes if found is None else found & nodes
    return found or frozenset()


def give_back(taken: Taken) -> None:
    for free, need, positions in taken:
        free.change(need, positions, -1)


def reserved(reserve: Reserve) -> Cause:
    numbers: dict[str, int | float | str] = {"ref": reserve.job.ref}
    if reserve.at != inf:
        numbers["at"] = reserve.at
    return Cause(CauseKind.RESERVED, Basis.VERIFIED, numbers)
