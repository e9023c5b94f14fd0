"""Who goes next: the order in which a queue's jobs are offered room."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from danlu.sched.api import Waiting
from danlu.sched.backfill_view import View
from danlu.sched.tenants import Shares, guarantees

ORDERS = ("fifo", "easy", "fair", "short-first")
CERTAIN = ("fifo", "easy")
"""Orders that promise: in them a job goes first by its time limit, never by how long jobs of that
name took so far. Tomorrow's `python` may run for a week."""


def aged(job: Waiting, view: View) -> bool:
    """It has waited so long that it goes before all others."""
    limit = view.rules.max_wait
    return limit is not None and view.now - job.submitted >= limit


def offered(view: View) -> Iterator[Waiting]:
    """The eligible jobs, one by one. What is started in between moves those behind it."""
    if view.rules.order == "fair" or guarantees(view.snapshot.quotas):
        return _fair(view)
    if view.rules.max_wait is None:
        return view.eligible()
    return iter(sorted(view.eligible(), key=lambda job: (not aged(job, view), job.order)))


def _fair(view: View) -> Iterator[Waiting]:
    """The group that has least of what it should have goes first, and in it the person."""
    shares = Shares(view)
    waiting: dict[str, list[Waiting]] = {}
    for job in view.eligible():
        waiting.setdefault(shares.tenant(job), []).append(job)
    for name, jobs in waiting.items():
        waiting[name] = list(reversed(_within(view, jobs)))
    heap = [(_key(view, shares, name, jobs[-1]), name) for name, jobs in waiting.items()]
    heapq.heapify(heap)
    while heap:
        _, name = heapq.heappop(heap)
        jobs = waiting[name]
        yield jobs.pop()
        if jobs:
            heapq.heappush(heap, (_key(view, shares, name, jobs[-1]), name))


def _within(view: View, jobs: list[Waiting]) -> list[Waiting]:
    """A group's own order: who has used less of late, and first come, first served."""
    used = view.snapshot.used if view.rules.order == "fair" else {}
    if not used and not any(aged(job, view) for job in jobs):
        return jobs
    return sorted(
        jobs,
        key=lambda job: (
            not aged(job, view),
            -job.priority,
            0.0 if aged(job, view) else used.get(job.owner, 0.0),
            job.seq,
        ),
    )


def _key(view: View, shares: Shares, name: str, job: Waiting) -> tuple[float, ...]:
    if aged(job, view):
        return (0, -job.priority, 0, 0, 0, job.seq)
    within = shares.within(name, job)
    if view.rules.order != "fair":
        # Others keep their order; only what a group has by right goes first.
        return (1, -job.priority, 0 if within else 1, 0, 0, job.seq)
    snapshot = view.snapshot
    used = snapshot.used.get(job.owner, 0.0)
    if job.group is not None:
        used = snapshot.group_used.get(job.group, 0.0)
    return (1, -job.priority, 0 if within else 1, shares.level(name), used, job.seq)


def decayed(used: float, passed: float, half_life: float) -> float:
    """Past use, in card-seconds, as it counts `passed` seconds later."""
    return used * float(0.5 ** (passed / half_life))
