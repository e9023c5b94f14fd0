"""Decides which jobs of a queue start now. Later jobs must not delay one that waits."""

from __future__ import annotations

from math import inf

from danlu.sched.api import NEVER, Basis, Cause, CauseKind, Kept, TaskShape, Waiting
from danlu.sched.backfill.promise import fill_promised
from danlu.sched.backfill.reserve import Reserve, admitted, reserved
from danlu.sched.backfill.slots import follows_nodes
from danlu.sched.backfill.timeline import run_of
from danlu.sched.backfill.view import Filled, View, starts_of
from danlu.sched.order.plan import fill_planned
from danlu.sched.order.queue_order import offered
from danlu.sched.reclaim import make_room
from danlu.sched.tenants import Gate, Shares, guarantees

__all__ = ["Filled", "View", "fill", "plain"]

DEPTH = 1000  # jobs tried behind the head


def fill(view: View) -> Filled:
    """Takes resources for each start from `view.room` and charges `view.limits`."""
    rules = view.group.all_rules
    if not _ends_work(view):
        if all(one.order == "short-first" and one.backfill for one in rules) and not _ranked(view):
            return _collected(view, fill_planned(view))
        if _promises(view):
            return _collected(view, fill_promised(view))
    return _Walk(view).run()


def _collected(view: View, filled: Filled) -> Filled:
    """Moves jobs to make room for the first waiting one, if allowed."""
    head = filled.head
    if head is not None and view.rules_of(head).consolidate:
        make_room(view, head, Shares(view), first=True)
    return filled


def plain(view: View) -> bool:
    """Whether `fill` would just start all jobs in order, since there is room for all."""
    untimed = all(run_of(job) is None for job in view.jobs)
    return all(
        rules.lend
        and (
            rules.order in ("easy", "fair")
            or not rules.backfill
            or (rules.order == "fifo" and untimed)
        )
        for rules in view.group.all_rules
    )


def _ends_work(view: View) -> bool:
    """Whether jobs may be preempted; then no strict queue is simulated."""
    urgent = any(rules.preempt != NEVER for rules in view.group.all_rules)
    return urgent or guarantees(view.snapshot.quotas)


def _ranked(view: View) -> bool:
    rules = view.group.all_rules
    return len({one.priority for one in rules}) > 1 or any(one.weight for one in rules)


def _promises(view: View) -> bool:
    """Whether the order is FIFO, with no job later than without backfill."""
    rules = view.group.all_rules
    fifo = all(one.order == "fifo" and one.backfill and one.max_wait is None for one in rules)
    weighted = len(rules) > 1 and any(one.weight for one in rules)
    # Totals over all nodes mean nothing if each queue has only some of them.
    return fifo and not weighted and (view.group.alike or follows_nodes(view))


class _Walk:
    """Starts jobs in order until one does not fit, then those that cannot delay it.

    The first job of each queue that does not fit gets a reservation. Queues that share nodes are
    scheduled together, so a reservation of one also holds against the others.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self.shares = Shares(view)
        self.gate: Gate | None = None
        if guarantees(view.snapshot.quotas) and not all(r.lend for r in view.group.all_rules):
            self.gate = view.gate = Gate(view, self.shares)
        self.heads: dict[str, Waiting] = {}  # queue -> who waits
        self.unkept: list[Waiting] = []  # gets a reservation as soon as another job fits
        self.reserves: list[Reserve] = []
        self.kept: list[Kept] = []
        self.refused: dict[tuple[TaskShape, ...], tuple[float, Reserve]] = {}

    def run(self) -> Filled:
        view, behind = self.view, 0
        for job in offered(view, self.shares):
            if self.heads:
                behind += 1
                if behind > DEPTH or self._nobody_goes_first():
                    break
            self._offer(job)
        found = [reserve.reservation() for reserve in self.reserves]
        kept = tuple(one for one in found if one is not None)
        return Filled(starts_of(view), tuple(self.heads.values()), kept, tuple(self.kept))

    def _nobody_goes_first(self) -> bool:
        return all(
            name in self.heads and not self.view.group.rules(name).backfill
            for name in self.view.group.names
        )

    def _offer(self, job: Waiting) -> None:
        view = self.view
        rules = view.rules_of(job)
        if not view.limits.allows(job):
            return
        if self.gate is not None and not self.gate(job):
            self.gate.refused(job)
            self.kept.append(Kept(job.job_id, Cause(CauseKind.GUARANTEE, Basis.VERIFIED)))
            return
        if job.queue in self.heads and not rules.backfill:
            return
        if self._starts(job) or view.fits(job) or not view.could(job):
            return
        if view.claims.claimants and view.claims.leaves(view.shapes(job), view.only_of(job)):
            self.kept.append(Kept(job.job_id, self._being_made()))
        if make_room(view, job, self.shares, first=not self.heads):
            self.heads.setdefault(job.queue, job)
        elif job.queue not in self.heads:
            self.heads[job.queue] = job
            self.unkept.append(job)

    def _being_made(self) -> Cause:
        """Why it may not use free resources: they were freed for another job."""
        first = self.view.claims.claimants[0]
        refs = [job.ref for job in self.view.jobs if job.job_id == first]
        return Cause(CauseKind.RESERVED, Basis.VERIFIED, {"ref": refs[0]} if refs else {})

    def _starts(self, job: Waiting) -> bool:
        view = self.view
        run = run_of(job) or inf
        shapes = view.shapes(job)
        before = self.refused.get(shapes)
        if before is not None and run >= before[0]:
            self.kept.append(Kept(job.job_id, reserved(before[1])))
            return False
        places = view.place(job)
        if places is None:
            return False
        if self.unkept:
            # Computed only now: it is not needed if nothing else fits.
            view.undo(job, places)
            self.reserves += [Reserve(view, head) for head in self.unkept]
            self.unkept.clear()
            places = view.place(job)
            assert places is not None
        refuses = admitted(view, self.reserves, job, places)
        if refuses is None:
            return True
        if len(view.group.names) == 1:
            self.refused[shapes] = (min(run, before[0] if before else inf), refuses)
        self.kept.append(Kept(job.job_id, reserved(refuses)))
        return False
