"""When a waiting job should start, and how sure that is.

The queue is played forward with the run times that are likely by what was learned; the start in
that play is the middle estimate. How far past estimates were off gives the cautious one.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from danlu.sched.api import Eta, EtaBasis, Policy, Running, Snapshot, Waiting
from danlu.sched.history import History, keys_of, quantile
from danlu.sched.place import Room
from danlu.sched.pool import Pool
from danlu.sched.timeline import GRACE, Amounts, add, covers, end_of, pick, take

CAUTIOUS = 0.9
_MINUTE = 60.0
_FEW = 10  # fewer past estimates than this say little
_WIDE = 2.0  # then the cautious estimate is so many times the middle one
_DEPTH = 300  # jobs ahead that are played one by one; beyond, their work is added up
_RUNNING = 1000  # running jobs that are played, those with the nearest ends


@dataclass(slots=True, eq=False)
class _Held:
    end: float  # likely
    planned: float  # what the scheduler reckons with
    need: Amounts
    job: Running | None = None


@dataclass(slots=True, eq=False)
class _Queued:
    run: float
    planned: float
    need: Amounts


def estimate(snapshot: Snapshot, policy: Policy, job_id: str) -> Eta:
    place = next(i for i, job in enumerate(snapshot.waiting) if job.job_id == job_id)
    job = snapshot.waiting[place]
    if job.blocked is not None:
        return Eta(None, None, EtaBasis.NONE, why="blocked")
    rules = policy.queue(job.queue)
    ahead = [
        other
        for other in snapshot.waiting[:place]
        if other.queue == job.queue and other.blocked is None
    ]
    if not Room(snapshot.nodes, empty=True).fits_gang(job.shapes, rules.nodes):
        return Eta(None, None, EtaBasis.NONE, why="never")
    room = Room(snapshot.nodes, rules.place)
    gangs = [other.shapes for other in ahead[:_DEPTH]] + [job.shapes]
    pool = Pool(snapshot, room, rules.nodes, gangs)
    return _Forecast(snapshot, pool, room, rules.nodes).of(job, ahead)


class _Forecast:
    def __init__(
        self, snapshot: Snapshot, pool: Pool, room: Room, only: frozenset[str] | None
    ) -> None:
        self.now = snapshot.now
        self.snapshot, self.pool, self.room, self.only = snapshot, pool, room, only
        history = snapshot.history
        self.history = history if isinstance(history, History) else History()
        self.unknown: str | None = None

    def of(self, job: Waiting, ahead: list[Waiting]) -> Eta:
        near = [*ahead[:_DEPTH], job]
        amounts = [self.pool.amounts(one.shapes) for one in near]
        scarce = self.pool.scarce(amounts)
        if not scarce and self.room.fits_gang(job.shapes, self.only):
            return Eta(self.now, self.now, EtaBasis.NOW)
        scarce = scarce or list(range(len(self.pool.free)))
        held = self._running(scarce)
        queue = [
            self._queued(one, pick(amount, scarce))
            for one, amount in zip(near, amounts, strict=True)
        ]
        free = pick(self.pool.free, scarce)
        start, after = forward(self.now, free, held, queue)
        if start == inf:
            ref = self.unknown or ""
            return Eta(None, None, EtaBasis.NONE, after=ref or None, why="no_limit")
        if len(ahead) > _DEPTH:
            start += self._rest(ahead[_DEPTH:], scarce)
        return self._answer(start, after)

    def _answer(self, start: float, after: Running | None) -> Eta:
        history = self.history
        wait = start - self.now
        factor = quantile(history.errors, CAUTIOUS) if len(history.errors) >= _FEW else _WIDE
        late = self.now + max(wait, (factor or _WIDE) * (wait + _MINUTE) - _MINUTE)
        basis = EtaBasis.HISTORY if history.ratios or history.kinds else EtaBasis.LIMITS
        return Eta(
            start,
            late,
            basis,
            None if after is None else after.ref,
            None if after is None else after.owner,
            len(history.runs),
        )

    def _running(self, scarce: Sequence[int]) -> list[_Held]:
        held = []
        jobs: Sequence[Running] = self.snapshot.running
        if len(jobs) > _RUNNING:
            jobs = heapq.nsmallest(_RUNNING, jobs, key=lambda job: end_of(job, self.now))
        for job in jobs:
            amounts = self.pool.held(job)
            if not any(amounts):
                continue
            ran = self.now - job.since
            limit = None if job.latest_end is None else job.latest_end - job.since
            known = None if job.expected_end is None else job.expected_end - job.since
            planned = known if known is not None else limit
            likely = known if known is not None and known > ran else None
            if likely is None:
                likely = self.history.likely(keys_of(job.owner, job.name, job.shapes), limit, ran)
            if likely is None:
                self.unknown = self.unknown or job.ref
            end = inf if likely is None else max(job.since + likely, self.now + 1.0)
            plan = inf if planned is None else job.since + planned
            held.append(_Held(end, max(plan, self.now + 1.0), pick(amounts, scarce), job))
        return held

    def _queued(self, job: Waiting, need: Amounts) -> _Queued:
        known = [run for run in (job.expected, job.time_limit) if run is not None]
        planned = min(known) if known else None
        likely = job.expected
        if likely is None:
            keys = keys_of(job.owner, job.name, job.shapes)
            likely = self.history.likely(keys, job.time_limit)
        run = likely or planned or inf
        return _Queued(max(1.0, run), max(1.0, planned or run), need)

    def _rest(self, jobs: Sequence[Waiting], scarce: Sequence[int]) -> float:
        """The work of the many jobs behind those that are played, spread over all there is."""
        step = max(1, len(jobs) // _DEPTH)
        longest = 0.0
        chosen = jobs[::step]
        for number, place in enumerate(scarce):
            whole = max(1, self.pool.capacity[place])
            work = 0.0
            for job in chosen:
                queued = self._queued(job, pick(self.pool.amounts(job.shapes), scarce))
                work += queued.need[number] * (queued.run if queued.run != inf else GRACE)
            longest = max(longest, work * step / whole)
        return longest


def forward(
    now: float, free: Amounts, running: list[_Held], queue: list[_Queued]
) -> tuple[float, Running | None]:
    """Start of the last in `queue`, and whose end opened its room."""
    return _Play(now, free, running, queue).run()


class _Play:
    """First come first served, with one reservation for the head."""

    def __init__(
        self, now: float, free: Amounts, running: list[_Held], queue: list[_Queued]
    ) -> None:
        self.now, self.free = now, free
        self.waiting = list(queue)
        self.ends = sorted(((one.end, i, one) for i, one in enumerate(running)), key=_first)
        self.plans = sorted(((one.planned, i, one.need) for i, one in enumerate(running)))
        self.count = len(running)

    def run(self) -> tuple[float, Running | None]:
        target, opener = self.waiting[-1], None
        while True:
            self._start_in_order()
            if self.waiting and self.waiting[-1] is target:
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

    def _begin(self, job: _Queued) -> None:
        self.free = take(self.free, job.need)
        one = _Held(self.now + job.run, self.now + job.planned, job.need)
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
        if not self.free[0] or len(self.waiting) < 2:
            return
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


def _first(one: tuple[float, int, _Held]) -> tuple[float, int]:
    return one[:2]
