"""What the rules of a queue see in one pass, and how they start a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from math import inf

from danlu.sched.api import (
    Kept,
    Move,
    QueuePolicy,
    Reservation,
    Snapshot,
    Start,
    TaskPlace,
    TaskShape,
    Waiting,
)
from danlu.sched.limits import Limits
from danlu.sched.memory import Memory
from danlu.sched.place import Prefer, Room
from danlu.sched.timeline import end_of, run_of

Shapes = tuple[TaskShape, ...]
Possible = Callable[[Shapes, frozenset[str] | None], bool]
# Looking at every node for each placement pays on clusters up to this size.
NODES_TO_COMPARE = 512
_OVERTAKEN_SHOWN = 20
_LOOKED_AT = 5000


@dataclass(frozen=True, slots=True)
class Begun:
    """A job that this pass has started."""

    job: Waiting
    shapes: Shapes
    places: tuple[TaskPlace, ...]
    end: float | None


@dataclass(slots=True)
class View:
    snapshot: Snapshot
    rules: QueuePolicy
    room: Room
    jobs: Sequence[Waiting]  # of this queue: priority, then first come
    limits: Limits
    possible: Possible
    only: frozenset[str] | None = None  # the queue's nodes
    memory: Memory | None = None
    begun: list[Begun] = field(default_factory=list)
    gate: Callable[[Waiting], bool] | None = None  # asked before a job gets room
    _no_room: set[Shapes] = field(default_factory=set)
    _busy: dict[str, float] | None = None

    @property
    def now(self) -> float:
        return self.snapshot.now

    def eligible(self) -> Iterator[Waiting]:
        """Who waits for room and for nothing else."""
        for job in self.jobs:
            if self.limits.allows(job):
                shapes = self.shapes(job)
                if not self.hopeless(shapes) or self.possible(shapes, self.only):
                    yield job

    def shapes(self, job: Waiting) -> Shapes:
        return self.limits.shapes(job) or job.shapes

    def permits(self, job: Waiting) -> bool:
        """Asked again right before a start: what began in this pass counts."""
        return self.limits.allows(job) and (self.gate is None or self.gate(job))

    def hopeless(self, shapes: Shapes) -> bool:
        """It has been tried in this pass; room only shrinks."""
        return shapes in self._no_room

    def fits(self, job: Waiting) -> bool:
        shapes = self.shapes(job)
        if self.hopeless(shapes):
            return False
        if self.room.fits_gang(shapes, self.only):
            return True
        self._no_room.add(shapes)
        return False

    def place(
        self, job: Waiting, only: frozenset[str] | None = None
    ) -> tuple[TaskPlace, ...] | None:
        """Takes room for it; `commit` or `undo` must follow. `only` narrows the queue's nodes."""
        shapes = self.shapes(job)
        if self.hopeless(shapes) or not self.permits(job):
            return None
        places = self.room.place(shapes, only or self.only, job.owner, self._prefer(job))
        if places is None and only is None:
            self._no_room.add(shapes)
        return places

    def undo(self, job: Waiting, places: tuple[TaskPlace, ...]) -> None:
        self.room.free(self.shapes(job), places)

    def commit(self, job: Waiting, places: tuple[TaskPlace, ...]) -> None:
        shapes, run = self.shapes(job), run_of(job)
        self.limits.started(job, places)
        end = None if run is None else self.now + run
        self.begun.append(Begun(job, shapes, places, end))
        if self._busy is not None:
            for place in places:
                self._busy[place.node] = max(self._busy.get(place.node, 0.0), end or inf)

    def start(self, job: Waiting) -> bool:
        places = self.place(job)
        if places is None:
            return False
        self.commit(job, places)
        return True

    def _prefer(self, job: Waiting) -> Prefer | None:
        """The node that stays busy longest anyway: others come free as a whole the sooner."""
        run = run_of(job)
        if run is None or not self.compares_nodes:
            return None
        if self._busy is None:
            self._busy = _busy(self.snapshot)
        return self.longest_busy(self._busy, self.now, run)

    @property
    def compares_nodes(self) -> bool:
        return self.rules.place == "tight" and 1 < len(self.room.nodes) <= NODES_TO_COMPARE

    def longest_busy(self, busy: Mapping[str, float], now: float, run: float) -> Prefer:
        nodes, end = self.room.nodes, now + run
        return lambda at: max(0.0, end - busy.get(nodes[at].name, now))


def _busy(snapshot: Snapshot) -> dict[str, float]:
    """Until when each node has something to do."""
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
    head: Waiting | None = None  # the first in the queue's order that has to wait for room
    reservations: tuple[Reservation, ...] = ()
    kept: tuple[Kept, ...] = ()  # those that would fit, but stay back for others
    memory: Memory | None = None
    moves: tuple[Move, ...] = ()  # after which the head will fit


def starts_of(view: View) -> tuple[Start, ...]:
    """With, for each, whom it goes before: earlier jobs that still wait for room."""
    if not view.begun:
        return ()
    begun = {one.job.job_id for one in view.begun}
    last = max(one.job.order for one in view.begun)
    left: list[Waiting] = []
    for job in view.jobs:
        if job.order >= last or len(left) == _LOOKED_AT:
            break
        if job.job_id not in begun and view.limits.allows(job):
            left.append(job)
    starts = []
    for one in view.begun:
        before = takewhile(lambda job, one=one: job.order < one.job.order, left)  # type: ignore[misc]
        overtook = tuple(job.job_id for job in islice(before, _OVERTAKEN_SHOWN))
        until = one.end if overtook else None
        starts.append(Start(one.job.job_id, one.places, overtook, until))
    return tuple(starts)
