"""Queues whose jobs Danlu does not place, because their engine does or is away.

An engine with its own queue cannot be predicted: jobs within their limits are handed over in order,
and nothing about them is reported as verified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from danlu.sched.api import (
    Admit,
    Basis,
    Cause,
    CauseKind,
    Eta,
    EtaBasis,
    Explanation,
    Policy,
    QueuePolicy,
    Snapshot,
    TaskShape,
    Waiting,
)
from danlu.sched.explain import blockers
from danlu.sched.limits import Limits
from danlu.sched.place.place import Room


def split(snapshot: Snapshot, policy: Policy) -> tuple[Snapshot, Sequence[Waiting]]:
    """The snapshot without the jobs of such queues, and those of them to hand over."""
    aside = {name for name, rules in policy.queues.items() if is_aside(rules)}
    if not aside:
        return snapshot, ()
    ours = [job for job in snapshot.waiting if job.queue not in aside]
    theirs = [
        job
        for job in snapshot.waiting
        if job.queue in aside and policy.queue(job.queue).closed is None
    ]
    return replace(snapshot, waiting=ours), theirs


def is_aside(rules: QueuePolicy) -> bool:
    return rules.admit or rules.closed is not None


def admit(jobs: Sequence[Waiting], limits: Limits) -> tuple[Admit, ...]:
    found = []
    for job in jobs:
        if limits.allows(job):
            limits.started(job, ())
            found.append(Admit(job.job_id))
    return tuple(found)


def explain_aside(
    snapshot: Snapshot, job: Waiting, rules: QueuePolicy, limits: Limits, ahead: int
) -> Explanation:
    causes = [replace(cause, basis=Basis.FACT) for cause in limits.causes(job)]
    if rules.closed is not None:
        numbers = rules.closed.numbers
        seconds = max(0.0, snapshot.now - float(numbers.get("since", snapshot.now)))
        causes.append(replace(rules.closed, numbers={**numbers, "seconds": seconds}))
    elif not causes:
        causes.append(Cause(CauseKind.ENGINE, Basis.FACT, {"engine": rules.engine, "why": "next"}))
    eta = Eta(None, None, EtaBasis.NONE, why="engine")
    return Explanation(job.job_id, tuple(causes), (), ahead + 1, eta=eta)


def explain_in_engine(
    snapshot: Snapshot,
    job_id: str,
    shapes: Sequence[TaskShape],
    rules: QueuePolicy,
    cause: Cause,
    eta: Eta,
) -> Explanation:
    """For a job that waits in the engine's own queue: what the engine says, and beside it what we
    know ourselves, which is how much each node has free and who holds the rest.
    """
    shape = blockers.largest(shapes)
    nodes, more = blockers.verdicts(snapshot, Room(snapshot.nodes), shape, rules.nodes)
    mine = tuple(verdict for verdict in nodes if "queue" not in verdict.lacks)
    holders = blockers.holders(snapshot, shape, mine)
    # Its place in that queue is the engine's affair.
    return Explanation(job_id, (cause,), mine, 0, more_nodes=more, holders=holders, eta=eta)
