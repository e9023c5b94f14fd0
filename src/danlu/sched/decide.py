"""The scheduler: a pure function of a snapshot.

From least to most disruptive, it starts jobs in queue order, backfills behind the first job that
does not fit without delaying it, and then does what else the admin allows. Jobs blocked by
something other than resources (held, a dependency, a quota) and jobs that could never fit do not
block others.
"""

from __future__ import annotations

from collections.abc import Sequence

from danlu.sched.api import (
    Claim,
    Decision,
    NodeState,
    Policy,
    QueuePolicy,
    Snapshot,
    Start,
    TaskShape,
    Waiting,
)
from danlu.sched.backfill.backfill import Filled, View, fill, plain
from danlu.sched.backfill.view import starts_of
from danlu.sched.claims import Claims
from danlu.sched.engine_queues import admit, split
from danlu.sched.limits import Limits, array_is_full
from danlu.sched.memory import Memory
from danlu.sched.order.queue_order import ORDERS as ORDER_NAMES
from danlu.sched.place.free import emptied
from danlu.sched.place.node_order import ORDERS
from danlu.sched.place.place import Room
from danlu.sched.sharing import Group, groups, memory_key
from danlu.spec.placement import Placement

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
_MANY = 1000  # jobs considered one by one in a pass


def decide(snapshot: Snapshot, policy: Policy) -> Decision:
    return Pass(snapshot, policy).run()


class Pass:
    """One pass over the queues. Free resources only shrink, so a job that did not fit will not."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        self.snapshot, self._theirs = split(snapshot, policy)
        self.policy = policy
        self.room = Room(snapshot.nodes, policy.place, snapshot.mix)
        self.limits = Limits(snapshot, policy)
        self.possible = Possible(snapshot.nodes)
        self._owners_known = False
        self.claims = Claims(snapshot, self.room)

    def run(self) -> Decision:
        snapshot = self.snapshot
        heads: dict[str, str] = {}
        memory: dict[str, object] = dict(snapshot.memory)
        found: list[Filled] = []
        for group, jobs in groups(snapshot, self.policy):
            key = memory_key(self.policy, jobs[0].queue)
            filled = self._group(group, jobs, key)
            found.append(filled)
            heads.update(_heads(group, filled))
            if filled.memory is not None:
                memory[key] = filled.memory
        starts = tuple(start for filled in found for start in filled.starts)
        first = next((filled.head for filled in found if filled.head is not None), None)
        return Decision(
            starts,
            None if first is None else first.job_id,
            heads,
            tuple(kept for filled in found for kept in filled.reservations),
            tuple(self.claims.preempts),
            tuple(self.claims.moves),
            kept=tuple(kept for filled in found for kept in filled.kept),
            memory=memory,
            claims=self._claims(starts),
            admits=admit(self._theirs, self.limits) if self._theirs else (),
        )

    def _claims(self, starts: tuple[Start, ...]) -> tuple[Claim, ...]:
        """Whose room is being made: until he starts, or waits for something other than room."""
        if not self.snapshot.claims and not self.claims.claims:
            return ()
        begun = {start.job_id for start in starts}
        waiting = {job.job_id for job in self.snapshot.waiting if job.blocked is None}
        latest = {c.job_id: c for c in (*self.snapshot.claims, *self.claims.claims)}
        return tuple(c for name, c in latest.items() if name in waiting and name not in begun)

    def _group(self, group: Group, jobs: Sequence[Waiting], key: str) -> Filled:
        for name in group.names:
            self.rules(name)
        ordered = group.in_order(jobs)
        view = self._view(group, ordered, key)
        if _nobody_competes(view):
            limits = self.limits.copy()
            if _all_start(view):
                return Filled(starts_of(view), memory=view.memory)
            self.limits = limits
            view = self._view(group, ordered, key)
        return fill(view)

    def _view(self, group: Group, jobs: Sequence[Waiting], key: str) -> View:
        memory = self.snapshot.memory.get(key)
        return View(
            self.snapshot,
            group,
            self.room,
            jobs,
            self.limits,
            self.possible,
            self.claims,
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
                for node in running.gpus:
                    self.room.occupied_by(node, running.owner)
        return rules

    def view_of(self, jobs: Sequence[Waiting]) -> View:
        """These jobs alone, to compare them by the rules of their queues."""
        names = sorted({job.queue for job in jobs})
        return self._view(Group(self.policy, names, self.snapshot.claims), jobs, "")


def _heads(group: Group, filled: Filled) -> dict[str, str]:
    """Queue -> the first on its nodes that has to wait for room."""
    found: dict[str, str] = {}
    for name in group.names:
        for head in filled.heads:
            if group.meet(head.queue, name):
                found[name] = head.job_id
                break
    return found


def _nobody_competes(view: View) -> bool:
    """Whether starting everybody in order, if there is room for all, is what `fill` would do."""
    promised = view.memory is not None and bool(view.memory.entries)
    fifo = all(rules.order == "fifo" and rules.lend for rules in view.group.all_rules)
    return (fifo and not promised) or len(view.jobs) > _MANY or plain(view)


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


def place_when_empty(shapes: Shapes, nodes: Sequence[NodeState]) -> tuple[Placement, ...] | None:
    return Room(nodes, empty=True).place(shapes)
