"""The state of one pass as the rules of a queue see it, and how they start jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from math import inf

from danlu.sched.api import (
    Kept,
    QueuePolicy,
    Reservation,
    Running,
    Snapshot,
    Start,
    TaskShape,
    Waiting,
)
from danlu.sched.backfill.timeline import end_of, run_of
from danlu.sched.claims import Claims
from danlu.sched.limits import Limits
from danlu.sched.memory import Memory
from danlu.sched.place.place import Prefer, Room
from danlu.sched.sharing import Group, Order
from danlu.spec.placement import Placement

Shapes = tuple[TaskShape, ...]
Possible = Callable[[Shapes, frozenset[str] | None], bool]
# Comparing all nodes for each placement pays off up to this cluster size.
NODES_TO_COMPARE = 512
_OVERTAKEN_SHOWN = 20
_LOOKED_AT = 5000


@dataclass(frozen=True, slots=True)
class Begun:
    """A job started in this pass."""

    job: Waiting
    shapes: Shapes
    places: tuple[Placement, ...]
    end: float | None


@dataclass(slots=True)
class View:
    """Queues that share nodes; `rules` are those of the first job's queue."""

    snapshot: Snapshot
    group: Group
    room: Room
    jobs: Sequence[Waiting]  # in the group's order
    limits: Limits
    possible: Possible
    claims: Claims
    memory: Memory | None = None
    begun: list[Begun] = field(default_factory=list)
    awaited: list[Waiting] = field(default_factory=list)  # jobs for which room is being made
    gate: Callable[[Waiting], bool] | None = None  # asked before a job gets room
    _no_room: set[tuple[Shapes, frozenset[str] | None]] = field(default_factory=set)
    _busy: dict[str, float] | None = None

    @property
    def rules(self) -> QueuePolicy:
        return self.rules_of(self.jobs[0])

    @property
    def only(self) -> frozenset[str] | None:
        return self.group.only

    def rules_of(self, job: Waiting | Running) -> QueuePolicy:
        return self.group.rules(job.queue)

    def only_of(self, job: Waiting | Running) -> frozenset[str] | None:
        """The nodes of its queue."""
        return self.group.rules(job.queue).nodes

    def order(self, job: Waiting) -> Order:
        return self.group.order(job)

    def could(self, job: Waiting) -> bool:
        """Whether it would fit if everything were free and worked."""
        return self.possible(self.shapes(job), self.only_of(job))

    @property
    def now(self) -> float:
        return self.snapshot.now

    def eligible(self) -> Iterator[Waiting]:
        """Jobs that wait only for resources."""
        for job in self.jobs:
            if self.limits.allows(job) and (not self.hopeless(job) or self.could(job)):
                yield job

    def shapes(self, job: Waiting) -> Shapes:
        return self.limits.shapes(job) or job.shapes

    def permits(self, job: Waiting) -> bool:
        """Checked again right before a start, since earlier starts of this pass count."""
        return self.limits.allows(job) and (self.gate is None or self.gate(job))

    def hopeless(self, job: Waiting) -> bool:
        """Whether it did not fit earlier in this pass; free resources only shrink."""
        return bool(self._no_room) and (self.shapes(job), self.only_of(job)) in self._no_room

    def fits(self, job: Waiting) -> bool:
        shapes, only = self.shapes(job), self.only_of(job)
        if (shapes, only) in self._no_room:
            return False
        if self.room.fits_gang(shapes, only):
            return True
        self._no_room.add((shapes, only))
        return False

    def place(
        self, job: Waiting, nodes: frozenset[str] | None = None
    ) -> tuple[Placement, ...] | None:
        """Takes room for it; `commit` or `undo` must follow. `nodes`: a subset of its queue's."""
        shapes, only = self.shapes(job), self.only_of(job)
        if (shapes, only) in self._no_room or not self.permits(job):
            return None
        kept = self.group.claimed_places(job) if nodes is None else ()
        if kept and self.room.holds(shapes, kept):
            self.room.take(shapes, kept)  # exactly there, since others wait for other nodes
            return kept
        self.room.fill_by(self.rules_of(job).place)
        places = self.room.place(shapes, nodes or only, job.owner, self._prefer(job))
        if places is None and nodes is None:
            self._no_room.add((shapes, only))
        return places

    def undo(self, job: Waiting, places: tuple[Placement, ...]) -> None:
        self.room.free(self.shapes(job), places)

    def commit(self, job: Waiting, places: tuple[Placement, ...]) -> None:
        shapes, run = self.shapes(job), run_of(job)
        self.limits.started(job, places)
        self.claims.started(shapes, places)
        end = None if run is None else self.now + run
        self.begun.append(Begun(job, shapes, places, end))
        if self._busy is not None:
            for place in places:
                self._busy[place.node] = max(self._busy.get(place.node, 0.0), end or inf)

    def promise(self, job: Waiting, places: tuple[Placement, ...]) -> None:
        """Room is being made for it there, so it already counts against limits."""
        self.limits.promised(job, places)
        self.awaited.append(job)

    def start(self, job: Waiting) -> bool:
        places = self.place(job)
        if places is None:
            return False
        self.commit(job, places)
        return True

    def _prefer(self, job: Waiting) -> Prefer | None:
        """Prefers nodes that stay busy longest, so that others become entirely free sooner."""
        run = run_of(job)
        if run is None or not self.compares_nodes(job.queue):
            return None
        if self._busy is None:
            self._busy = _busy(self.snapshot)
        return self.longest_busy(self._busy, self.now, run)

    def compares_nodes(self, queue: str) -> bool:
        place = self.group.rules(queue).place
        tight = place == "tight" or (place == "learned" and not self.room.learned)
        return tight and 1 < len(self.room.nodes) <= NODES_TO_COMPARE

    def longest_busy(self, busy: Mapping[str, float], now: float, run: float) -> Prefer:
        nodes, end = self.room.nodes, now + run
        return lambda at: max(0.0, end - busy.get(nodes[at].name, now))


