"""Which jobs of a queue start now. Behind a job that has to wait, only what does not delay it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import inf

from danlu.sched import consolidate
from danlu.sched.api import Basis, Cause, CauseKind, Kept, TaskShape, Waiting
from danlu.sched.backfill_promise import fill_promised
from danlu.sched.backfill_reserve import Reserve, admitted, reserved
from danlu.sched.backfill_view import Filled, View, starts_of
from danlu.sched.order import offered
from danlu.sched.order_plan import fill_planned
from danlu.sched.tenants import Shares, guarantees
from danlu.sched.timeline import run_of

__all__ = ["Filled", "View", "fill", "plain"]

DEPTH = 1000  # so many jobs behind the head are tried


def fill(view: View) -> Filled:
    """Takes the room of everything it starts in `view.room`, and charges `view.limits`."""
    if guarantees(view.snapshot.quotas):
        if not view.rules.lend:
            _keep_shares(view)
        return _fill_reserved(view)
    if not view.rules.backfill:
        return _fill_reserved(view)
    if view.rules.order == "short-first":
        return fill_planned(view)
    if view.rules.order == "fifo" and view.rules.max_wait is None:
        return fill_promised(view)
    return _fill_reserved(view)


def plain(view: View) -> bool:
    """Whether starting in order, as long as there is room for all, is what `fill` would do."""
    if view.gate is not None or not view.rules.lend:
        return False
    if view.rules.order in ("easy", "fair") or not view.rules.backfill:
        return True
    return view.rules.order == "fifo" and all(run_of(job) is None for job in view.jobs)


def _fill_reserved(view: View) -> Filled:
    """In order until one finds no room; behind it, what ends before it or leaves its room alone."""
    jobs = offered(view)
    head: Waiting | None = None
    kept: list[Kept] = []
    for job in jobs:
        if not view.permits(job):
            if view.gate is not None and not view.gate(job):
                kept.append(Kept(job.job_id, Cause(CauseKind.GUARANTEE, Basis.VERIFIED)))
            continue
        if not view.start(job) and view.possible(view.shapes(job), view.only):
            head = job
            break
    if head is None or not view.rules.backfill:
        return Filled(starts_of(view), head, (), tuple(kept))
    if view.rules.consolidate:
        moves = consolidate.plan(view, head)
        if moves:
            # The room that comes together is the head's: nobody takes a piece of it meanwhile.
            return Filled(starts_of(view), head, (), tuple(kept), view.memory, moves)
    reserve = _behind(view, head, jobs, kept)
    found = None if reserve is None else reserve.reservation()
    return Filled(starts_of(view), head, () if found is None else (found,), tuple(kept))


def _behind(view: View, head: Waiting, jobs: Iterator[Waiting], kept: list[Kept]) -> Reserve | None:
    reserve: Reserve | None = None
    refused: dict[tuple[TaskShape, ...], float] = {}  # gang -> the shortest run that was too long
    for job in islice(jobs, DEPTH):
        shapes, run = view.shapes(job), run_of(job) or inf
        if run >= refused.get(shapes, inf) and reserve is not None:
            kept.append(Kept(job.job_id, reserved(reserve)))
            continue
        places = view.place(job)
        if places is None:
            continue
        if reserve is None:
            # Only now: where nothing else fits, nobody asks when the head will.
            view.undo(job, places)
            reserve = Reserve(view, head)
            places = view.place(job)
            assert places is not None
        if not admitted(view, reserve, job, places):
            refused[shapes] = min(run, refused.get(shapes, inf))
            kept.append(Kept(job.job_id, reserved(reserve)))
    return reserve


def _keep_shares(view: View) -> None:
    """Idle guaranteed cards stay idle."""
    shares = Shares(view)
    rooms = [view.room.room_of(at) for at in range(len(view.room.nodes))]
    free = sum(sum(room.cards) for room in rooms if room.usable)
    begun = view.begun

    def gate(job: Waiting) -> bool:
        taken = sum(shape.amount for one in begun for shape in one.shapes)
        return shares.leaves(job, free - taken)

    view.gate = gate
