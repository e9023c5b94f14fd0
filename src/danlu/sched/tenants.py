"""Guaranteed shares, lent to others while idle."""

from __future__ import annotations

from math import inf

from danlu.sched.api import (
    WHOLE,
    Basis,
    Cause,
    CauseKind,
    QueuePolicy,
    Quotas,
    Running,
    Snapshot,
    TaskShape,
    Waiting,
)
from danlu.sched.backfill.timeline import end_of, run_of
from danlu.sched.backfill.view import View

Shapes = tuple[TaskShape, ...]


class Shares:
    """How much of its share each group holds, updated as jobs start in a pass."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._guaranteed = {
            name: quota.guaranteed
            for name, quota in view.snapshot.quotas.groups.items()
            if quota.guaranteed
        }
        self._counted = self._awaited = 0
        self._held: dict[str, int] | None = None

    def _running(self) -> dict[str, int]:
        """What running jobs hold. Counted once somebody asks: there may be thousands."""
        held: dict[str, int] = {}
        amounts: dict[int, int] = {}  # gangs of one kind share their shapes
        for job in self._view.snapshot.running:
            if job.ending:
                continue  # what it holds is somebody else's already
            size = amounts.get(id(job.shapes))
            if size is None:
                size = amounts[id(job.shapes)] = amount(job.shapes)
            name = self.tenant(job)
            held[name] = held.get(name, 0) + size
        return held

    def tenant(self, job: Waiting | Running) -> str:
        """The share it counts against: its group's, or the user's own without a group."""
        return job.group if job.group is not None else f"~{job.owner}"

    def guaranteed(self, name: str) -> int:
        return self._guaranteed.get(name, 0)

    def held(self, name: str) -> int:
        if self._held is None:
            self._held = self._running()
        held, begun = self._held, self._view.begun
        for one in begun[self._counted :]:
            self._add(held, self.tenant(one.job), one.shapes)
        self._counted = len(begun)
        for job in self._view.awaited[self._awaited :]:
            self._add(held, self.tenant(job), job.shapes)
        self._awaited = len(self._view.awaited)
        return held.get(name, 0)

    def within(self, name: str, job: Waiting) -> bool:
        """Whether the group would still be inside its own share with this job, and needs it to."""
        wanted = amount(job.shapes)
        return wanted > 0 and self.held(name) + wanted <= self.guaranteed(name)

    def kept_from(self, name: str) -> int:
        """Idle guaranteed shares of others."""
        return sum(max(0, own - self.held(n)) for n, own in self._guaranteed.items() if n != name)

    def surplus(self, name: str) -> int:
        """How much it holds beyond its own share."""
        return self.held(name) - self.guaranteed(name)

    def level(self, name: str) -> float:
        """How full its share is; who has none counts as having just what is his."""
        own = self.guaranteed(name)
        return self.held(name) / own if own else 1.0

    def _add(self, held: dict[str, int], name: str, shapes: Shapes) -> None:
        held[name] = held.get(name, 0) + amount(shapes)


def guarantees(quotas: Quotas) -> bool:
    return any(quota.guaranteed for quota in quotas.groups.values())


def amount(shapes: Shapes) -> int:
    return sum(shape.amount for shape in shapes)


def most_ever(snapshot: Snapshot, job: Waiting) -> int:
    """The most its group can hold if idle shares are not lent."""
    all_gpus = WHOLE * sum(len(node.gpus) for node in snapshot.nodes)
    others = sum(
        quota.guaranteed for name, quota in snapshot.quotas.groups.items() if name != job.group
    )
    return all_gpus - others


def never_lent(snapshot: Snapshot, rules: QueuePolicy, job: Waiting) -> Cause | None:
    """It wants more than is left beside the shares of others, and those are never lent."""
    if rules.lend or not guarantees(snapshot.quotas):
        return None
    wanted, most = amount(job.shapes), most_ever(snapshot, job)
    if not wanted or wanted <= most:
        return None
    numbers: dict[str, int | float | str] = {"need": wanted / WHOLE, "most": max(0, most) / WHOLE}
    return Cause(CauseKind.GUARANTEE, Basis.VERIFIED, numbers)


class Gate:
    """Without lending, GPUs guaranteed to another group stay idle.

    A refused job keeps its turn: behind it, only jobs that end before it could start, or that use
    their own group's share, may go.
    """

    def __init__(self, view: View, shares: Shares) -> None:
        self._view, self._shares = view, shares
        context = [view.room.room_of(at) for at in range(len(view.room.nodes))]
        self._free = sum(sum(room.gpus) for room in context if room.usable)
        self._until = inf  # when the first refused job could start, if known
        self._refused: Waiting | None = None

    def __call__(self, job: Waiting) -> bool:
        wanted = amount(job.shapes)
        if not wanted or self._view.rules_of(job).lend:
            return True
        name = self._shares.tenant(job)
        if self._shares.within(name, job):
            return True
        taken = sum(amount(one.shapes) for one in self._view.begun)
        if self._free - taken - self._promised(job) - wanted < self._shares.kept_from(name):
            return False
        if self._refused is None or self._refused.job_id == job.job_id:
            return True
        run = run_of(job)
        return run is not None and self._view.now + run <= self._until

    def _promised(self, job: Waiting) -> int:
        """What others get beyond what is given up for them: they must pass the gate later, too."""
        claims = self._view.claims
        others = set(claims.claimants) - {job.job_id}
        if not others:
            return 0
        coming = sum(amount(one.shapes) for one in self._view.jobs if one.job_id in others)
        ended = {preempt.job_id for preempt in claims.preempts}
        leaving = sum(
            amount(one.shapes)
            for one in self._view.snapshot.running
            if one.ending or one.job_id in ended
        )
        return max(0, coming - leaving)

    def refused(self, job: Waiting) -> None:
        if self._refused is None and self._can_ever(job):
            self._refused, self._until = job, self._opens(job)

    def _can_ever(self, job: Waiting) -> bool:
        return never_lent(self._view.snapshot, self._view.rules_of(job), job) is None

    def _opens(self, job: Waiting) -> float:
        """When so much has ended that it gets through, if nobody else comes."""
        view, name = self._view, self._shares.tenant(job)
        short = amount(job.shapes) + self._shares.kept_from(name) - self._free
        ends = [(end_of(one, view.now), amount(one.shapes)) for one in view.snapshot.running]
        for one in view.begun:
            short += amount(one.shapes)
            ends.append((inf if one.end is None else one.end, amount(one.shapes)))
        for end, size in sorted(ends):
            short -= size
            if short <= 0:
                return end
        return inf
