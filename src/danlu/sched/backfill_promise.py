"""First come, first served, and nobody later than if nobody ever went before his turn.

Beside the real queue a strict one is followed in which nobody overtakes. Its start of a job is the
promise to that job. Short jobs may go first as long as every job before them still gets room by its
promise: the real queue is ahead of the strict one, and what it is ahead is given to the short.
"""

from __future__ import annotations

from math import inf

from danlu.sched.api import Basis, Cause, CauseKind, Kept, Waiting
from danlu.sched.backfill_reserve import Reserve, admitted, reserved
from danlu.sched.backfill_strict import Strict
from danlu.sched.backfill_view import Filled, View, starts_of
from danlu.sched.memory import Memory
from danlu.sched.pool import Pool
from danlu.sched.timeline import Amounts, Line, Lines, pick, profile, run_of

DEPTH = 1000  # so many jobs from the front are weighed against each other
BUDGET = 30_000  # placements tried in one pass, on paper
_NEAR = 1e-6


def fill_promised(view: View) -> Filled:
    jobs: list[Waiting] = []
    for job in view.eligible():
        if len(jobs) == DEPTH:
            break
        jobs.append(job)
    if not any(run_of(job) is not None for job in jobs):
        return _strict(view)
    if not any(view.fits(job) for job in jobs):
        # Nothing can start: whoever is new gets his promise in the pass in which something can.
        first = (job for job in jobs if view.possible(view.shapes(job), view.only))
        return Filled((), next(first, None), memory=view.memory)
    return _Pass(view, jobs).run()


def _strict(view: View) -> Filled:
    """Nobody knows how long anything takes, so nobody can go first without harm."""
    memory = view.memory
    for job in view.eligible():
        if not view.start(job) and view.possible(view.shapes(job), view.only):
            return Filled(starts_of(view), job, memory=memory)
    return Filled(starts_of(view), memory=memory)


class _Pass:
    def __init__(self, view: View, jobs: list[Waiting]) -> None:
        self.view = view
        self.jobs = [job for job in jobs if view.possible(view.shapes(job), view.only)]
        memory = view.memory or Memory()
        gangs = [view.shapes(job) for job in self.jobs]
        self.pool = Pool(view.snapshot, view.room, view.only, gangs)
        self.strict = Strict(view, self.jobs, memory, self.pool)
        self.promised = self.strict.promised
        self.steps = 0
        self.kept: dict[str, Kept] = {}
        self.guard: Reserve | None = None
        self.line: Line | Lines
        self.needs: list[Amounts] = []
        self.runs: list[float] = []
        self.waits: list[bool] = []

    def run(self) -> Filled:
        view = self.view
        scarce = self.pool.scarce(self.pool.amounts(view.shapes(job)) for job in self.jobs)
        self.guard = self._node_guard()
        if scarce:
            self._weigh(scarce)
        else:
            for job in self.jobs:
                self._try(job)
        begun = {one.job.job_id for one in view.begun}
        left = [job for job in self.jobs if job.job_id not in begun]
        head = left[0] if left else None
        found = None if self.guard is None else self.guard.reservation()
        kept = tuple(one for one in self.kept.values() if one.job_id not in begun)
        memory = Memory(self.strict.after(begun), passes=(view.memory or Memory()).passes + 1)
        return Filled(starts_of(view), head, () if found is None else (found,), kept, memory)

    def _node_guard(self) -> Reserve | None:
        """Many nodes are not one: the first job that finds no node keeps room on nodes as well."""
        view = self.view
        if len(view.room.nodes) == 1:
            return None
        for job in self.jobs:
            if not view.fits(job):
                return Reserve(view, job, self.promised[job.job_id])
        return None

    def _weigh(self, scarce: list[int]) -> None:
        pool, view = self.pool, self.view
        self.line = profile(pool.now, pool.free, pool.releases, scarce)
        self.needs = [pick(pool.amounts(view.shapes(job)), scarce) for job in self.jobs]
        self.runs = [run_of(job) or inf for job in self.jobs]
        self.waits = [True] * len(self.jobs)
        size = pool.total[scarce[0]]
        turn = sorted(
            range(len(self.jobs)),
            key=lambda i: (max(10.0, self.runs[i]) ** 2 * (self.needs[i][0] / size), i),
        )
        again = True
        while again and self.steps < BUDGET:
            again = False
            refused = 0
            for i in turn:
                if not self.waits[i] or not view.fits(self.jobs[i]):
                    continue
                if self._harmless(i) and self._try(self.jobs[i]):
                    self._started(i)
                    again = again or refused > 0
                else:
                    refused += 1
        if self.steps >= BUDGET:
            self._in_order()

    def _harmless(self, i: int) -> bool:
        """Whether all before it still get room by their promises if this one starts now."""
        line = self.line.copy()
        if not line.start(self.needs[i], self.runs[i]):
            return False
        for other in range(i):
            if not self.waits[other]:
                continue
            self.steps += 1
            if self.steps >= BUDGET:
                return False
            promise = self.promised[self.jobs[other].job_id]
            if promise == inf or line.place(self.needs[other], self.runs[other]) > promise + _NEAR:
                self._keep(i, self.jobs[other], promise)
                return False
        return True

    def _try(self, job: Waiting) -> bool:
        view, guard = self.view, self.guard
        places = view.place(job)
        if places is None:
            return False
        if guard is None or job.order < guard.job.order:
            view.commit(job, places)
        elif not admitted(view, guard, job, places):
            self.kept[job.job_id] = Kept(job.job_id, reserved(guard))
            return False
        return True

    def _started(self, i: int) -> None:
        self.waits[i] = False
        self.line.start(self.needs[i], self.runs[i])

    def _in_order(self) -> None:
        """No time left to weigh: whoever is first and fits delays nobody."""
        for i, job in enumerate(self.jobs):
            if self.waits[i]:
                if not self._try(job):
                    return
                self._started(i)

    def _keep(self, i: int, other: Waiting, promise: float) -> None:
        numbers: dict[str, int | float | str] = {"ref": other.ref}
        if promise != inf:
            numbers["at"] = promise
        job_id = self.jobs[i].job_id
        self.kept[job_id] = Kept(job_id, Cause(CauseKind.RESERVED, Basis.VERIFIED, numbers))
