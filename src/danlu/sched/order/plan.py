"""Shortest job first without starvation: a plan for the whole queue, improved at every event.

The plan is an order of the waiting jobs; each gets the earliest slot that earlier ones leave. Its
cost is the sum of all waiting times relative to run times, a steep penalty for waits close to the
longest backlog seen so far (which prevents starvation), and the delay of future jobs. A new job is
inserted where it costs least; then a few random changes are tried, and improvements are kept.
"""

from __future__ import annotations

import heapq
from itertools import islice
from math import inf, sqrt
from random import Random

from danlu.sched.api import Basis, Cause, CauseKind, Kept, Waiting
from danlu.sched.backfill.apart import start_apart
from danlu.sched.backfill.pool import Pool
from danlu.sched.backfill.reserve import Reserve, admitted, reserved
from danlu.sched.backfill.timeline import Amounts, coarse, pick, profile, run_of
from danlu.sched.backfill.view import Filled, View, firsts, starts_of
from danlu.sched.memory import Memory
from danlu.sched.order.arrivals import GRAIN, HORIZON, SHORTEST, Outlook, learn

SEEN = 5000  # jobs from the front of the queue that are considered
PLANNED = 200  # jobs in the plan
WORTH_PLANNING = 64  # up to this many jobs are planned even if none can start
MOVES = 10  # changes tried at every event, while the queue is short
PROBES = 4  # places tried at random for a new job
BUDGET = 3000  # simulated placements per pass
RELEASES = 128  # distinct end times of running jobs
UNKNOWN_RUN = 86_400.0
PATIENCE = 0.95  # target for the longest wait, relative to the longest backlog so far
_STEEP, _PRICE = 16, 1000.0


def fill_planned(view: View) -> Filled:
    jobs = _chosen(view)
    if len(jobs) > WORTH_PLANNING and not any(view.fits(job) for job in jobs):
        # Nothing can start, so new jobs are planned in a later pass.
        return Filled((), _heads(view, jobs), memory=view.memory)
    plan = Plan(view, jobs, view.memory or Memory())
    plan.improve()
    return plan.carry_out()


