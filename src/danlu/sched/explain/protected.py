"""Running jobs that a waiting one could claim GPUs from, and why they are not stopped for it."""

from __future__ import annotations

from collections.abc import Iterator

from danlu.sched.api import LOWER_PRIORITY, Basis, Cause, CauseKind, Decision, Running, Waiting
from danlu.sched.backfill.view import View
from danlu.sched.decide import Pass
from danlu.sched.place.free import Need
from danlu.sched.reclaim import SPARED, has_gpus
from danlu.sched.tenants import Shares, amount

_REASONS = ("spared", "not_preemptible", "share")


def protected(done: Pass, decision: Decision, job: Waiting) -> list[Cause]:
    """Empty if it has no claim to the GPUs of others, or if they are being freed for it."""
    if not amount(job.shapes) or any(claim.job_id == job.job_id for claim in decision.claims):
        return []
    rules = done.policy.queue(job.queue)
    if not rules.reclaim and rules.preempt != LOWER_PRIORITY:
        return []
    view = done.view_of([job])
    if has_gpus(view, job):
        return []
    found: dict[str, list[str]] = {}
    for one, why in _spared(view, Shares(view), job):
        found.setdefault(why, []).append(one.ref)
    for why in _REASONS:
        if why in found:
            refs = found[why]
            numbers: dict[str, int | float | str] = {"ref": refs[0], "protected": why}
            if len(refs) > 1:
                numbers["more"] = len(refs) - 1
            return [Cause(CauseKind.NOT_PREEMPTED, Basis.VERIFIED, numbers)]
    return []


def _spared(view: View, shares: Shares, job: Waiting) -> Iterator[tuple[Running, str]]:
    rules, name = view.rules_of(job), shares.tenant(job)
    by_share = rules.reclaim and shares.within(name, job)
    by_priority = rules.preempt == LOWER_PRIORITY
    if not by_share and not by_priority:
        return
    for one in view.snapshot.running:
        if one.ending or not _holds_such(view, one, job):
            continue
        tenant = shares.tenant(one)
        lent = by_share and tenant != name and shares.surplus(tenant) > 0
        lower = by_priority and one.queue == job.queue and one.priority < job.priority
        if not lent and not lower:
            continue
        if not one.preemptible:
            yield one, "not_preemptible"
        elif one.preempted >= SPARED:
            yield one, "spared"
        elif not lent and shares.guaranteed(tenant) and shares.surplus(tenant) <= 0:
            yield one, "share"


def _holds_such(view: View, one: Running, job: Waiting) -> bool:
    """Whether it holds GPUs of a kind, and in a place, that the job can use."""
    only = view.only_of(job)
    needs = [Need(shape) for shape in view.shapes(job) if shape.amount]
    return any(
        need.accepts(model)
        for place in one.places
        if only is None or place.node in only
        for model in view.limits.tally.models_at(place)
        for need in needs
    )
