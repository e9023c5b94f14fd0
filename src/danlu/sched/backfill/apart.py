"""Backfill behind a job whose start time is unknown: jobs that use nothing it could ever use.

Without time limits, or if the only node for a job is drained, its start is unknown, so no other job
is certain to end before it. But jobs on other nodes or models, and CPU jobs that leave enough CPUs
and memory, cannot delay it however long they run, so they need not wait.
"""

from __future__ import annotations

from collections.abc import Iterable

from danlu.sched.api import TaskShape, Waiting
from danlu.sched.backfill.view import View
from danlu.sched.place.free import Free, Need, millicpus

_Kind = tuple[TaskShape, frozenset[str] | None]  # on which nodes, by its queue
_KINDS = 64  # distinct kinds of waiting tasks


class Apart:
    """Resources the waiting jobs could use at any time."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._waits: dict[_Kind, int] = {}  # how many tasks
        self._nodes: dict[_Kind, frozenset[int]] = {}  # nodes where each could run if empty
        self._owners: set[str] = set()
        self._groups: set[str | None] = set()

    def waits(self, job: Waiting) -> None:
        only = self._view.only_of(job)
        for shape in self._view.shapes(job):
            self._waits[shape, only] = self._waits.get((shape, only), 0) + 1
        self._owners.add(job.owner)
        self._groups.add(job.group)

    @property
    def is_empty(self) -> bool:
        return not self._waits

    @property
    def too_many(self) -> bool:
        return len(self._waits) > _KINDS

    def leaves_something(self) -> bool:
        """Whether any job could start besides them; every task needs CPUs."""
        only = self._view.only
        return any(
            free.usable and free.millicpus > self._owed_cpus(at)
            for at, (node, free) in enumerate(
                zip(self._view.room.nodes, self._view.room.context(), strict=True)
            )
            if only is None or node.name in only
        )

    def start(self, job: Waiting) -> bool:
        view = self._view
        if self.shares_quota(job) or not view.fits(job):
            return False
        nodes = self.beside(job)
        places = view.place(job, nodes) if nodes else None
        if places is None:
            return False
        view.commit(job, places)
        return True

    def shares_quota(self, job: Waiting) -> bool:
        """Whether it uses quota that an earlier job may need."""
        if not self._view.snapshot.quotas.caps:
            return False
        return job.owner in self._owners or (job.group is not None and job.group in self._groups)

    def beside(self, job: Waiting) -> frozenset[str]:
        """The nodes where it takes nothing the others could use."""
        room, only, shapes = self._view.room, self._view.only_of(job), self._view.shapes(job)
        return frozenset(
            node.name
            for at, node in enumerate(room.nodes)
            if (only is None or node.name in only) and self._harmless(at, shapes)
        )

    def _harmless(self, at: int, shapes: tuple[TaskShape, ...]) -> bool:
        owed = [(one[0], count) for one, count in self._waits.items() if at in self._usable(one)]
        if not owed:
            return True
        free = self._view.room.room_of(at)
        if any(_meet(free, shape, other) for shape in set(shapes) for other, _ in owed):
            return False
        cpus = sum(millicpus(shape.cpus) for shape in shapes)
        memory = sum(shape.memory for shape in shapes)
        owed_memory = sum(shape.memory * count for shape, count in owed)
        return free.millicpus - cpus >= self._owed_cpus(at) and free.memory - memory >= owed_memory

    def _owed_cpus(self, at: int) -> int:
        return sum(
            millicpus(one[0].cpus) * count
            for one, count in self._waits.items()
            if at in self._usable(one)
        )

    def _usable(self, kind: _Kind) -> frozenset[int]:
        if kind not in self._nodes:
            shape, only = kind
            room, need = self._view.room, Need(shape)
            mask = room.suitable(shape, only)
            self._nodes[kind] = frozenset(
                at
                for at, node in enumerate(room.nodes)
                if (mask is None or mask[at]) and Free.when_empty(node).fits(need)
            )
        return self._nodes[kind]


def _meet(free: Free, one: TaskShape, other: TaskShape) -> bool:
    """Whether both could use the same GPU of a node."""
    if not one.amount or not other.amount:
        return False
    first, second = Need(one), Need(other)
    return any(first.accepts(model) and second.accepts(model) for model in set(free.models))


def start_apart(view: View, jobs: Iterable[Waiting]) -> None:
    """Starts jobs that take nothing from earlier ones. `jobs` is in order; the first one waits."""
    begun = {one.job.job_id for one in view.begun}
    apart = Apart(view)
    passed: list[Waiting] = []  # computed only if a later job fits
    for job in jobs:
        if job.job_id in begun:
            continue
        if apart.is_empty:
            apart.waits(job)
            if not apart.leaves_something():
                return
        elif not view.fits(job):
            passed.append(job)
        else:
            for one in passed:
                apart.waits(one)
            passed.clear()
            if apart.too_many:
                return
            if not apart.start(job):
                passed.append(job)
