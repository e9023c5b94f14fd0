"""Estimates when a waiting job will start, and how certain that is.

The queue is simulated with learned run times, which gives the median estimate. The error of past
estimates gives the 90th percentile.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

from danlu.sched.api import (
    Cause,
    CauseKind,
    Eta,
    EtaBasis,
    Policy,
    QueuePolicy,
    Running,
    Snapshot,
    TaskShape,
    Waiting,
)
from danlu.sched.backfill.fit import Fit, Releases
from danlu.sched.backfill.pool import Pool
from danlu.sched.backfill.timeline import GRACE, Amounts, end_of, pick, run_of
from danlu.sched.estimate.history import History, keys_of, quantile
from danlu.sched.estimate.play import Held, Play, Queued
from danlu.sched.estimate.quota import Counted
from danlu.sched.explain.summary import fits
from danlu.sched.place.place import Room

Possible = Callable[[tuple[TaskShape, ...], frozenset[str] | None], bool]
_QUOTAS = frozenset({CauseKind.QUOTA_USER, CauseKind.QUOTA_GROUP})
_LIMITS = _QUOTAS | {CauseKind.ARRAY_LIMIT}
CAUTIOUS = 0.9
_MINUTE = 60.0
_FEW = 10  # fewer past estimates than this say little
_WIDE = 2.0  # then the 90th percentile is this multiple of the median
_DEPTH = 300  # jobs ahead that are simulated; beyond, only their total work counts
_NODES = 512  # above this, totals are accurate enough
_SAMPLE = 500  # sample size of the jobs beyond
_RUNNING = 500  # running jobs simulated first, by earliest end; all if these do not suffice


def estimate(
    snapshot: Snapshot,
    policy: Policy,
    job_id: str,
    place: int | None = None,
    room: Room | None = None,
    possible: Possible | None = None,
    causes: Sequence[Cause] = (),
) -> Eta:
    """Optional arguments save recomputing them: `place` in `snapshot.waiting`, the untouched `room`
    of the snapshot, which jobs are `possible`, and the `causes` of waiting. A quota is available
    again when its holder's jobs end; a job that waits for others does not start before them.
    """
    waiting = snapshot.waiting
    if place is None:
        place = [job.job_id for job in waiting].index(job_id)
    job = waiting[place]
    if job.blocked is not None:
        return Eta(None, None, EtaBasis.NONE, why="blocked")
    rules = policy.queue(job.queue)
    possible = possible or Room(snapshot.nodes, empty=True).fits_gang
    if not possible(job.shapes, rules.nodes):
        return Eta(None, None, EtaBasis.NONE, why="never")
    room = Room(snapshot.nodes, rules.place) if room is None else room
    near, beyond, step = _ahead(waiting, place, job)
    quotas = [cause for cause in causes if cause.kind in _QUOTAS]
    if any(float(c.numbers["need"]) > float(c.numbers["limit"]) for c in quotas):
        return Eta(None, None, EtaBasis.NONE, why="quota")
    if any(c.kind is CauseKind.GUARANTEE and "most" in c.numbers for c in causes):
        return Eta(None, None, EtaBasis.NONE, why="never")
    forecast = _Forecast(snapshot, rules, room, [*near, job])
    eta = forecast.answer(beyond, step)
    limits = [cause for cause in causes if cause.kind in _LIMITS]
    if eta.p50 is not None and eta.p50 <= snapshot.now and causes and not limits:
        eta = forecast.staying_back(causes)
    return forecast.after_limits(eta, limits)


def _ahead(
    waiting: Sequence[Waiting], place: int, job: Waiting
) -> tuple[list[Waiting], list[Waiting], int]:
    """The first jobs ahead, a sample of the rest, and how many jobs each of those represents."""
    queue = job.queue
    near: list[Waiting] = []
    seen = 0
    while seen < place and len(near) < _DEPTH:
        one = waiting[seen]
        seen += 1
        if one.blocked is None and one.queue == queue:
            near.append(one)
    step = max(1, (place - seen) // _SAMPLE)
    others = waiting[seen:place:step]
    return near, [one for one in others if one.blocked is None and one.queue == queue], step


@dataclass(frozen=True, slots=True)
class _Opens:
    """When a limit lets a job through, after which job's end, and at the latest."""

    start: float
    after: Running | None
    latest: float


