"""The order in which jobs of a queue are considered."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from danlu.sched.api import Waiting
from danlu.sched.backfill.timeline import run_of
from danlu.sched.backfill.view import View
from danlu.sched.tenants import Shares, amount, guarantees

ORDERS = ("fifo", "easy", "fair", "short-first")
CERTAIN = ("fifo", "easy")
"""Orders that promise: in them a job goes first by its time limit, never by how long jobs of that
name took so far. Tomorrow's `python` may run for a week."""
UNKNOWN_RUN = A_DAY = 86_400.0


def aged(job: Waiting, view: View) -> bool:
    """It has waited so long that it goes before all others."""
    limit = max_wait_of(job, view)
    return limit is not None and view.now - job.waits_since >= limit


def max_wait_of(job: Waiting, view: View) -> float | None:
    limit = view.rules_of(job).max_wait
    if limit is None and guarantees(view.snapshot.quotas):
        return A_DAY  # otherwise guarantees could put off jobs without a share forever
    return limit


def offered(view: View, shares: Shares) -> Iterator[Waiting]:
    """The eligible jobs, one by one. What is started in between moves those behind it."""
    rules = view.group.all_rules
    shared = guarantees(view.snapshot.quotas)
    if len(rules) == 1 and not shared and rules[0].order in CERTAIN and rules[0].max_wait is None:
        return view.eligible()
    return _merged(view, shares)


def _merged(view: View, shares: Shares) -> Iterator[Waiting]:
    """Each queue offers its next one; of these, the first by claim, age, right, rank and time."""
    lines = _lines(view, shares)
    between = Between(view, shares)
    while lines:
        name = min(lines, key=lambda name: between.key(lines[name].next))
        line = lines[name]
        job = line.next
        line.advance()
        if line.is_empty:
            del lines[name]
        yield job


def _lines(view: View, shares: Shares) -> dict[str, _Line]:
    waiting: dict[str, list[Waiting]] = {}
    for job in view.eligible():
        waiting.setdefault(job.queue, []).append(job)
    return {name: _Line(view, shares, name, jobs) for name, jobs in waiting.items()}


class Between:
    """Which queue is next, where several share nodes."""

    def __init__(self, view: View, shares: Shares) -> None:
        self._view, self._shares = view, shares
        self._guarantees = guarantees(view.snapshot.quotas)
        rules = {name: view.group.rules(name) for name in view.group.names}
        self._weights = {name: one.weight or 1.0 for name, one in rules.items()}
        self._weighted = any(one.weight is not None for one in rules.values())
        self._held: dict[str, int] = {}
        self._counted = 0
        if self._weighted:
            for job in view.snapshot.running:
                self._held[job.queue] = self._held.get(job.queue, 0) + amount(job.shapes)

    def key(self, job: Waiting) -> tuple[float, ...]:
        view, shares = self._view, self._shares
        claim, rank, priority, seq = view.order(job)
        beyond = self._guarantees and not shares.within(shares.tenant(job), job)
        return (claim, not aged(job, view), beyond, rank, self.level(job.queue), priority, seq)

    def level(self, queue: str) -> float:
        if not self._weighted:
            return 0.0
        begun = self._view.begun
        for one in begun[self._counted :]:
            name = one.job.queue
            self._held[name] = self._held.get(name, 0) + amount(one.shapes)
        self._counted = len(begun)
        return self._held.get(queue, 0) / self._weights[queue]


class _Line:
    """One queue, in its own order."""

    def __init__(self, view: View, shares: Shares, name: str, jobs: list[Waiting]) -> None:
        self._view, self._shares = view, shares
        self._rules = view.group.rules(name)
        self._lanes: dict[str, list[Waiting]] = {}
        fair = self._rules.order == "fair" or guarantees(view.snapshot.quotas)
        for job in jobs:
            self._lanes.setdefault(shares.tenant(job) if fair else "", []).append(job)
        for lane, some in self._lanes.items():
            self._lanes[lane] = list(reversed(self._within(some)))
        self._heap = [(self._key(lane), lane) for lane in self._lanes]
        heapq.heapify(self._heap)

    @property
    def is_empty(self) -> bool:
        return not self._heap

    @property
    def next(self) -> Waiting:
        return self._lanes[self._heap[0][1]][-1]

    def advance(self) -> None:
        _, lane = heapq.heappop(self._heap)
        self._lanes[lane].pop()
        if self._lanes[lane]:
            heapq.heappush(self._heap, (self._key(lane), lane))

    def _within(self, jobs: list[Waiting]) -> list[Waiting]:
        """A lane's own order: who has used less of late, and first come, first served."""
        view, order = self._view, self._rules.order
        used = view.snapshot.used if order == "fair" else {}
        short = order == "short-first"
        plain = not used and not short and not any(view.group.claimed(job) for job in jobs)
        if plain and not any(aged(job, view) for job in jobs):
            return jobs

        def key(job: Waiting) -> tuple[float, ...]:
            old = aged(job, view)
            weighed = urgency(job) if short else used.get(job.owner, 0.0)
            claim = view.order(job)[0]
            return (claim, not old, -job.priority, 0.0 if old else weighed, job.seq)

        return sorted(jobs, key=key)

    def _key(self, lane: str) -> tuple[float, ...]:
        view, shares, job = self._view, self._shares, self._lanes[lane][-1]
        claim = view.order(job)[0]
        if aged(job, view):
            return (claim, 0, -job.priority, 0, 0, 0, job.seq)
        beyond = 0 if shares.within(lane, job) else 1
        if self._rules.order != "fair":
            # Others keep their order; only what a group has by right goes first.
            return (claim, 1, beyond, -job.priority, 0, 0, job.seq)
        snapshot = view.snapshot
        used = snapshot.used.get(job.owner, 0.0)
        if job.group is not None:
            used = snapshot.group_used.get(job.group, 0.0)
        return (claim, 1, beyond, -job.priority, shares.level(lane), used, job.seq)


def urgency(job: Waiting) -> float:
    """Short and small first."""
    run = run_of(job) or UNKNOWN_RUN
    return max(10.0, run) ** 2 * sum(shape.amount or shape.cpus for shape in job.shapes)


def decayed(used: float, passed: float, half_life: float) -> float:
    """Past use, in GPU-seconds, as it counts `passed` seconds later."""
    return used * float(0.5 ** (passed / half_life))