def _busy(snapshot: Snapshot) -> dict[str, float]:
    """Until when each node is busy."""
    busy: dict[str, float] = {}
    now = snapshot.now
    for job in snapshot.running:
        end = end_of(job, now)
        for place in job.places:
            if busy.get(place.node, 0.0) < end:
                busy[place.node] = end
    return busy


@dataclass(frozen=True, slots=True)
class Filled:
    starts: tuple[Start, ...]
    heads: tuple[Waiting, ...] = ()  # the first jobs that wait for resources, in order
    reservations: tuple[Reservation, ...] = ()
    kept: tuple[Kept, ...] = ()  # jobs that fit but wait for others
    memory: Memory | None = None

    @property
    def head(self) -> Waiting | None:
        return self.heads[0] if self.heads else None


def firsts(view: View, left: Iterable[Waiting]) -> tuple[Waiting, ...]:
    """The first waiting job of each queue."""
    found: dict[str, Waiting] = {}
    for job in left:
        found.setdefault(job.queue, job)
        if len(found) == len(view.group.names):
            break
    return tuple(found.values())


def starts_of(view: View) -> tuple[Start, ...]:
    """The starts, each with the earlier jobs it overtakes."""
    if not view.begun:
        return ()
    begun = {one.job.job_id for one in view.begun}
    last = max(view.order(one.job) for one in view.begun)
    left: list[Waiting] = []
    for job in view.jobs:
        if view.order(job) >= last or len(left) == _LOOKED_AT:
            break
        if job.job_id not in begun and view.limits.allows(job):
            left.append(job)
    starts = []
    for one in view.begun:
        overtook = tuple(islice(_overtaken(view, left, one.job), _OVERTAKEN_SHOWN))
        until = one.end if overtook else None
        starts.append(Start(one.job.job_id, one.places, overtook, until))
    return tuple(starts)


def _overtaken(view: View, left: list[Waiting], job: Waiting) -> Iterator[str]:
    place = view.order(job)
    for other in takewhile(lambda other: view.order(other) < place, left):
        if view.group.meet(other.queue, job.queue):
            yield other.job_id