class _Forecast:
    """`near`: the jobs to simulate; the last one is the job in question."""

    def __init__(
        self, snapshot: Snapshot, rules: QueuePolicy, room: Room, near: list[Waiting]
    ) -> None:
        self.now, self.snapshot, self.rules, self.near = snapshot.now, snapshot, rules, near
        self.room = room
        self.pool = Pool(snapshot, self.room, rules.nodes, [job.shapes for job in near])
        history = snapshot.history
        self.history = history if isinstance(history, History) else History()
        self.unknown: str | None = None
        self.samples = 0  # the smallest sample size used
        self.bound = inf  # the latest start, if all jobs run to their limits

    def answer(self, beyond: Sequence[Waiting], step: int) -> Eta:
        """`beyond`: a sample of the jobs that are not simulated; each represents `step` jobs."""
        job, only = self.near[-1], self.rules.nodes
        amounts = [self.pool.amounts(one.shapes) for one in self.near]
        scarce = self.pool.scarce(amounts)
        stuck = self._stuck(strict=not self.rules.backfill)
        if not scarce and not stuck:
            return Eta(self.now, self.now, EtaBasis.NOW)
        scarce = scarce or list(range(len(self.pool.free)))
        needs = [pick(amount, scarce) for amount in amounts]
        queue = [self._queued(one, need) for one, need in zip(self.near, needs, strict=True)]
        held = self._running(self._nearest(), scarce)
        start, after = self._play(held, queue, scarce)
        if start == inf and len(self.snapshot.running) > _RUNNING:
            held = self._running(self.snapshot.running, scarce)
            start, after = self._play(held, queue, scarce)
        many = len(self.room.nodes) > _NODES and start > self.now
        for one in () if beyond or many else stuck:
            at, opener = self._on_nodes(one, held, only)
            if at > start:
                start, after = at, opener if one is job else after
        if start == inf:
            return Eta(None, None, EtaBasis.NONE, after=self.unknown, why="no_limit")
        if not beyond and self._nobody_delays_it():
            self.bound = self._latest(queue, held, scarce, stuck)
        if beyond:
            start += step * self._rest(beyond, scarce)
        return self._eta(start, after)

    def _nobody_delays_it(self) -> bool:
        """Whether no later job can delay it."""
        return len(self.near) == 1 or self.rules.order == "fifo"

    def _latest(
        self, queue: list[Queued], held: list[Held], scarce: Sequence[int], stuck: list[Waiting]
    ) -> float:
        """Its start if all jobs run to their time limits: an upper bound."""
        last, ends = self._to_the_limit(queue, self.near), _ends_at_limits(held)
        start, _ = self._play(ends, last, scarce)
        for one in stuck:
            start = max(start, self._on_nodes(one, ends, self.rules.nodes)[0])
        return start

    def staying_back(self, causes: Sequence[Cause]) -> Eta:
        """For a job that fits but has to wait for others: it starts after them. If that gives no
        estimate, when the reservation is used, or at the next end of a running job.
        """
        self.bound = inf
        start, after = self._in_order()
        if start > self.now and self._nobody_delays_it():
            self.bound = self._in_order(latest=True)[0]
        if start <= self.now:
            kept = [float(cause.numbers["at"]) for cause in causes if "at" in cause.numbers]
            start, after = max(kept, default=self.now), None
            if self._nobody_delays_it():
                self.bound = self._all_ended()
        if start <= self.now:
            ends = [(self._end(one), one) for one in self.snapshot.running]
            start, after = min(ends, key=lambda pair: pair[0], default=(inf, None))
            start = max(start, self.now + 1.0)
        if start == inf:
            return Eta(None, None, EtaBasis.NONE, after=self.unknown, why="no_limit")
        return self._eta(start, after)

    def _all_ended(self) -> float:
        """When all running jobs and then, one by one, all before it have reached their limits."""
        ends = [inf if one.latest_end is None else one.latest_end for one in self.snapshot.running]
        runs = [one.time_limit or inf for one in self.near[:-1]]
        return max([self.now, *ends]) + sum(runs)

    def _in_order(self, latest: bool = False) -> tuple[float, Running | None]:
        """`latest`: if all run to their time limits."""
        everything = range(len(self.pool.free))
        needs = [pick(self.pool.amounts(one.shapes), everything) for one in self.near]
        queue = [self._queued(one, need) for one, need in zip(self.near, needs, strict=True)]
        held = self._running(self.snapshot.running, everything)
        if latest:
            queue, held = self._to_the_limit(queue, self.near), _ends_at_limits(held)
        start, after = self._play(held, queue, everything, backfill=False)
        for one in self._stuck(strict=True):
            at, opener = self._on_nodes(one, held, self.rules.nodes)
            if at > start:
                start, after = at, opener
        return start, after

    def after_limits(self, eta: Eta, limits: Sequence[Cause]) -> Eta:
        """The latest of the times at which there is room and each limit permits it."""
        for cause in limits:
            if eta.p50 is None:
                break
            of_array = cause.kind is CauseKind.ARRAY_LIMIT
            opens = self._array_opens(cause) if of_array else self._quota_opens(cause)
            if opens is None or opens.start == inf:
                return Eta(None, None, EtaBasis.NONE, after=self.unknown, why="no_limit")
            # It starts once there is room and every limit lets it through.
            self.bound = max(self.bound, opens.latest)
            if opens.start > eta.p50:
                eta = self._eta(opens.start, opens.after)
            else:
                eta = self._with_bound(eta)
        return eta

    def _array_opens(self, cause: Cause) -> _Opens:
        """When enough elements of the array have ended."""
        job = self.near[-1]
        held = []
        for one in self.snapshot.running:
            if (one.owner, one.name) == (job.owner, job.name):
                end = self._end(one)
                self.unknown = one.ref if end == inf else self.unknown
                held.append(Held(max(end, self.now + 1.0), end, (1,), one))
        free = max(0, int(cause.numbers["limit"]) - len(held))
        near = [one for one in self.near if one.array == job.array]
        return self._opens(free, held, near, [(1,)] * len(near))

    def _opens(
        self, free: int, held: list[Held], near: list[Waiting], needs: Sequence[Amounts]
    ) -> _Opens:
        queue = [self._queued(one, need) for one, need in zip(near, needs, strict=True)]
        start, after = Play(self.now, (free,), held, queue).run()
        last = Play(self.now, (free,), _ends_at_limits(held), self._to_the_limit(queue, near))
        return _Opens(start, after, last.run()[0])

    def _to_the_limit(self, queue: list[Queued], near: list[Waiting]) -> list[Queued]:
        limits = [one.time_limit or inf for one in near]
        return [Queued(run, run, one.need) for run, one in zip(limits, queue, strict=True)]

    def _quota_opens(self, cause: Cause) -> _Opens | None:
        """When enough jobs that count against the quota have ended, after earlier waiting ones."""
        counts = Counted(self.snapshot, cause)
        held = []
        for job in filter(counts.includes, self.snapshot.running):
            amount, end = counts.held(job), self._end(job)
            if amount:
                self.unknown = job.ref if end == inf else self.unknown
                held.append(Held(max(end, self.now + 1.0), end, (amount,), job))
        if not counts.queues(self.near[-1]):
            return None  # it exceeds the quota together with what is held elsewhere
        near = [job for job in self.near if counts.queues(job)]
        return self._opens(counts.free, held, near, [(counts.needed(job),) for job in near])

    def _play(
        self,
        held: list[Held],
        queue: list[Queued],
        scarce: Sequence[int],
        backfill: bool | None = None,
    ) -> tuple[float, Running | None]:
        free = pick(self.pool.free, scarce)
        go_first = self.rules.backfill if backfill is None else backfill
        return Play(self.now, free, held, queue, go_first).run()

    def _stuck(self, strict: bool) -> list[Waiting]:
        """Jobs that fit the totals but no node: the job itself and, in strict order, the head."""
        only = self.rules.nodes
        ahead = self.near[:-1] if strict else []
        head = next((one for one in ahead if not fits(self.room, one.shapes, only)), None)
        job = self.near[-1]
        stuck = [] if fits(self.room, job.shapes, only) else [job]
        return stuck if head is None else [head, *stuck]

    def _on_nodes(
        self, job: Waiting, held: list[Held], only: frozenset[str] | None
    ) -> tuple[float, Running | None]:
        """When there is room on nodes, and which job's end makes it."""
        ends = [(one.end, one.job) for one in held if one.job is not None]
        releases = Releases(self.room, ((end, run.shapes, run.places) for end, run in ends))
        at = Fit(self.room, only, self.now, releases, job.shapes).at
        return at, next((run for end, run in ends if end == at), None)

    def _eta(self, start: float, after: Running | None) -> Eta:
        history = self.history
        wait = start - self.now
        factor = quantile(history.errors, CAUTIOUS) if len(history.errors) >= _FEW else _WIDE
        late = self.now + max(wait, (factor or _WIDE) * (wait + _MINUTE) - _MINUTE)
        late = max(start, min(late, self.bound))
        basis = EtaBasis.HISTORY if self.samples else EtaBasis.LIMITS
        ref = None if after is None else after.ref
        return Eta(start, late, basis, ref, self.samples)

    def _with_bound(self, eta: Eta) -> Eta:
        if eta.p50 is None or eta.p90 is None:
            return eta
        return replace(eta, p90=max(eta.p50, min(eta.p90, self.bound)))

    def _nearest(self) -> Sequence[Running]:
        """The jobs that end first."""
        jobs, now = self.snapshot.running, self.now
        if len(jobs) <= _RUNNING:
            return jobs
        ends = [end_of(job, now) for job in jobs]
        return [jobs[at] for at in heapq.nsmallest(_RUNNING, range(len(ends)), ends.__getitem__)]

    def _running(self, jobs: Sequence[Running], scarce: Sequence[int]) -> list[Held]:
        held = []
        soon = self.now + 1.0
        for job in jobs:
            amounts = self.pool.held(job)
            if not any(amounts):
                continue
            end, planned = self._end(job), _planned_end(job)
            if end == inf:
                self.unknown = self.unknown or job.ref
            held.append(Held(max(end, soon), max(planned, soon), pick(amounts, scarce), job))
        return held

    def _end(self, job: Running) -> float:
        """The likely value; inf if unknown."""
        keys, ran = keys_of(job.owner, job.name, job.shapes), self.now - job.since
        limit = None if job.latest_end is None else job.latest_end - job.since
        likely = self.history.likely(keys, limit, ran)
        self._rests_on(self.history.samples(keys, limit))
        return end_of(job, self.now) if likely is None else job.since + likely

    def _queued(self, job: Waiting, need: Amounts) -> Queued:
        run = self._run(job)
        return Queued(run, max(1.0, run_of(job) or run), need)

    def _run(self, job: Waiting) -> float:
        """The likely value; inf if unknown."""
        keys = keys_of(job.owner, job.name, job.shapes)
        if job is not self.near[-1]:  # its own run time does not matter
            self._rests_on(self.history.samples(keys, job.time_limit))
        return max(1.0, self.history.likely(keys, job.time_limit) or run_of(job) or inf)

    def _rests_on(self, samples: int) -> None:
        if samples:
            self.samples = min(samples, self.samples) if self.samples else samples

    def _rest(self, jobs: Sequence[Waiting], scarce: Sequence[int]) -> float:
        """The work of the jobs that are not simulated, divided by the total capacity."""
        work = [0.0] * len(scarce)
        for job in jobs:
            run, amounts = self._run(job), self.pool.amounts(job.shapes)
            run = GRACE if run == inf else run
            for number, what in enumerate(scarce):
                work[number] += amounts[what] * run
        whole = pick(self.pool.capacity, scarce)
        return max(w / max(1, all_) for w, all_ in zip(work, whole, strict=True))


def _ends_at_limits(held: list[Held]) -> list[Held]:
    """As if all ran to their time limits."""
    return [Held(_latest_end(one), _latest_end(one), one.need, one.job) for one in held]


def _latest_end(held: Held) -> float:
    job = held.job
    return inf if job is None or job.latest_end is None else max(job.latest_end, held.end)


def _planned_end(job: Running) -> float:
    if job.expected_end is not None:
        return job.expected_end
    return inf if job.latest_end is None else job.latest_end
