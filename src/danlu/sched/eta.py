"""When a waiting job should start, and how sure that is.

The queue is played forward with the run times that are likely by what was learned; the start in
that play is the middle estimate. How far past estimates were off gives the cautious one.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
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
from danlu.sched.backfill_fit import Fit, Releases
from danlu.sched.eta_play import Held, Play, Queued
from danlu.sched.eta_quota import Counted
from danlu.sched.history import History, keys_of, quantile
from danlu.sched.place import Room
from danlu.sched.pool import Pool
from danlu.sched.summary import fits
from danlu.sched.timeline import GRACE, Amounts, end_of, pick, run_of

Possible = Callable[[tuple[TaskShape, ...], frozenset[str] | None], bool]
_QUOTAS = frozenset({CauseKind.QUOTA_USER, CauseKind.QUOTA_GROUP})
_LIMITS = _QUOTAS | {CauseKind.ARRAY_LIMIT}
CAUTIOUS = 0.9
_MINUTE = 60.0
_FEW = 10  # fewer past estimates than this say little
_WIDE = 2.0  # then the cautious estimate is so many times the middle one
_DEPTH = 300  # jobs ahead that are played one by one; beyond, their work is added up
_NODES = 512  # on so many nodes, the sum of them says nearly as much as each of them
_SAMPLE = 500  # of those beyond, so many are looked at
_RUNNING = 500  # running jobs that are played, those with the nearest ends; all, if they do not do


def estimate(
    snapshot: Snapshot,
    policy: Policy,
    job_id: str,
    place: int | None = None,
    room: Room | None = None,
    possible: Possible | None = None,
    causes: Sequence[Cause] = (),
) -> Eta:
    """What is known already saves a look at every job and node: `place` in `snapshot.waiting`,
    the untouched `room` of the snapshot, and who could ever run. `causes`: why it did not start,
    if that is known: a quota opens when its holder's jobs end, and who stays back for others does
    not start before them."""
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
    forecast = _Forecast(snapshot, rules, room, [*near, job])
    eta = forecast.answer(beyond, step)
    limits = [cause for cause in causes if cause.kind in _LIMITS]
    if eta.p50 is not None and eta.p50 <= snapshot.now and causes and not limits:
        eta = forecast.staying_back(causes)
    return forecast.after_limits(eta, limits)


def _ahead(
    waiting: Sequence[Waiting], place: int, job: Waiting
) -> tuple[list[Waiting], list[Waiting], int]:
    """The first of those before it, a few of the many others, and for how many each stands."""
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


class _Forecast:
    """`near`: those that are played one by one, the last of them the one that is asked for."""

    def __init__(
        self, snapshot: Snapshot, rules: QueuePolicy, room: Room, near: list[Waiting]
    ) -> None:
        self.now, self.snapshot, self.rules, self.near = snapshot.now, snapshot, rules, near
        self.room = room
        self.pool = Pool(snapshot, self.room, rules.nodes, [job.shapes for job in near])
        history = snapshot.history
        self.history = history if isinstance(history, History) else History()
        self.unknown: str | None = None

    def answer(self, beyond: Sequence[Waiting], step: int) -> Eta:
        """`beyond`: some of those between the ones that are played; each stands for `step`."""
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
        if beyond:
            start += step * self._rest(beyond, scarce)
        return self._eta(start, after)

    def staying_back(self, causes: Sequence[Cause]) -> Eta:
        """There is room for it, but it stays back: it starts when those before it have. If that is
        no answer, then when the room that is kept is used, or when anything at all changes."""
        start, after = self._in_order()
        if start <= self.now:
            kept = [float(cause.numbers["at"]) for cause in causes if "at" in cause.numbers]
            start, after = max(kept, default=self.now), None
        if start <= self.now:
            ends = [(self._end(one), one) for one in self.snapshot.running]
            start, after = min(ends, key=lambda pair: pair[0], default=(inf, None))
            start = max(start, self.now + 1.0)
        if start == inf:
            return Eta(None, None, EtaBasis.NONE, after=self.unknown, why="no_limit")
        return self._eta(start, after)

    def _in_order(self) -> tuple[float, Running | None]:
        everything = range(len(self.pool.free))
        needs = [pick(self.pool.amounts(one.shapes), everything) for one in self.near]
        queue = [self._queued(one, need) for one, need in zip(self.near, needs, strict=True)]
        held = self._running(self.snapshot.running, everything)
        start, after = self._play(held, queue, everything, backfill=False)
        for one in self._stuck(strict=True):
            at, opener = self._on_nodes(one, held, self.rules.nodes)
            if at > start:
                start, after = at, opener
        return start, after

    def after_limits(self, eta: Eta, limits: Sequence[Cause]) -> Eta:
        """The latest of all: when there is room, and when each limit lets it through."""
        for cause in limits:
            if eta.p50 is None:
                break
            of_array = cause.kind is CauseKind.ARRAY_LIMIT
            start, after = self._array_opens(cause) if of_array else self._quota_opens(cause)
            if start == inf:
                return Eta(None, None, EtaBasis.NONE, after=self.unknown, why="no_limit")
            if start > eta.p50:
                eta = self._eta(start, after)
        return eta

    def _array_opens(self, cause: Cause) -> tuple[float, Running | None]:
        """When so many elements have ended that it is its turn."""
        job = self.near[-1]
        held = []
        for one in self.snapshot.running:
            if (one.owner, one.name) == (job.owner, job.name):
                end = self._end(one)
                self.unknown = one.ref if end == inf else self.unknown
                held.append(Held(max(end, self.now + 1.0), end, (1,), one))
        free = max(0, int(cause.numbers["limit"]) - len(held))
        queue = [self._queued(one, (1,)) for one in self.near if one.array == job.array]
        return Play(self.now, (free,), held, queue).run()

    def _quota_opens(self, cause: Cause) -> tuple[float, Running | None]:
        """When enough jobs that count against it have ended, those before it taken care of."""
        counts = Counted(self.snapshot, cause)
        held = []
        for job in filter(counts.includes, self.snapshot.running):
            amount, end = counts.held(job), self._end(job)
            if amount:
                self.unknown = job.ref if end == inf else self.unknown
                held.append(Held(max(end, self.now + 1.0), end, (amount,), job))
        near = [job for job in self.near if counts.queues(job)]
        queue = [self._queued(job, (counts.needed(job),)) for job in near]
        return Play(self.now, (counts.free,), held, queue).run()

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
        """Who finds no node, though the sum might do: the job itself; in strict order, the head."""
        only = self.rules.nodes
        ahead = self.near[:-1] if strict else []
        head = next((one for one in ahead if not fits(self.room, one.shapes, only)), None)
        job = self.near[-1]
        stuck = [] if fits(self.room, job.shapes, only) else [job]
        return stuck if head is None else [head, *stuck]

    def _on_nodes(
        self, job: Waiting, held: list[Held], only: frozenset[str] | None
    ) -> tuple[float, Running | None]:
        """When nodes have room for it, and whose end opens it."""
        ends = [(one.end, one.job) for one in held if one.job is not None]
        releases = Releases(self.room, ((end, run.shapes, run.places) for end, run in ends))
        at = Fit(self.room, only, self.now, releases, job.shapes).at
        return at, next((run for end, run in ends if end == at), None)

    def _eta(self, start: float, after: Running | None) -> Eta:
        history = self.history
        wait = start - self.now
        factor = quantile(history.errors, CAUTIOUS) if len(history.errors) >= _FEW else _WIDE
        late = self.now + max(wait, (factor or _WIDE) * (wait + _MINUTE) - _MINUTE)
        basis = EtaBasis.HISTORY if history.ratios or history.kinds else EtaBasis.LIMITS
        ref, owner = (None, None) if after is None else (after.ref, after.owner)
        return Eta(start, late, basis, ref, owner, len(history.runs))

    def _nearest(self) -> Sequence[Running]:
        """Those that end first."""
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
        """The likely one; inf: nobody knows."""
        keys, ran = keys_of(job.owner, job.name, job.shapes), self.now - job.since
        limit = None if job.latest_end is None else job.latest_end - job.since
        likely = self.history.likely(keys, limit, ran)
        return end_of(job, self.now) if likely is None else job.since + likely

    def _queued(self, job: Waiting, need: Amounts) -> Queued:
        run = self._run(job)
        return Queued(run, max(1.0, run_of(job) or run), need)

    def _run(self, job: Waiting) -> float:
        """The likely one; inf: nobody knows."""
        keys = keys_of(job.owner, job.name, job.shapes)
        return max(1.0, self.history.likely(keys, job.time_limit) or run_of(job) or inf)

    def _rest(self, jobs: Sequence[Waiting], scarce: Sequence[int]) -> float:
        """The work of the many jobs behind those that are played, spread over all there is."""
        work = [0.0] * len(scarce)
        for job in jobs:
            run, amounts = self._run(job), self.pool.amounts(job.shapes)
            run = GRACE if run == inf else run
            for number, what in enumerate(scarce):
                work[number] += amounts[what] * run
        whole = pick(self.pool.capacity, scarce)
        return max(w / max(1, all_) for w, all_ in zip(work, whole, strict=True))


def _planned_end(job: Running) -> float:
    if job.expected_end is not None:
        return job.expected_end
    return inf if job.latest_end is None else job.latest_end
