"""Preemption: reclaims lent GPUs and makes room for higher priorities.

Only `preemptible` jobs are stopped, and only if the waiting job can then start. A group gets its
guaranteed share on demand: jobs of others beyond their own share are preempted, latest first. If
the admin allows it, jobs of lower priority in the same queue are preempted, those that lose least
first. A job that was preempted a few times runs to the end. Whatever else a preempted job frees is
available as usual, first to groups within their share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from danlu.sched.api import LOWER_PRIORITY, Running, TaskShape, Waiting
from danlu.sched.backfill.view import View
from danlu.sched.place import consolidate
from danlu.sched.tenants import Shares, amount
from danlu.spec.placement import Placement

SPARED = 3  # preemptions after which a job runs to the end, to avoid starvation
_TRIED = 256  # running jobs considered per waiting job


def make_room(view: View, job: Waiting, shares: Shares, first: bool) -> bool:
    """`first`: no earlier job waits for resources. Returns whether room is being made for it."""
    if view.group.claimed(job) and _is_coming(view, job):
        return True
    if first and view.rules_of(job).consolidate and consolidate.make_room(view, job):
        return True
    if not any(shape.amount for shape in job.shapes) or has_gpus(view, job):
        return False
    victims = _needed(view, job, _lent(view, job, shares))
    if not victims and first:
        victims = _needed(view, job, _less_urgent(view, job, shares))
    if not victims:
        return False
    room = view.claims.after.copy()
    for victim in victims:
        room.free(victim.shapes, victim.places)
    places = room.place(view.shapes(job), view.only_of(job), job.owner)
    assert places is not None
    view.claims.ends(job, view.shapes(job), places, victims)
    view.promise(job, places)
    return True


def _is_coming(view: View, job: Waiting) -> bool:
    """Whether preemptions already under way suffice."""
    shapes, room = view.shapes(job), view.claims.after
    places: tuple[Placement, ...] | None = None
    if any(one.ending for one in view.snapshot.running):
        kept = view.group.claimed_places(job)
        if kept and room.holds(shapes, kept):
            places = kept
        else:
            places = room.copy().place(shapes, view.only_of(job), job.owner)
    if places is None:
        return False
    view.claims.waits(job, shapes, places)
    view.promise(job, places)
    return True


def has_gpus(view: View, job: Waiting) -> bool:
    """Whether it lacks something other than GPUs, so that preemption would not help."""
    bare = tuple(_bare(shape) for shape in view.shapes(job))
    return view.claims.after.fits_gang(bare, view.only_of(job))


def _bare(shape: TaskShape) -> TaskShape:
    return replace(shape, cpus=0.0, memory=0)


def _lent(view: View, job: Waiting, shares: Shares) -> list[Running]:
    """Jobs of groups beyond their share, latest first.

    A job larger than the surplus comes last, since part of it is within its group's share.
    """
    name = shares.tenant(job)
    if not view.rules_of(job).reclaim or not shares.within(name, job):
        return []
    surplus = {t: shares.surplus(t) for t in {shares.tenant(one) for one in view.snapshot.running}}
    for preempt in view.claims.preempts:
        gone = next(one for one in view.snapshot.running if one.job_id == preempt.job_id)
        surplus[shares.tenant(gone)] -= amount(gone.shapes)
    found: list[Running] = []
    larger: list[Running] = []
    for one in sorted(_endable(view), key=lambda one: (one.preempted, -one.since, one.job_id)):
        tenant, size = shares.tenant(one), amount(one.shapes)
        if tenant == name or not size:
            continue
        if surplus[tenant] >= size:
            surplus[tenant] -= size
            found.append(one)
        elif shares.surplus(tenant) > 0:
            larger.append(one)
    return [*found, *(one for one in larger if surplus[shares.tenant(one)] > 0)]


def _less_urgent(view: View, job: Waiting, shares: Shares) -> list[Running]:
    """Preemptible jobs of its queue with a lower priority, those that lose least first."""
    if view.rules_of(job).preempt != LOWER_PRIORITY:
        return []
    name = shares.tenant(job)

    def may_end(one: Running) -> bool:
        if one.queue != job.queue or one.priority >= job.priority or not amount(one.shapes):
            return False
        tenant = shares.tenant(one)  # guaranteed shares are not preempted by priority
        return tenant == name or not shares.guaranteed(tenant) or shares.surplus(tenant) > 0

    def lost(one: Running) -> tuple[float, str]:
        return ((view.now - one.since) * amount(one.shapes), one.job_id)

    return sorted(filter(may_end, _endable(view)), key=lost)


def _endable(view: View) -> list[Running]:
    claims = view.claims
    return [
        one
        for one in view.snapshot.running
        if one.preemptible and one.preempted < SPARED and claims.stays(one) and claims.is_here(one)
    ]


def _needed(view: View, job: Waiting, candidates: Sequence[Running]) -> list[Running]:
    """The first of them that make it fit, without those that turn out unnecessary."""
    trial = view.claims.after.copy()
    shapes, only = view.shapes(job), view.only_of(job)
    ended: list[Running] = []
    for one in candidates[:_TRIED]:
        if only is not None and not any(place.node in only for place in one.places):
            continue
        trial.free(one.shapes, one.places)
        ended.append(one)
        if trial.fits_gang(shapes, only):
            return _without_idle(view, job, ended)
    return []


def _without_idle(view: View, job: Waiting, ended: list[Running]) -> list[Running]:
    shapes, only = view.shapes(job), view.only_of(job)
    needed = list(ended)
    for one in reversed(ended[:-1]):  # spare the most expensive ones first
        trial = view.claims.after.copy()
        for other in needed:
            if other is not one:
                trial.free(other.shapes, other.places)
        if trial.fits_gang(shapes, only):
            needed.remove(one)
    return needed
