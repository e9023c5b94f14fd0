"""Explains why a job waits: causes, numbers per node, holders and suggestions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter, countOf, indexOf

from danlu.sched.api import (
    Basis,
    Cause,
    CauseKind,
    Decision,
    Eta,
    EtaBasis,
    Explanation,
    Policy,
    Reservation,
    Snapshot,
    Suggestion,
    SuggestionKind,
    TaskShape,
    Waiting,
)
from danlu.sched.decide import Pass
from danlu.sched.engine_queues import explain_aside, is_aside
from danlu.sched.estimate.eta import estimate
from danlu.sched.explain import blockers, precedence, whatif
from danlu.sched.explain.protected import protected
from danlu.sched.explain.summary import fits as fits_in
from danlu.sched.limits import Limits
from danlu.sched.tenants import never_lent


def explain(
    snapshot: Snapshot,
    policy: Policy,
    job_id: str,
    suggest: bool = True,
    decision: Decision | None = None,
) -> Explanation:
    """Runs the decision and finds what keeps this job from starting.

    `decision`: one whose starts have begun already, so that the snapshot shows them as running.
    """
    place = indexOf(map(_id, snapshot.waiting), job_id)
    job = snapshot.waiting[place]
    rules = policy.queue(job.queue)
    if is_aside(rules):
        ahead = _ahead(snapshot.waiting, place, job)
        return explain_aside(snapshot, job, rules, Limits(snapshot, policy), ahead)
    done = Pass(snapshot, policy)
    untouched = done.room
    if decision is None:
        untouched = untouched.copy()
        decision = done.run()
    only = rules.nodes
    ahead = _ahead(snapshot.waiting, place, job)
    shape = blockers.largest(done.limits.shapes(job) or job.shapes)
    start = next((s for s in decision.starts if s.job_id == job_id), None)
    if start is not None:
        now = (Cause(CauseKind.STARTING, Basis.VERIFIED),)
        done.claims.shown.free(job.shapes, start.places)
        nodes, more = blockers.verdicts(snapshot, done.claims.shown, shape, only)
        eta = Eta(snapshot.now, snapshot.now, EtaBasis.NOW)
        return Explanation(job_id, now, nodes, ahead + 1, True, start.places, more, eta=eta)
    nodes, more = blockers.verdicts(snapshot, done.claims.shown, shape, only)
    causes = _causes(job, shape, done, decision)
    kinds = {cause.kind for cause in causes}
    found = Explanation(job_id, tuple(causes), nodes, ahead + 1, more_nodes=more)
    if not kinds & _NEVER:
        holders = blockers.holders(snapshot, shape, nodes)
        found = replace(found, holders=holders if kinds & _FULL else ())
    eta = estimate(snapshot, policy, job_id, place, untouched, done.possible, causes)
    found = replace(found, eta=eta)
    clear = tuple(_clear(done, job, kinds))
    tried = whatif.suggestions(done, decision, job, causes) if suggest else ()
    return replace(found, clear=clear, suggestions=tuple(s for s in tried if _sooner(s, eta)))


def _sooner(suggestion: Suggestion, eta: Eta) -> bool:
    """Waiting for a job's time limit is no news where an earlier start is expected anyway."""
    if suggestion.kind is not SuggestionKind.WAIT_FOR or suggestion.at is None:
        return True
    return eta.p50 is None or suggestion.at <= eta.p50


_NEVER = frozenset(
    {
        CauseKind.TOO_LARGE,
        CauseKind.MODEL_ABSENT,
        CauseKind.LABEL_ABSENT,
        CauseKind.VOLUME_ABSENT,
        CauseKind.NODES_NAMED,
    }
)
_id, _blocked, _queue = attrgetter("job_id"), attrgetter("blocked"), attrgetter("queue")
_FULL = frozenset({CauseKind.NO_ROOM, CauseKind.CLUSTER_FULL})


def _ahead(waiting: Sequence[Waiting], place: int, job: Waiting) -> int:
    """Without a loop of our own where nobody is blocked: there may be 100,000."""
    before, queue = waiting[:place], job.queue
    if countOf(map(_blocked, before), None) == place:
        return countOf(map(_queue, before), queue)
    return sum(other.blocked is None and other.queue == queue for other in before)


