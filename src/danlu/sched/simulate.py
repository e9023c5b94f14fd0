"""Replays jobs through the `decide()` of a live server, with a simulated clock."""

from __future__ import annotations

import heapq
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from operator import attrgetter

from danlu.sched.api import (
    DEFAULT_QUEUE,
    WHOLE,
    Claim,
    Decision,
    GpuState,
    NodeState,
    Policy,
    Quotas,
    Running,
    Snapshot,
    TaskShape,
    Waiting,
)
from danlu.sched.decide import decide
from danlu.sched.estimate.history import Book
from danlu.sched.place.free import millicpus
from danlu.spec.placement import Placement

_order = attrgetter("order")
Decide = Callable[[Snapshot, Policy], Decision]
Watch = Callable[[Snapshot, Decision], None]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job of a trace: what the scheduler knows about it, and its actual run time."""

    job_id: str
    submit: float
    run: float
    shapes: tuple[TaskShape, ...]
    limit: float | None = None
    expected: float | None = None
    owner: str = "-"
    group: str | None = None
    queue: str = DEFAULT_QUEUE
    name: str = ""
    priority: int = 0
    preemptible: bool = False
    movable: bool = False


@dataclass(slots=True)
class Outcome:
    starts: dict[str, float] = field(default_factory=dict)  # the last one of each job
    ends: dict[str, float] = field(default_factory=dict)
    moves: int = 0
    preempted: int = 0


class Simulation:
    """`move_cost`: what being moved adds to a job's run time. `book` learns from what ends."""

    def __init__(
        self,
        nodes: Sequence[NodeState],
        policy: Policy,
        quotas: Quotas | None = None,
        move_cost: float = 60.0,
        decide: Decide = decide,
        book: Book | None = None,
    ) -> None:
        self.policy = policy
        self.now = -inf
        self.outcome = Outcome()
        self.waiting: list[Waiting] = []
        self.running: dict[str, Running] = {}
        self._quotas = quotas or Quotas()
        self._move_cost = move_cost
        self._decide = decide
        self.book = book
        self._nodes = Nodes(nodes)
        self._jobs: dict[str, Arrival] = {}
        self._ends: list[tuple[float, int, str]] = []
        self._true_end: dict[str, float] = {}
        self._memory: Mapping[str, object] = {}
        self._claims: tuple[Claim, ...] = ()
        self._seqs: dict[str, int] = {}
        self._preempted: Counter[str] = Counter()

    def run(
        self,
        arrivals: Iterable[Arrival],
        watch: Watch | None = None,
        arrived: Callable[[Snapshot, Waiting], None] | None = None,
    ) -> Outcome:
        """Runs until all jobs have ended or none of the waiting ones can ever start.

        `arrived` is called before the pass in which a job is first considered.
        """
        queue = sorted(arrivals, key=attrgetter("submit"))
        place = 0
        while place < len(queue) or self._ends:
            self.now = min(
                queue[place].submit if place < len(queue) else inf,
                self._ends[0][0] if self._ends else inf,
            )
            self._end_due()
            while place < len(queue) and queue[place].submit <= self.now:
                job = self._enter(queue[place], place)
                place += 1
                if arrived is not None:
                    arrived(self.snapshot(), job)
            if self.waiting:
                self._pass(watch)
        return self.outcome

    def snapshot(self) -> Snapshot:
        return Snapshot(
            self.now,
            self._nodes.states(),
            self.waiting,
            list(self.running.values()),
            quotas=self._quotas,
            memory=self._memory,
            claims=self._claims,
            history=None if self.book is None else self.book.history(),
        )

    def _pass(self, watch: Watch | None) -> None:
        for _ in range(8):  # a move or a preemption makes room for a next pass at the same moment
            snapshot = self.snapshot()
            decision = self._decide(snapshot, self.policy)
            self._memory, self._claims = decision.memory, decision.claims
            if watch is not None:
                watch(snapshot, decision)
            begun = {start.job_id: start.places for start in decision.starts}
            for job in [job for job in self.waiting if job.job_id in begun]:
                self._start(job, begun[job.job_id])
            if begun:
                self.waiting = [job for job in self.waiting if job.job_id not in begun]
            for move in decision.moves:
                self._move(self.running[move.job_id], move.places)
            for preempt in decision.preempts:
                self._preempt(self.running[preempt.job_id])
            if not decision.moves and not decision.preempts:
                return

    def _enter(self, job: Arrival, seq: int, since: float | None = None) -> Waiting:
        self._jobs[job.job_id] = job
        self._seqs[job.job_id] = seq
        waiting = Waiting(
            job.job_id,
            job.job_id,
            job.owner,
            seq,
            job.priority,
            job.shapes,
            group=job.group,
            queue=job.queue,
            name=job.name,
            submitted=job.submit,
            time_limit=job.limit,
            expected=job.expected,
            preemptible=job.preemptible,
            since=since,
        )
        insort(self.waiting, waiting, key=_order)
        return waiting

    def _start(self, waiting: Waiting, places: tuple[Placement, ...]) -> None:
        job, now = self._jobs[waiting.job_id], self.now
        gpus: dict[str, tuple[int, ...]] = {}
        for place in places:
            if place.gpus:
                gpus[place.node] = (*gpus.get(place.node, ()), *place.gpus)
        self._nodes.change(job.shapes, places, 1)
        self.outcome.starts[job.job_id] = now
        self.running[job.job_id] = Running(
            job.job_id,
            job.job_id,
            job.owner,
            now,
            None if job.limit is None else now + job.limit,
            gpus,
            job.shapes,
            places,
            job.group,
            job.queue,
            name=job.name,
            priority=job.priority,
            expected_end=None if job.expected is None else now + job.expected,
            preemptible=job.preemptible,
            movable=job.movable,
            preempted=self._preempted[job.job_id],
        )
        self._ends_at(job.job_id, now + job.run)

    def _ends_at(self, job_id: str, end: float) -> None:
        self._true_end[job_id] = end
        heapq.heappush(self._ends, (end, len(self._true_end), job_id))

    def _end_due(self) -> None:
        while self._ends and self._ends[0][0] <= self.now:
            end, _, job_id = heapq.heappop(self._ends)
            if self._true_end.get(job_id) != end:
                continue  # it was moved or preempted
            job = self.running.pop(job_id)
            del self._true_end[job_id]
            self._nodes.change(job.shapes, job.places, -1)
            self.outcome.ends[job_id] = end
            if self.book is not None:
                self.book.ended(
                    job.owner, job.name, job.shapes, self._jobs[job_id].limit, end - job.since
                )

    def _move(self, job: Running, places: tuple[Placement, ...]) -> None:
        self._nodes.change(job.shapes, job.places, -1)
        self._nodes.change(job.shapes, places, 1)
        cost = self._move_cost
        self.running[job.job_id] = replace(
            job,
            places=places,
            gpus={place.node: place.gpus for place in places},
            latest_end=None if job.latest_end is None else job.latest_end + cost,
            expected_end=None if job.expected_end is None else job.expected_end + cost,
        )
        self._ends_at(job.job_id, self._true_end[job.job_id] + cost)
        self.outcome.moves += 1

    def _preempt(self, job: Running) -> None:
        del self.running[job.job_id], self._true_end[job.job_id]
        self._nodes.change(job.shapes, job.places, -1)
        self._enter(self._jobs[job.job_id], self._seqs[job.job_id], self.now)
        self._preempted[job.job_id] += 1
        self.outcome.preempted += 1


class Nodes:
    """The nodes of a simulation; a node's state is rebuilt only when it changes."""

    def __init__(self, nodes: Sequence[NodeState]) -> None:
        self._states = list(nodes)
        self._at = {node.name: at for at, node in enumerate(nodes)}

    def states(self) -> list[NodeState]:
        return list(self._states)

    def change(self, shapes: Sequence[TaskShape], places: Sequence[Placement], sign: int) -> None:
        for shape, place in zip(shapes, places, strict=True):
            at = self._at[place.node]
            node = self._states[at]
            amount = sign * (shape.share or WHOLE)
            cpus = millicpus(node.cpus_free) - sign * millicpus(shape.cpus)
            self._states[at] = replace(
                node,
                cpus_free=cpus / 1000,
                memory_free=node.memory_free - sign * shape.memory,
                gpus=_changed(node.gpus, place.gpus, amount) if place.gpus else node.gpus,
            )


def _changed(
    gpus: tuple[GpuState, ...], indexes: tuple[int, ...], amount: int
) -> tuple[GpuState, ...]:
    return tuple(
        GpuState(gpu.index, gpu.model, gpu.free - amount, gpu.healthy)
        if gpu.index in indexes
        else gpu
        for gpu in gpus
    )