def _chosen(view: View) -> list[Waiting]:
    """The most urgent and the oldest waiting jobs; all of them if there are few."""
    jobs = [job for job in islice(view.eligible(), SEEN) if view.could(job)]
    if len(jobs) <= PLANNED:
        return jobs
    oldest, others = jobs[: PLANNED // 4], jobs[PLANNED // 4 :]
    shortest = heapq.nsmallest(PLANNED - len(oldest), others, key=_urgency_of)
    return sorted([*oldest, *shortest], key=view.order)


def _urgency_of(job: Waiting) -> tuple[float, int]:
    run = max(SHORTEST, run_of(job) or UNKNOWN_RUN)
    amount = sum(shape.amount or shape.cpus for shape in job.shapes)
    return run * run * amount, job.seq


def _heads(view: View, jobs: list[Waiting]) -> tuple[Waiting, ...]:
    order = view.memory.order if view.memory is not None else ()
    known = {job.job_id: job for job in jobs}
    planned = [known[job_id] for job_id in order if job_id in known]
    return firsts(view, [*planned, *jobs])


class Plan:
    def __init__(self, view: View, jobs: list[Waiting], memory: Memory) -> None:
        self.view, self.memory = view, memory
        now = view.now
        pool = Pool(view.snapshot, view.room, view.only, [view.shapes(job) for job in jobs])
        amounts = [pool.amounts(view.shapes(job)) for job in jobs]
        scarce = pool.scarce(amounts) or [_main(pool, amounts)]
        releases = coarse(pool.releases, RELEASES)
        self.line = profile(now, pool.free, releases, scarce)
        whole = max(1, pool.total[scarce[0]])
        self.jobs = jobs
        self.needs: list[Amounts] = [pick(amount, scarce) for amount in amounts]
        self.runs = [run_of(job) or UNKNOWN_RUN for job in jobs]
        self.sizes = [need[0] * GRAIN / whole for need in self.needs]
        self.urgency = [
            max(SHORTEST, run) ** 2 * need[0]
            for run, need in zip(self.runs, self.needs, strict=True)
        ]
        self.whole = whole
        last = now + HORIZON  # jobs without a known end are assumed to run this long
        self.held = sorted((min(end, last), a[scarce[0]] * GRAIN / whole) for end, a in releases)
        self.free = GRAIN - sum(size for _, size in self.held)
        work = sum(run * need[0] for run, need in zip(self.runs, self.needs, strict=True))
        work += sum((end - now) * a[scarce[0]] for end, a in releases if end != inf)
        self.backlog = max(memory.backlog, work / whole)
        self.patience = self._patience()
        self.arrivals = learn(memory.arrivals, now, zip(jobs, self.sizes, strict=True))
        self.outlook = Outlook(self.arrivals, now, daily=self.patience != inf)
        self.random = Random(memory.passes * 1_000_003 + len(jobs))
        self.lane = memory.lane
        self.steps = 0
        self.order: list[int] = []

    def _patience(self) -> float:
        rules = self.view.rules
        if rules.max_wait is not None:
            return rules.max_wait
        times = rules.settings.get("patience", PATIENCE)
        return max(1.0, times * self.backlog) if times else inf

    # -- searching --------------------------------------------------------------------------------

    def improve(self) -> None:
        places = {job.job_id: i for i, job in enumerate(self.jobs)}
        remembered = [places[job_id] for job_id in self.memory.order if job_id in places]
        known = set(remembered)
        fresh = [i for i in range(len(self.jobs)) if i not in known]
        self.order = remembered
        for i in fresh:
            self._insert(i)
        if len(self.order) < 2:
            return
        best = self._cost(self.order, self.lane, inf)
        best = self._try_lanes(best)
        for number in range(MOVES):
            if self.steps >= BUDGET:
                return
            order = self._changed(number % 2 == 1)
            cost = self._cost(order, self.lane, best)
            if cost <= best:
                best, self.order = cost, order

    def _insert(self, i: int) -> None:
        """Inserts a new job at the cheapest of a few positions."""
        order, count = self.order, len(self.order)
        urgency = self.urgency[i]
        by_size = next((p for p, j in enumerate(order) if self.urgency[j] > urgency), count)
        if self.steps >= BUDGET or not count:
            order.insert(by_size, i)
            return
        places = {by_size, 0, count}
        places.update(int(self.random.random() * (count + 1)) for _ in range(PROBES))
        best, chosen = inf, by_size
        for place in sorted(places):
            cost = self._cost([*order[:place], i, *order[place:]], self.lane, best)
            if cost < best:
                best, chosen = cost, place
        order.insert(chosen, i)

    def _try_lanes(self, best: float) -> float:
        """Adjusts how much long jobs leave free for short ones that may arrive."""
        lane = self.lane
        others = (0, lane // 2, lane * 2) if lane else (GRAIN // 64, GRAIN // 32)
        for other in others:
            if other != lane and other <= GRAIN // 2:
                cost = self._cost(self.order, other, best)
                if cost < best:
                    best, self.lane = cost, other
        return best

    def _changed(self, swap: bool) -> list[int]:
        order = self.order[:]
        count = len(order)
        a, b = (int(self.random.random() * count) for _ in range(2))
        if swap:
            order[a], order[b] = order[b], order[a]
        else:
            order.insert(b, order.pop(a))
        return order

    def _cost(self, order: list[int], lane: int, best: float) -> float:
        """The total cost; evaluation stops as soon as it exceeds `best`."""
        line, needs, runs, jobs = self.line.copy(), self.needs, self.runs, self.jobs
        spare, long = self._lane(lane)
        patience, cost = self.patience, 0.0
        near = patience / 2
        plan: list[tuple[float, float, float]] = []
        for i in order:
            run = runs[i]
            wide = spare if run > long and needs[i][0] + spare <= self.whole else 0
            start = line.place(needs[i], run, wide)
            if start == inf:
                continue
            wait = start - jobs[i].submitted
            cost += wait / (run if run > SHORTEST else SHORTEST)
            if wait > near:
                cost += _PRICE * (wait / patience) ** _STEEP
            if cost > best:
                break
            plan.append((start, start + run, self.sizes[i]))
        self.steps += len(order)
        if cost > best:
            return cost
        plan.sort()
        return cost + self.outlook.harm(self.free, self.held, plan)

    def _lane(self, lane: int) -> tuple[int, float]:
        """How much is kept free, and above which run time this applies."""
        urgency = self.outlook.urgency[lane]
        if not lane or not urgency:
            return 0, inf
        return lane * self.whole // GRAIN, sqrt(2.0 / urgency)

    # -- doing ------------------------------------------------------------------------------------

    def carry_out(self) -> Filled:
        view, now = self.view, self.view.now
        spare, long = self._lane(self.lane)
        guard = self._node_guard()
        kept: list[Kept] = []
        left: list[int] = []
        unknown = False
        for i in self.order:
            job = self.jobs[i]
            wide = spare if self.runs[i] > long and self.needs[i][0] + spare <= self.whole else 0
            start = self.line.place(self.needs[i], self.runs[i], wide)
            if start == now and self._begin(job, guard):
                continue
            left.append(i)
            unknown = unknown or start in (now, inf)
            if start > now and view.fits(job):
                numbers: dict[str, int | float | str] = {} if start == inf else {"at": start}
                cause = Cause(CauseKind.RESERVED, Basis.ESTIMATE, numbers)
                kept.append(Kept(job.job_id, cause))
            elif guard is not None and view.fits(job):
                kept.append(Kept(job.job_id, reserved(guard)))
        if unknown:
            start_apart(view, [self.jobs[i] for i in sorted(left)])
            begun = {one.job.job_id for one in view.begun}
            left = [i for i in left if self.jobs[i].job_id not in begun]
        memory = Memory(
            order=tuple(self.jobs[i].job_id for i in left),
            lane=self.lane,
            backlog=self.backlog,
            arrivals=self.arrivals,
            passes=self.memory.passes + 1,
        )
        found = None if guard is None else guard.reservation()
        heads = firsts(view, (self.jobs[i] for i in left))
        return Filled(
            starts_of(view), heads, () if found is None else (found,), tuple(kept), memory
        )

    def _node_guard(self) -> Reserve | None:
        """Reserves nodes for the first job that fits the totals but no set of nodes."""
        view = self.view
        if len(view.room.nodes) == 1:
            return None
        for i in self.order:
            if not view.fits(self.jobs[i]):
                return Reserve(view, self.jobs[i])
        return None

    def _begin(self, job: Waiting, guard: Reserve | None) -> bool:
        view = self.view
        places = view.place(job)
        if places is None:
            return False
        if guard is not None:
            return admitted(view, (guard,), job, places) is None
        view.commit(job, places)
        return True


def _main(pool: Pool, amounts: list[Amounts]) -> int:
    """If nothing is scarce, the resource that is used most."""
    wanted = [sum(column) for column in zip(*amounts, strict=True)] or [0, 0, 0]
    shares = [w / total if total else 0.0 for w, total in zip(wanted, pool.total, strict=False)]
    return shares.index(max(shares))