def _causes(job: Waiting, shape: TaskShape, done: Pass, decision: Decision) -> list[Cause]:
    snapshot = done.snapshot
    causes = done.limits.causes(job)
    open_to = done.limits.by_kind(job)
    if open_to is None:
        return causes
    only = done.policy.queue(job.queue).nodes
    if not done.possible(open_to, only):
        return [*causes, blockers.never(snapshot, done.policy, job, shape, only)]
    shapes = done.limits.shapes(job)
    if shapes is None or not done.possible(shapes, only):
        # Some model would do, but its owner may not have more of it.
        causes += [cause for cause in done.limits.tally.over_models(job) if cause not in causes]
        shapes = open_to
    unlent = never_lent(snapshot, done.policy.queue(job.queue), job)
    if unlent is not None:
        return [*causes, unlent]
    fits = fits_in(done.claims.shown, shapes, only)
    if not fits:
        protectors = [] if causes else protected(done, decision, job)
        causes.append(blockers.not_now(snapshot, done.claims.shown, job, shape, only))
        causes.extend(blockers.out_of_order(snapshot, shapes, only))
        causes.extend(protectors)
    causes.extend(_order(job, done, decision, fits))
    return causes


def _order(job: Waiting, done: Pass, decision: Decision, fits: bool) -> list[Cause]:
    """Earlier jobs it must not overtake."""
    kept = next((one.cause for one in decision.kept if one.job_id == job.job_id), None)
    if kept is not None and fits:
        return [_with_nodes(kept, decision)]
    head = decision.heads.get(job.queue)
    if head is None or head == job.job_id:
        return []
    first = next((other for other in done.snapshot.waiting if other.job_id == head), None)
    if first is None:
        return []
    numbers = precedence.reason(done, decision, first, job)
    if numbers is None:
        if not fits:
            return []
        numbers = {"ref": first.ref, "by": "plan"}  # the plan weighs all jobs together
    basis = Basis.VERIFIED if fits else Basis.FACT
    return [Cause(CauseKind.BEHIND, basis, numbers)]


def _with_nodes(cause: Cause, decision: Decision) -> Cause:
    """Which nodes are kept for the job that is named."""
    named = cause.kind is CauseKind.RESERVED and "ref" in cause.numbers
    if not named or not decision.reservations:
        return cause
    return replace(cause, numbers={**_kept(decision.reservations[0]), **cause.numbers})


def _kept(reservation: Reservation) -> dict[str, int | float | str]:
    nodes = list(dict.fromkeys(place.node for place in reservation.places))
    return {
        "at": reservation.at,
        "nodes": ", ".join(nodes[:5]) + (f" +{len(nodes) - 5}" if len(nodes) > 5 else ""),
    }


def _clear(done: Pass, job: Waiting, kinds: set[CauseKind]) -> list[str]:
    """Common suspects that do not block it."""
    quotas = done.snapshot.quotas
    own = quotas.users.get(job.owner, quotas.user)
    group = quotas.groups.get(job.group, quotas.group) if job.group is not None else None
    suspects = {
        "hold": not kinds & {CauseKind.HELD, CauseKind.DEPENDENCY},
        "quota_user": own is not None and CauseKind.QUOTA_USER not in kinds,
        "quota_group": group is not None and CauseKind.QUOTA_GROUP not in kinds,
        "order": not kinds & {CauseKind.BEHIND, CauseKind.RESERVED, *_NEVER},
        "nodes": not kinds & _NEVER and not _lacks_nodes(done, job),
    }
    clear = [name for name, good in suspects.items() if good]
    return clear + (_enough(done, job) if not kinds & _NEVER else [])


def _lacks_nodes(done: Pass, job: Waiting) -> bool:
    """Whether a node that could hold a task of it is down or drained."""
    shape = blockers.largest(done.limits.shapes(job) or job.shapes)
    only = done.policy.queue(job.queue).nodes
    return bool(blockers.out_of_use(done.snapshot, shape, only))


def _enough(done: Pass, job: Waiting) -> list[str]:
    """Resources of which there is enough: asked for alone, they fit; left out, nothing changes."""
    shapes = done.limits.shapes(job) or job.shapes
    only = done.policy.queue(job.queue).nodes
    fits = fits_in(done.claims.shown, shapes, only)
    enough = []
    for what in ("gpus", "cpus", "memory"):
        alone = fits_in(done.claims.shown, tuple(_without(s, what, True) for s in shapes), only)
        others = fits_in(done.claims.shown, tuple(_without(s, what, False) for s in shapes), only)
        if alone and others == fits and _asked(shapes, what):
            enough.append(what)
    return enough


def _asked(shapes: Sequence[TaskShape], what: str) -> bool:
    return what != "gpus" or any(shape.amount for shape in shapes)


def _without(shape: TaskShape, what: str, others: bool) -> TaskShape:
    """The shape without one resource, or without all the others."""
    keep = {name: (name == what) == others for name in ("gpus", "cpus", "memory")}
    return replace(
        shape,
        cpus=shape.cpus if keep["cpus"] else 0.0,
        memory=shape.memory if keep["memory"] else 0,
        gpus=shape.gpus if keep["gpus"] else 0,
        share=shape.share if keep["gpus"] else 0,
        indexes=shape.indexes if keep["gpus"] else (),
    )
