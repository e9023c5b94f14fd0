"""Behind a job of which nobody knows when it starts: who takes nothing that it could ever use.

Where nothing has a time limit, or the only node for a job is out, its start is unknown, and nobody
can be said to end before it. But work on other nodes or models, and work without cards that leaves
enough CPUs and memory, cannot delay it, however long it runs: that must not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable

from danlu.sched.api import TaskShape, Waiting
from danlu.sched.backfill_view import View
from danlu.sched.free import Free, Need, millicpus

_KINDS = 64  # kinds of tasks that wait, and are told apart


class Apart:
    """What those who wait could use, whenever that may be."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._waits: dict[TaskShape, int] = {}  # shape -> how many tasks
        self._nodes: dict[TaskShape, frozenset[int]] = {}  # where each could run, once empty
        self._owners: set[str] = set()
        self._groups: set[str | None] = set()

    def waits(self, job: Waiting) -> None:
        for shape in self._view.shapes(job):
            self._waits[shape] = self._waits.get(shape, 0) + 1
        self._owners.add(job.owner)
        self._groups.add(job.group)

    @property
    def is_empty(self) -> bool:
        return not self._waits

    @property
    def too_many(self) -> bool:
        return len(self._waits) > _KINDS

    def leaves_something(self) -> bool:
        """Whether anybody at all could start beside them: every task needs CPUs."""
        only = self._view.only
        return any(
            free.usable and free.millicpus > self._owed_cpus(at)
            for at, (node, free) in enumerate(
                zip(self._view.room.nodes, self._view.room.rooms(), strict=True)
            )
            if only is None or node.name in only
        )

    def start(self, job: Waiting) -> bool:
        view = self._view
        if self._shares_quota(job) or not view.fits(job):
            return False
        nodes = self._beside(view.shapes(job))
        places = view.place(job, nodes) if nodes else None
        if places is None:
            return False
        view.commit(job, places)
        return True

    def _shares_quota(self, job: Waiting) -> bool:
        """What it takes of a quota, an earlier job could lack."""
        if not self._view.snapshot.quotas.caps:
            return False
        return job.owner in self._owners or (job.group is not None and job.group in self._groups)

    def _beside(self, shapes: tuple[TaskShape, ...]) -> frozenset[str]:
        """The nodes on which all of it leaves the others' room alone."""
        room, only = self._view.room, self._view.only
        return frozenset(
            node.name
            for at, node in enumerate(room.nodes)
            if (only is None or node.name in only) and self._harmless(at, shapes)
        )

    def _harmless(self, at: int, shapes: tuple[TaskShape, ...]) -> bool:
        owed = [(shape, count) for shape, count in self._waits.items() if at in self._usable(shape)]
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
            millicpus(shape.cpus) * count
            for shape, count in self._waits.items()
            if at in self._usable(shape)
        )

    def _usable(self, shape: TaskShape) -> frozenset[int]:
        if shape not in self._nodes:
            room, need = self._view.room, Need(shape)
            mask = room.suitable(shape, self._view.only)
            self._nodes[shape] = frozenset(
                at
                for at, node in enumerate(room.nodes)
                if (mask is None or mask[at]) and Free.when_empty(node).fits(need)
            )
        return self._nodes[shape]


def _meet(free: Free, one: TaskShape, other: TaskShape) -> bool:
    """Whether both could want the same card of a node."""
    if not one.amount or not other.amount:
        return False
    first, second = Need(one), Need(other)
    return any(first.accepts(model) and second.accepts(model) for model in set(free.models))


def start_apart(view: View, jobs: Iterable[Waiting]) -> None:
    """Starts who takes nothing from those before him. `jobs`: in order; the first one waits."""
    begun = {one.job.job_id for one in view.begun}
    apart = Apart(view)
    passed: list[Waiting] = []  # counted only when somebody behind them fits
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
