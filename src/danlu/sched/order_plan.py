"""Short jobs first, and nobody forgotten: a plan for the whole queue, improved at every event.

The plan is an order of the waiting jobs; each gets the earliest room that those before it leave.
It costs what everybody waits, in times of his own run time; a steep price on waits that come near
the longest backlog there was, so that nobody starves; and the harm to those who are still to come.
A new job is put where it costs least, then a few changes are tried; what is better is kept.
"""

from __future__ import annotations

from math import inf, sqrt
from random import Random

from danlu.sched.api import Basis, Cause, CauseKind, Kept, Waiting
from danlu.sched.backfill_reserve import Reserve, admitted, reserved
from danlu.sched.backfill_view import Filled, View, starts_of
from danlu.sched.memory import Memory
from danlu.sched.order_arrivals import GRAIN, HORIZON, SHORTEST, Outlook, learn
from danlu.sched.pool import Pool
from danlu.sched.timeline import Amounts, pick, profile, run_of

LOOKED_AT = 1000  # so many jobs from the front can get into the plan
DEPTH = 200  # so many jobs are planned; those behind them wait for their turn in the plan
MOVES = 10  # changes tried at every event, while the queue is short
PROBES = 4  # places tried at random for a new job
BUDGET = 3000  # placements tried in one pass, on paper
UNKNOWN_RUN = 86_400.0
PATIENCE = 0.95  # the longest wait aimed at, in times of the longest backlog so far
_STEEP, _PRICE = 16, 1000.0


def fill_planned(view: View) -> Filled:
    memory = view.memory or Memory()
    jobs: list[Waiting] = []
    for job in view.eligible():
        if len(jobs) == LOOKED_AT:
            break
        if view.possible(view.shapes(job), view.only):
            jobs.append(job)
    plan = Plan(view, jobs, memory)
    plan.improve()
    return plan.carry_out()


class Plan:
    def __init__(self, view: View, jobs: list[Waiting], memory: Memory) -> None:
        self.view, self.memory = view, memory
        now = view.now
        pool = Pool(view.snapshot, view.room, view.only, [view.shapes(job) for job in jobs])
        amounts = [pool.amounts(view.shapes(job)) for job in jobs]
        scarce = pool.scarce(amounts) or [_main(pool, amounts)]
        self.line = profile(now, pool.free, pool.releases, scarce)
        whole = max(1, pool.total[scarce[0]])
        self.jobs = jobs
        self.needs: list[Amounts] = [pick(amount, scarce) for amount in amounts]
        self.runs = [run_of(job) or UNKNOWN_RUN for job in jobs]
        self.sizes = [_size(need[0], whole) for need in self.needs]
        self.whole = whole
        last = now + HORIZON  # what has no known end is expected to be there so long
        self.held = sorted(
            (min(end, last), _size(pick(a, scarce)[0], whole)) for end, a in pool.releases
        )
        self.free = GRAIN - sum(size for _, size in self.held)
        work = sum(run * need[0] for run, need in zip(self.runs, self.needs, strict=True))
        work += sum((end - now) * pick(a, scarce)[0] for end, a in pool.releases if end != inf)
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
        """Puts a new job where it costs least, of a few places."""
        order, count = self.order, len(self.order)
        urgency = self._urgency(i)
        by_size = next((p for p, j in enumerate(order) if self._urgency(j) > urgency), count)
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

    def _urgency(self, i: int) -> float:
        return max(SHORTEST, self.runs[i]) ** 2 * self.needs[i][0]

    def _try_lanes(self, best: float) -> float:
        """What long jobs leave free for the short ones that are still to come."""
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
        count = min(len(order), DEPTH)
        a, b = (int(self.random.random() * count) for _ in range(2))
        if swap:
            order[a], order[b] = order[b], order[a]
        else:
            order.insert(b, order.pop(a))
        return order

    def _cost(self, order: list[int], lane: int, best: float) -> float:
        """Of everything, or anything above `best` as soon as it is above it."""
        line, needs, runs, jobs = self.line.copy(), self.needs, self.runs, self.jobs
        spare, long = self._lane(lane)
        patience, cost = self.patience, 0.0
        near = patience / 2
        plan: list[tuple[float, float, int]] = []
        for i in order[:DEPTH]:
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
        self.steps += len(plan)
        if cost > best:
            return cost
        plan.sort()
        return cost + self.outlook.harm(self.free, self.held, plan)

    def _lane(self, lane: int) -> tuple[int, float]:
        """How much is kept free, and for jobs longer than what."""
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
        for place, i in enumerate(self.order):
            job = self.jobs[i]
            if place >= DEPTH:
                left.append(i)
                continue
            wide = spare if self.runs[i] > long and self.needs[i][0] + spare <= self.whole else 0
            start = self.line.place(self.needs[i], self.runs[i], wide)
            if start == now and self._begin(job, guard):
                continue
            left.append(i)
            if start > now and view.fits(job):
                numbers: dict[str, int | float | str] = {} if start == inf else {"at": start}
                cause = Cause(CauseKind.RESERVED, Basis.ESTIMATE, numbers)
                kept.append(Kept(job.job_id, cause))
            elif guard is not None and view.fits(job):
                kept.append(Kept(job.job_id, reserved(guard)))
        head = self.jobs[left[0]] if left else None
        memory = Memory(
            order=tuple(self.jobs[i].job_id for i in left),
            lane=self.lane,
            backlog=self.backlog,
            arrivals=self.arrivals,
            passes=self.memory.passes + 1,
        )
        found = None if guard is None else guard.reservation()
        return Filled(starts_of(view), head, () if found is None else (found,), tuple(kept), memory)

    def _node_guard(self) -> Reserve | None:
        """The first of the plan that finds no node, though the sum would do, keeps its room."""
        view = self.view
        if len(view.room.nodes) == 1:
            return None
        for i in self.order[:DEPTH]:
            if not view.fits(self.jobs[i]):
                return Reserve(view, self.jobs[i])
        return None

    def _begin(self, job: Waiting, guard: Reserve | None) -> bool:
        view = self.view
        places = view.place(job)
        if places is None:
            return False
        if guard is not None:
            return admitted(view, guard, job, places)
        view.commit(job, places)
        return True


def _main(pool: Pool, amounts: list[Amounts]) -> int:
    """Nothing is scarce: count what is used most."""
    wanted = [sum(column) for column in zip(*amounts, strict=True)] or [0, 0, 0]
    shares = [w / total if total else 0.0 for w, total in zip(wanted, pool.total, strict=False)]
    return shares.index(max(shares))


def _size(amount: int, whole: int) -> int:
    return min(GRAIN, -(-amount * GRAIN // whole))
