"""Simulates a queue: FIFO, with a reservation for the head."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections import Counter
from dataclasses import dataclass
from math import inf

from danlu.sched.api import Running
from danlu.sched.backfill.timeline import Amounts, add, covers, take


@dataclass(slots=True, eq=False)
class Held:
    end: float  # likely
    planned: float  # as the scheduler plans
    need: Amounts
    job: Running | None = None


@dataclass(slots=True, eq=False)
class Queued:
    run: float
    planned: float
    need: Amounts


class Play:
    def __init__(
        self,
        now: float,
        free: Amounts,
        running: list[Held],
        queue: list[Queued],
        backfill: bool = True,
    ) -> None:
        self.now, self.free = now, free
        self.backfill = backfill
        self.waiting = list(queue)
        self.least = min((one.need[0] for one in queue), default=0)
        self.kinds = Counter(one.need for one in queue)  # few distinct needs, even in a long queue
        self.ends = sorted(((one.end, i, one) for i, one in enumerate(running)), key=_first)
        self.plans = sorted(((one.planned, i, one.need) for i, one in enumerate(running)))
        self.count = len(running)

    def run(self) -> tuple[float, Running | None]:
        """The start of the last job in the queue, and the job whose end made room."""
        target, opener = self.waiting[-1], None
        while True:
            self._start_in_order()
            if self.backfill and self.waiting and self.waiting[-1] is target:
                self._backfill()
            if not self.waiting or self.waiting[-1] is not target:
                return self.now, opener
            if not self.ends or self.ends[0][0] == inf:
                return inf, None
            self.now = self.ends[0][0]
            while self.ends and self.ends[0][0] <= self.now:
                _, number, one = heapq.heappop(self.ends)
                self.free = add(self.free, one.need)
                opener = one.job
                plan = (one.planned, number, one.need)
                del self.plans[bisect_left(self.plans, plan)]

    def _begin(self, job: Queued) -> None:
        self.free = take(self.free, job.need)
        if self.kinds[job.need] > 1:
            self.kinds[job.need] -= 1
        else:
            del self.kinds[job.need]
        one = Held(self.now + job.run, self.now + job.planned, job.need)
        self.count += 1
        heapq.heappush(self.ends, (one.end, self.count, one))
        insort(self.plans, (one.planned, self.count, one.need))

    def _start_in_order(self) -> None:
        begun = 0
        for job in self.waiting:
            if not covers(self.free, job.need):
                break
            self._begin(job)
            begun += 1
        del self.waiting[:begun]

    def _backfill(self) -> None:
        free = self.free
        if free[0] < self.least:
            return
        if not any(need[0] <= free[0] and covers(free, need) for need in self.kinds):
            return  # the common case: everything that fits has started
        head = self.waiting[0].need
        shadow, then = inf, self.free
        for end, _, need in self.plans:
            planned = end if end > self.now else self.now + 1.0
            if shadow != inf and planned > shadow:
                break
            then = add(then, need)
            if shadow == inf and covers(then, head):
                shadow = planned
        if shadow == inf:
            return
        spare = take(then, head)
        left = [self.waiting[0]]
        for job in self.waiting[1:]:
            goes = job.need[0] <= self.free[0] and covers(self.free, job.need)
            if goes and self.now + job.planned > shadow:
                goes = covers(spare, job.need)
                if goes:
                    spare = take(spare, job.need)
            if goes:
                self._begin(job)
            else:
                left.append(job)
        self.waiting = left


def _first(one: tuple[float, int, Held]) -> tuple[float, int]:
    return one[:2]
