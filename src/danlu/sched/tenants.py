"""Shares that are guaranteed: lent while idle, and coming back."""

from __future__ import annotations

from danlu.sched.api import Preempt, Quotas, Running, TaskShape, Waiting
from danlu.sched.backfill_view import Filled, View

Shapes = tuple[TaskShape, ...]


class Shares:
    """What every group holds of the share that is its own. Grows with the starts of a pass."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._guaranteed = {
            name: quota.guaranteed
            for name, quota in view.snapshot.quotas.groups.items()
            if quota.guaranteed
        }
        self._counted = 0
        self._held: dict[str, int] = {}
        amounts: dict[int, int] = {}  # gangs of one kind share their shapes
        for job in view.snapshot.running:
            size = amounts.get(id(job.shapes))
            if size is None:
                size = amounts[id(job.shapes)] = amount(job.shapes)
            name = self.tenant(job)
            self._held[name] = self._held.get(name, 0) + size

    def tenant(self, job: Waiting | Running) -> str:
        """Whose share it counts against: the group's; without one, the person's own."""
        return job.group if job.group is not None else f"~{job.owner}"

    def guaranteed(self, name: str) -> int:
        return self._guaranteed.get(name, 0)

    def held(self, name: str) -> int:
        begun = self._view.begun
        for one in begun[self._counted :]:
            self._add(self.tenant(one.job), one.shapes)
        self._counted = len(begun)
        return self._held.get(name, 0)

    def within(self, name: str, job: Waiting) -> bool:
        """Whether the group would still be inside its own share with this job."""
        return self.held(name) + amount(job.shapes) <= self.guaranteed(name)

    def leaves(self, job: Waiting, free: int) -> bool:
        """Whether, with `free` thousandths free, others still get what is theirs after it."""
        name = self.tenant(job)
        if self.within(name, job):
            return True
        kept = sum(max(0, own - self.held(n)) for n, own in self._guaranteed.items() if n != name)
        return free - amount(job.shapes) >= kept

    def level(self, name: str) -> float:
        """How full its share is; who has none counts as having just what is his."""
        own = self.guaranteed(name)
        return self.held(name) / own if own else 1.0

    def _add(self, name: str, shapes: Shapes) -> None:
        self._held[name] = self._held.get(name, 0) + amount(shapes)


def guarantees(quotas: Quotas) -> bool:
    return any(quota.guaranteed for quota in quotas.groups.values())


def amount(shapes: Shapes) -> int:
    return sum(shape.amount for shape in shapes)


def reclaim(view: View, filled: Filled) -> tuple[Preempt, ...]:
    """Lent, preemptible work that has to end so that the head gets what is its group's by right.

    The work that started last goes first: it loses least. Nothing is ended unless the head can
    start then.
    """
    head = filled.head
    if head is None or not view.rules.reclaim:
        return ()
    shares = Shares(view)
    name = shares.tenant(head)
    if not shares.within(name, head):
        return ()
    over = {t: shares.held(t) - shares.guaranteed(t) for t in _tenants(view, shares)}
    trial = view.room.copy()
    ended: list[Running] = []
    for job in sorted(view.snapshot.running, key=lambda job: (-job.since, job.job_id)):
        tenant = shares.tenant(job)
        size = amount(job.shapes)
        if not job.preemptible or tenant == name or over.get(tenant, 0) < size or not size:
            continue
        trial.free(job.shapes, job.places)
        over[tenant] -= size
        ended.append(job)
        if trial.fits_gang(view.shapes(head), view.only):
            return tuple(Preempt(job.job_id, head.job_id) for job in _needed(view, head, ended))
    return ()


def _tenants(view: View, shares: Shares) -> set[str]:
    return {shares.tenant(job) for job in view.snapshot.running}


def _needed(view: View, head: Waiting, ended: list[Running]) -> list[Running]:
    """Leaves out those whose end turned out not to matter."""
    needed = list(ended)
    for job in ended[:-1]:
        trial = view.room.copy()
        for other in needed:
            if other is not job:
                trial.free(other.shapes, other.places)
        if trial.fits_gang(view.shapes(head), view.only):
            needed.remove(job)
    return needed
