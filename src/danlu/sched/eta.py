"""When a waiting job should start, and how sure that is.

The queue is played forward with the run times that are likely by what was learned; the start in
that play is the middle estimate. How far past estimates were off gives the cautious one.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from math import inf

from danlu.sched.api import Eta, EtaBasis, Policy, QueuePolicy, Running, Snapshot, Waiting
from danlu.sched.backfill_fit import Fit, Releases
from danlu.sched.eta_play import Held, Play, Queued
from danlu.sched.history import History, keys_of, quantile
from danlu.sched.place import Room
from danlu.sched.pool import Pool
from danlu.sched.timeline import GRACE, Amounts, end_of, pick, run_of

CAUTIOUS = 0.9
_MINUTE = 60.0
_FEW = 10  # fewer past estimates than this say little
_WIDE = 2.0  # then the cautious estimate is so many times the middle one
_DEPTH = 300  # jobs ahead that are played one by one; beyond, their work is added up
_NODES = 512  # on so many nodes, the sum of them says nearly as much as each of them
_RUNNING = 1000  # running jobs that are played, those with the nearest ends


def estimate(snapshot: Snapshot, policy: Policy, job_id: str) -> Eta:
    waiting = snapshot.waiting
    place = [job.job_id for job in waiting].index(job_id)
    job = waiting[place]
    if job.blocked is not None:
        return Eta(None, None, EtaBasis.NONE, why="blocked")
    rules = policy.queue(job.queue)
    if not Room(snapshot.nodes, empty=True).fits_gang(job.shapes, rules.nodes):
        return Eta(None, None, EtaBasis.NONE, why="never")
    queue = job.queue
    ahead = [one for one in waiting[:place] if one.blocked is None and one.queue == queue]
    return _Forecast(snapshot, rules, [*ahead[:_DEPTH], job]).answer(ahead[_DEPTH:])


class _Forecast:
    """`near`: those that are played one by one, the last of them the one that is asked for."""

    def __init__(self, snapshot: Snapshot, rules: QueuePolicy, near: list[Waiting]) -> None:
        self.now, self.snapshot, self.rules, self.near = snapshot.now, snapshot, rules, near
        self.room = Room(snapshot.nodes, rules.place)
        self.pool = Pool(snapshot, self.room, rules.nodes, [job.shapes for job in near])
        history = snapshot.history
        self.history = history if isinstance(history, History) else History()
        self.unknown: str | None = None

    def answer(self, beyond: Sequence[Waiting]) -> Eta:
        job, only = self.near[-1], self.rules.nodes
        amounts = [self.pool.amounts(one.shapes) for one in self.near]
        scarce = self.pool.scarce(amounts)
        stuck = self._stuck(strict=not self.rules.backfill)
        if not scarce and not stuck:
            return Eta(self.now, self.now, EtaBasis.NOW)
        scarce = scarce or list(range(len(self.pool.free)))
        held = self._running(scarce)
        needs = [pick(amount, scarce) for amount in amounts]
        queue = [self._queued(one, need) for one, need in zip(self.near, needs, strict=True)]
        free = pick(self.pool.free, scarce)
        start, after = Play(self.now, free, held, queue, self.rules.backfill).run()
        many = len(self.room.nodes) > _NODES and start > self.now
        for one in () if beyond or many else stuck:
            fits, opener = self._on_nodes(one, held, only)
            if fits > start:
                start, after = fits, opener if one is job else after
        if start == inf:
            return Eta(None, None, EtaBasis.NONE, after=self.unknown, why="no_limit")
        if beyond:
            start += self._rest(beyond, scarce)
        return self._eta(start, after)

    def _stuck(self, strict: bool) -> list[Waiting]:
        """Who finds no node, though the sum might do: the job itself; in strict order, the head."""
        only = self.rules.nodes
        ahead = self.near[:-1] if strict else []
        head = next((one for one in ahead if not self.room.fits_gang(one.shapes, only)), None)
        job = self.near[-1]
        stuck = [] if self.room.fits_gang(job.shapes, only) else [job]
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

    def _running(self, scarce: Sequence[int]) -> list[Held]:
        held = []
        jobs: Sequence[Running] = self.snapshot.running
        if len(jobs) > _RUNNING:
            jobs = heapq.nsmallest(_RUNNING, jobs, key=lambda job: end_of(job, self.now))
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
        planned = run_of(job)
        keys = keys_of(job.owner, job.name, job.shapes)
        run = self.history.likely(keys, job.time_limit) or planned or inf
        return Queued(max(1.0, run), max(1.0, planned or run), need)

    def _rest(self, jobs: Sequence[Waiting], scarce: Sequence[int]) -> float:
        """The work of the many jobs behind those that are played, spread over all there is."""
        step = max(1, len(jobs) // _DEPTH)
        work = [0.0] * len(scarce)
        for job in jobs[::step]:
            queued = self._queued(job, pick(self.pool.amounts(job.shapes), scarce))
            run = GRACE if queued.run == inf else queued.run
            for number, need in enumerate(queued.need):
                work[number] += need * run
        whole = pick(self.pool.capacity, scarce)
        return max(step * w / max(1, all_) for w, all_ in zip(work, whole, strict=True))


def _planned_end(job: Running) -> float:
    if job.expected_end is not None:
        return job.expected_end
    return inf if job.latest_end is None else job.latest_end
