"""Finds when a job would start, by deciding again as running jobs end one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from danlu.sched.api import WHOLE, NodeState, Running, Snapshot, Waiting
from danlu.sched.backfill.timeline import end_of
from danlu.sched.decide import Pass, decide
from danlu.sched.memory import Memory

ENDS = 64  # ends of running jobs that are considered
TRIES = 3  # decisions per answer
MOST_WAITING = 500  # with a longer queue, deciding again takes too long


@dataclass(frozen=True, slots=True)
class Later:
    """It starts when this job ends, provided that all jobs end as planned."""

    at: float
    after: str  # reference of the job whose end makes room
    nodes: tuple[str, ...]


class Ends:
    """Future ends of running jobs in a snapshot, used to try several changes of a job."""

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
        """The first end before `before` after which this job starts, if any is known."""
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
                continue  # ends at the same time are considered together
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
        """The snapshot after the first `count` ends."""
        found = self._pictures.get(count)
        if found is None:
            gone = [job for _, _, job in self._ends[:count]]
            found = self._pictures[count] = _without(
                self._done.snapshot, gone, self._ends[count - 1][0]
            )
        return found


def asking(snapshot: Snapshot, job: Waiting) -> Snapshot:
    """The snapshot with the job changed; promises made to it before no longer hold."""
    place = [one.job_id for one in snapshot.waiting].index(job.job_id)
    if snapshot.waiting[place] is job:
        return snapshot
    waiting = [*snapshot.waiting[:place], job, *snapshot.waiting[place + 1 :]]
    return replace(snapshot, waiting=waiting, memory=forget(snapshot.memory, {job.job_id}))


def forget(memory: Mapping[str, object], jobs: set[str]) -> dict[str, object]:
    """The memory without promises made to jobs before they were changed."""
    return {
        queue: replace(kept, entries=tuple(e for e in kept.entries if e.job_id not in jobs))
        if isinstance(kept, Memory)
        else kept
        for queue, kept in memory.items()
    }


def _without(snapshot: Snapshot, ended: Sequence[Running], at: float) -> Snapshot:
    ids = {job.job_id for job in ended}
    nodes = {node.name: node for node in snapshot.nodes}
    for job in ended:
        for shape, place in zip(job.shapes, job.places, strict=True):
            node = nodes.get(place.node)
            if node is not None:
                nodes[place.node] = _freed(
                    node, shape.cpus, shape.memory, place.gpus, place.share or WHOLE
                )
    running = [job for job in snapshot.running if job.job_id not in ids]
    return replace(snapshot, now=at, nodes=list(nodes.values()), running=running)


def _freed(
    node: NodeState, cpus: float, memory: int, gpus: tuple[int, ...], amount: int
) -> NodeState:
    return replace(
        node,
        cpus_free=min(node.cpus, round(node.cpus_free + cpus, 3)),
        memory_free=min(node.memory, node.memory_free + memory),
        gpus=tuple(
            replace(gpu, free=min(WHOLE, gpu.free + amount)) if gpu.index in gpus else gpu
            for gpu in node.gpus
        ),
    )
