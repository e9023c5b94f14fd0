"""Which rule puts one waiting job before another: the reason shown for the order of a queue."""

from __future__ import annotations

from collections.abc import Iterator

from danlu.sched.api import WHOLE, Decision, Waiting
from danlu.sched.backfill.view import Begun, View
from danlu.sched.decide import Pass
from danlu.sched.order.queue_order import Between, aged, max_wait_of, urgency
from danlu.sched.tenants import Shares, guarantees

Numbers = dict[str, int | float | str]
_Compared = tuple[str, float, float]  # the rule, and what it makes of the one and the other


def reason(done: Pass, decision: Decision, first: Waiting, other: Waiting) -> Numbers | None:
    """Why `first` goes before `other`; None if it does not."""
    view = _view(done, decision, first, other)
    shares = Shares(view)
    for by, its, others in _rules(view, shares, first, other):
        if its != others:
            return _numbers(view, shares, by, first, other) if its < others else None
    return None


def _view(done: Pass, decision: Decision, *jobs: Waiting) -> View:
    """As the pass left it: whatever has started counts for shares and weights."""
    view = done.view_of(jobs)
    starts = {start.job_id: start.places for start in decision.starts}
    for job in done.snapshot.waiting if starts else ():
        if job.job_id in starts:
            view.begun.append(Begun(job, job.shapes, starts[job.job_id], None))
    return view


def _rules(view: View, shares: Shares, first: Waiting, other: Waiting) -> Iterator[_Compared]:
    """In the order in which `queue_order` applies them."""
    one, two = view.order(first), view.order(other)
    yield "claim", one[0], two[0]
    yield "age", not aged(first, view), not aged(other, view)
    alone = first.queue != other.queue
    apart = shares.tenant(first) != shares.tenant(other) and not aged(first, view)
    if guarantees(view.snapshot.quotas) and (alone or apart):
        yield "guarantee", _beyond(shares, first), _beyond(shares, other)
    if alone:
        between = Between(view, shares)
        yield "queue_priority", one[1], two[1]
        yield "weight", between.level(first.queue), between.level(other.queue)
    yield "priority", -first.priority, -other.priority
    order = view.rules_of(first).order
    if not alone and not aged(first, view):
        if order == "fair":
            yield from _fair(view, shares, first, other)
        elif order == "short-first":
            yield "short", urgency(first), urgency(other)
    yield "arrival", first.seq, other.seq


def _fair(view: View, shares: Shares, first: Waiting, other: Waiting) -> Iterator[_Compared]:
    one, two = shares.tenant(first), shares.tenant(other)
    if one == two:
        used = view.snapshot.used
        yield "used", used.get(first.owner, 0.0), used.get(other.owner, 0.0)
        return
    yield "share", shares.level(one), shares.level(two)
    yield "used", _used(view, first), _used(view, other)


def _used(view: View, job: Waiting) -> float:
    """Recent usage of its group, or of its owner without one."""
    if job.group is not None:
        return view.snapshot.group_used.get(job.group, 0.0)
    return view.snapshot.used.get(job.owner, 0.0)


def _beyond(shares: Shares, job: Waiting) -> bool:
    return not shares.within(shares.tenant(job), job)


def _numbers(view: View, shares: Shares, by: str, first: Waiting, other: Waiting) -> Numbers:
    numbers: Numbers = {
        "ref": first.ref,
        "by": by,
        "priority": first.priority,
        "own_priority": other.priority,
    }
    rules, own = view.rules_of(first), view.rules_of(other)
    if by == "guarantee" and first.group is not None:
        numbers |= {"group": first.group, "guaranteed": shares.guaranteed(first.group) / WHOLE}
    elif by == "queue_priority":
        numbers |= {"queue": first.queue, "rank": rules.priority, "own_rank": own.priority}
    elif by == "weight":
        numbers |= {"queue": first.queue, "weight": rules.weight or 1.0}
    elif by == "age":
        numbers["seconds"] = max_wait_of(first, view) or 0.0
    elif by in ("share", "used") and first.group is not None and first.group != other.group:
        numbers["group"] = first.group
    return numbers
