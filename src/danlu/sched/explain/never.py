"""Whether a job could ever run here, asked when it is submitted."""

from __future__ import annotations

from collections.abc import Sequence

from danlu.sched.api import Cause, NodeState, Policy, Quotas, Snapshot, Waiting
from danlu.sched.decide import Possible
from danlu.sched.engine_queues import is_aside
from danlu.sched.explain import blockers
from danlu.sched.limits import Limits
from danlu.sched.tenants import never_lent


def never(
    nodes: Sequence[NodeState], policy: Policy, job: Waiting, quotas: Quotas | None = None
) -> Cause | None:
    """Why it could never run here, or None if it could."""
    snapshot = Snapshot(0.0, nodes, [job], quotas=quotas or Quotas())
    limits = Limits(snapshot, policy)
    shapes = limits.by_kind(job)
    if shapes is None:
        return limits.causes(job)[-1]
    rules, possible = policy.queue(job.queue), Possible(nodes)
    if is_aside(rules):
        # The engine knows about its nodes, but not about our volumes.
        for shape in shapes if rules.closed is None else ():
            if shape.volumes and not blockers.with_volumes(nodes, shape, rules.nodes):
                return blockers.never(snapshot, policy, job, shape, rules.nodes)
    elif not possible(shapes, rules.nodes):
        return blockers.never(snapshot, policy, job, blockers.largest(shapes), rules.nodes)
    return _never_allowed(snapshot, policy, job, limits, possible)


def _never_allowed(
    snapshot: Snapshot, policy: Policy, job: Waiting, limits: Limits, possible: Possible
) -> Cause | None:
    """More than a quota ever allows, whoever has ended by then; or than is ever lent."""
    over = limits.tally.over(job)
    if over:
        return over[0]
    shapes, rules = limits.shapes(job), policy.queue(job.queue)
    if is_aside(rules):
        return None
    if shapes is None or not possible(shapes, rules.nodes):
        return next(iter(limits.tally.over_models(job)), None)
    return never_lent(snapshot, rules, job)


def apart(
    nodes: Sequence[NodeState], policy: Policy, job: Waiting, quotas: Quotas | None = None
) -> tuple[int, int] | None:
    """The fewest tasks, and the GPUs of each, as which a job too large for any node would be
    accepted.
    """
    from danlu.sched.explain.whatif import splits  # with all that estimates need: rarely asked for

    for split in splits(job):
        if never(nodes, policy, split, quotas) is None:
            return len(split.shapes), split.shapes[0].gpus
    return None
