"""The scheduler: one pure function over one snapshot.

Actions from least to most disruptive: start in the queue's order; then, behind the first job that
finds no room, start what does not delay it; then what the admin allows beyond that. Jobs kept back
by something other than room (held, a dependency, a quota) and jobs that no node could ever hold do
not stand in anybody's way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from danlu.sched import consolidate
from danlu.sched.api import (
    Decision,
    NodeState,
    Policy,
    Preempt,
    QueuePolicy,
    Snapshot,
    TaskPlace,
    TaskShape,
    Waiting,
)
from danlu.sched.backfill import Filled, View, fill, plain
from danlu.sched.backfill_view import starts_of
from danlu.sched.free import emptied
from danlu.sched.limits import Limits, array_is_full
from danlu.sched.memory import Memory
from danlu.sched.order import ORDERS as ORDER_NAMES
from danlu.sched.orders import ORDERS
from danlu.sched.place import Room
from danlu.sched.tenants import reclaim

__all__ = [
    "ORDER_NAMES",
    "Pass",
    "array_is_full",
    "could_ever_run",
    "decide",
    "emptied",
    "place_when_empty",
]

Shapes = tuple[TaskShape, ...]
_MANY = 1000  # jobs that one pass thinks about one by one


def decide(snapshot: Snapshot, policy: Policy) -> Decision:
    return Pass(snapshot, policy).run()


class Pass:
    """One walk over the queues. Room only shrinks on the way, so what did not fit will not fit."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        self.snapshot = snapshot
        self.policy = policy
        self.room = Room(snapshot.nodes, policy.place, snapshot.mix)
        self.limits = Limits(snapshot, policy)
        self.possible = Possible(snapshot.nodes)
        self._owners_known = False
        self._preempts: list[Preempt] = []

    def run(self) -> Decision:
        heads: dict[str, str] = {}
        memory: dict[str, object] = dict(self.snapshot.memory)
        found: list[Filled] = []
        for name, jobs in _by_queue(self.snapshot.waiting):
            filled = self._queue(name, jobs)
            found.append(filled)
            if filled.head is not None:
                heads[name] = filled.head.job_id
            if filled.memory is not None:
                memory[name] = filled.memory
        return Decision(
            tuple(start for filled in found for start in filled.starts),
            next(iter(heads.values()), None),
            heads,
            tuple(kept for filled in found for kept in filled.reservations),
            tuple(self._preempts),
            tuple(move for filled in found for move in filled.moves),
            kept=tuple(kept for filled in found for kept in filled.kept),
            memory=memory,
        )

    def _queue(self, name: str, jobs: Sequence[Waiting]) -> Filled:
        rules = self.rules(name)
        view = self._view(name, rules, jobs)
        if _nobody_competes(view):
            limits = self.limits.copy()
            if _all_start(view):
                return Filled(starts_of(view), memory=view.memory)
            self.limits = limits
            view = self._view(name, rules, jobs)
        filled = fill(view)
        if rules.consolidate and filled.head is not None and not filled.moves:
            filled = replace(filled, moves=consolidate.plan(view, filled.head))
        if rules.reclaim and filled.head is not None:
            self._preempts.extend(reclaim(view, filled))
        return filled

    def _view(self, name: str, rules: QueuePolicy, jobs: Sequence[Waiting]) -> View:
        memory = self.snapshot.memory.get(name)
        return View(
            self.snapshot,
            rules,
            self.room,
            jobs,
            self.limits,
            self.possible,
            rules.nodes,
            memory if isinstance(memory, Memory) else None,
        )

    def rules(self, name: str) -> QueuePolicy:
        rules = self.policy.queue(name)
        if rules.order not in ORDER_NAMES:
            known = ", ".join(ORDER_NAMES)
            raise ValueError(f"unknown order {rules.order!r}; known: {known}")
        if rules.place not in ORDERS:
            known = ", ".join(ORDERS)
            raise ValueError(f"unknown order of placing {rules.place!r}; known: {known}")
        self.room.fill_by(rules.place)
        if rules.place == "person" and not self._owners_known:
            self._owners_known = True
            for running in self.snapshot.running:
                for node in running.cards:
                    self.room.occupied_by(node, running.owner)
        return rules

    def comes_before(self, head: Waiting, other: Waiting) -> bool:
        """Whether the head of a queue goes before another of its jobs that did not start."""
        if self.policy.queue(head.queue).order in ("fifo", "easy"):
            return head.order < other.order
        return True


def _nobody_competes(view: View) -> bool:
    """Whether starting everybody in order, if there is room for all, is what `fill` would do."""
    promised = view.memory is not None and bool(view.memory.entries)
    strict = view.rules.order == "fifo" and view.rules.lend and not promised
    return strict or len(view.jobs) > _MANY or plain(view)


def _all_start(view: View) -> bool:
    for job in view.eligible():
        if not view.start(job):
            for begun in view.begun:
                view.undo(begun.job, begun.places)
            return False
    return True


class Possible:
    """Would a gang fit if everything here were free and worked? Asked once for each gang."""

    def __init__(self, nodes: Sequence[NodeState]) -> None:
        self._nodes = nodes
        self._room: Room | None = None
        self._known: dict[tuple[Shapes, frozenset[str] | None], bool] = {}

    def __call__(self, shapes: Shapes, only: frozenset[str] | None = None) -> bool:
        key = (shapes, only)
        known = self._known.get(key)
        if known is None:
            if self._room is None:
                self._room = Room(self._nodes, empty=True)
            known = self._known[key] = self._room.fits_gang(shapes, only)
        return known


def could_ever_run(shapes: Shapes, nodes: Sequence[NodeState]) -> bool:
    """Would the gang fit if everything here were free and up?"""
    return Possible(nodes)(shapes)


def place_when_empty(shapes: Shapes, nodes: Sequence[NodeState]) -> tuple[TaskPlace, ...] | None:
    return Room(nodes, empty=True).place(shapes)


def _by_queue(waiting: Sequence[Waiting]) -> list[tuple[str, Sequence[Waiting]]]:
    """The queues, in the order of their first jobs. One queue is not copied."""
    if not waiting:
        return []
    if len({job.queue for job in waiting}) == 1:
        return [(waiting[0].queue, waiting)]
    queues: dict[str, list[Waiting]] = {}
    for job in waiting:
        queues.setdefault(job.queue, []).append(job)
    return list(queues.items())
