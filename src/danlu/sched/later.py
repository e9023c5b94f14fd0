"""When a job would start, tried out: running jobs end one by one, and it is decided again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from danlu.sched.api import WHOLE, NodeState, Running, Snapshot, Waiting
from danlu.sched.decide import Pass, decide
from danlu.sched.memory import Memory
from danlu.sched.timeline import end_of

ENDS = 64  # so many ends are looked at
TRIES = 3  # so many decisions are made for one answer
MOST_WAITING = 500  # where more wait, deciding again takes longer than anybody waits for an answer


@dataclass(frozen=True, slots=True)
class Later:
    """It starts when this job ends, if that one and those before it end when they should."""

    at: float
    after: str  # the reference of the job whose end opens the room
    nodes: tuple[str, ...]


class Ends:
    """The ends to come of one snapshot; asked for several changes of one job."""

    def __init__(self, done: Pass) -> None:
        self._done = done
        now, here = done.snapshot.now, {node.name for node in done.snapshot.nodes}
        known = [
            (end_of(job, now), job.job_id, job)
            for job in done.snapshot.running
            if all(place.node in here for place in job.places)
        ]
        self._ends = sorted(end for end in known if end[0] != inf)[:ENDS]
        self._pictures: dict[int, Snapshot] = {}

    def first(self, job: Waiting, before: float = inf) -> Later | None:
        """The first end after which this job starts, earlier than `before`; None: none is known."""
        done = self._done
        shapes = done.limits.shapes(job)
        if shapes is None:
            return None
        trial, only = done.room.copy(), done.policy.queue(job.queue).nodes
        tries = 0
        for count, (at, _, ended) in enumerate(self._ends, 1):
            if at >= before or tries == TRIES:
                return None
            trial.free(ended.shapes, ended.places)
            more = count < len(self._ends) and self._ends[count][0] == at
            if more or not trial.fits_gang(shapes, only):
                continue  # what ends at the same moment is looked at together
            tries += 1
            nodes = self._starts(job, count)
            if nodes:
                return Later(at, ended.ref, nodes)
        return None

    def _starts(self, job: Waiting, count: int) -> tuple[str, ...]:
        decision = decide(asking(self._picture(count), job), self._done.policy)
        for start in decision.starts:
            if start.job_id == job.job_id:
                return tuple(dict.fromkeys(place.node for place in start.places))
        return ()

    def _picture(self, count: int) -> Snapshot:
        """As it is when the first `count` have ended."""
        found = self._pictures.get(count)
        if found is None:
            gone = [job for _, _, job in self._ends[:count]]
            found = self._pictures[count] = _without(
                self._done.snapshot, gone, self._ends[count - 1][0]
            )
        return found


def asking(snapshot: Snapshot, job: Waiting) -> Snapshot:
    """As if it had asked for this from the start: what it was promised as it is does not hold."""
    place = [one.job_id for one in snapshot.waiting].index(job.job_id)
    if snapshot.waiting[place] is job:
        return snapshot
    waiting = [*snapshot.waiting[:place], job, *snapshot.waiting[place + 1 :]]
    memory = {
        queue: replace(kept, entries=tuple(e for e in kept.entries if e.job_id != job.job_id))
        if isinstance(kept, Memory)
        else kept
        for queue, kept in snapshot.memory.items()
    }
    return replace(snapshot, waiting=waiting, memory=memory)


def _without(snapshot: Snapshot, ended: Sequence[Running], at: float) -> Snapshot:
    ids = {job.job_id for job in ended}
    nodes = {node.name: node for node in snapshot.nodes}
    for job in ended:
        for shape, place in zip(job.shapes, job.places, strict=True):
            node = nodes.get(place.node)
            if node is not None:
                nodes[place.node] = _freed(
                    node, shape.cpus, shape.memory, place.cards, place.share or WHOLE
                )
    running = [job for job in snapshot.running if job.job_id not in ids]
    return replace(snapshot, now=at, nodes=list(nodes.values()), running=running)


def _freed(
    node: NodeState, cpus: float, memory: int, cards: tuple[int, ...], amount: int
) -> NodeState:
    return replace(
        node,
        cpus_free=min(node.cpus, round(node.cpus_free + cpus, 3)),
        memory_free=min(node.memory, node.memory_free + memory),
        cards=tuple(
            replace(card, free=min(WHOLE, card.free + amount)) if card.index in cards else card
            for card in node.cards
        ),
    )
