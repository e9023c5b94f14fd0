"""FIFO with backfill in which no job starts later than it would without backfill.

A strict queue without overtaking is simulated beside the real one; the start of a job there is its
promise. Short jobs may go first as long as every earlier job still starts by its promise: the time
the real queue is ahead of the strict one is given to short jobs.
"""

from __future__ import annotations

from math import inf

from danlu.sched.api import (
    Basis,
    Cause,
    CauseKind,
    Kept,
    Reservation,
    Waiting,
)
from danlu.sched.backfill.apart import start_apart
from danlu.sched.backfill.pool import Pool
from danlu.sched.backfill.reserve import Reserve, admitted, reserved
from danlu.sched.backfill.slots import fill_slots, follows_nodes
from danlu.sched.backfill.strict import Summed
from danlu.sched.backfill.timeline import Amounts, Line, Lines, coarse, pick, profile, run_of
from danlu.sched.backfill.view import Filled, View, firsts, starts_of
from danlu.sched.memory import Memory
from danlu.spec.placement import Placement

DEPTH = 1000  # jobs from the front of the queue that are considered
BUDGET = 30_000  # simulated placements per pass
RELEASES = 500  # distinct end times of running jobs
_NEAR = 1e-6


def fill_promised(view: View) -> Filled:
    jobs: list[Waiting] = []
    for job in view.eligible():
        if len(jobs) == DEPTH:
            break
        jobs.append(job)
    if not any(run_of(job) is not None for job in jobs):
        return _strict(view, jobs)
    if not any(view.fits(job) for job in jobs):
        # Nothing can start, so new jobs get their promise in a later pass.
        return Filled((), firsts(view, filter(view.could, jobs)), memory=view.memory)
    return fill_slots(view, jobs) if follows_nodes(view) else _Pass(view, jobs).run()


def _strict(view: View, jobs: list[Waiting]) -> Filled:
    """Without known run times, only jobs that take nothing from others may go first."""
    memory = view.memory
    for job in view.eligible():
        if not view.start(job) and view.could(job):
            start_apart(view, jobs)
            begun = {one.job.job_id for one in view.begun}
            left = (one for one in jobs if one.job_id not in begun and view.could(one))
            return Filled(starts_of(view), firsts(view, left), memory=memory)
    return Filled(starts_of(view), memory=memory)


class _Pass:
    def __init__(self, view: View, jobs: list[Waiting]) -> None:
        self.view = view
        self.jobs = [job for job in jobs if view.could(job)]
        memory = view.memory or Memory()
        gangs = [view.shapes(job) for job in self.jobs]
        self.pool = Pool(view.snapshot, view.room, view.only, gangs)
        self.strict = Summed(view, self.jobs, memory, self.pool)
        self.promised = self.strict.promised
        self.steps = 0
        self.kept: dict[str, Kept] = {}
        self.guard: Reserve | None = None
        self.line: Line | Lines
        self.needs: list[Amounts] = []
        self.runs: list[float] = []
        self.waits: list[bool] = []
        self.overtaken = 0  # number of jobs ahead of one that has started

    def run(self) -> Filled:
        view = self.view
        scarce = self.pool.scarce(self.pool.amounts(view.shapes(job)) for job in self.jobs)
        self.guard = self._node_guard()
        if scarce:
            self._weigh(scarce)
        else:
            for job in self.jobs:
                self._try(job)
        if inf in self.promised.values():
            start_apart(view, self.jobs)
        begun = {one.job.job_id for one in view.begun}
        left = [job for job in self.jobs if job.job_id not in begun]
        head = left[0] if left else None
        kept = tuple(one for one in self.kept.values() if one.job_id not in begun)
        memory = Memory(self.strict.after(view.begun), passes=(view.memory or Memory()).passes + 1)
        reservations = self._reservations(head, kept)
        return Filled(starts_of(view), firsts(view, left), reservations, kept, memory)

    def _reservations(
        self, head: Waiting | None, kept: tuple[Kept, ...]
    ) -> tuple[Reservation, ...]:
        if self.guard is not None:
            found = self.guard.reservation()
            return () if found is None else (found,)
        nodes = self.view.room.nodes
        if head is None or not kept or len(nodes) != 1 or self.promised[head.job_id] == inf:
            return ()
        place = Placement(nodes[0].name)
        places = (place,) * len(head.shapes)
        return (Reservation(head.job_id, self.promised[head.job_id], places),)

    def _node_guard(self) -> Reserve | None:
        """Reserves nodes for the first job that fits the totals but no set of nodes."""
        view = self.view
        if len(view.room.nodes) == 1:
            return None
        for job in self.jobs:
            if not view.fits(job):
                return Reserve(view, job, self.promised[job.job_id])
        return None

    def _weigh(self, scarce: list[int]) -> None:
        pool, view = self.pool, self.view
        self.line = profile(pool.now, pool.free, coarse(pool.releases, RELEASES), scarce)
        self.needs = [pick(pool.amounts(view.shapes(job)), scarce) for job in self.jobs]
        self.runs = [run_of(job) or inf for job in self.jobs]
        self.waits = [True] * len(self.jobs)
        self.overtaken = sum(view.order(job) < self.strict.last_begun for job in self.jobs)
        size = max(1, pool.total[scarce[0]])
        turn = sorted(
            range(len(self.jobs)),
            key=lambda i: (max(10.0, self.runs[i]) ** 2 * (self.needs[i][0] / size), i),
        )
        while self._round(turn):
            pass
        self._fall_back()

    def _round(self, turn: list[int]) -> bool:
        """Returns whether another round is worthwhile."""
        again = False
        refused: dict[Amounts, tuple[float, int]] = {}
        for i in turn:
            if self.steps >= BUDGET:
                return False
            if not self.waits[i] or not self.view.fits(self.jobs[i]):
                continue
            run, place = refused.get(self.needs[i], (inf, i))
            if self.runs[i] >= run and i > place:
                # An equally large, earlier and not longer one was refused already.
                self.kept.setdefault(self.jobs[i].job_id, self._like(i, place))
            elif self._harmless(i) and self._try(self.jobs[i]):
                self._started(i)
                again = again or bool(refused)
            else:
                refused.setdefault(self.needs[i], (self.runs[i], i))
        return again

    def _like(self, i: int, other: int) -> Kept:
        job, found = self.jobs[i], self.kept.get(self.jobs[other].job_id)
        return Kept(job.job_id, Cause(CauseKind.RESERVED) if found is None else found.cause)

    def _harmless(self, i: int) -> bool:
        """Whether all earlier jobs can still start as promised if this one starts now.

        So do those behind it, as long as nobody who came later holds room: they are owed no more
        than those before them leave. Whoever has been overtaken is looked at again.
        """
        line = self.line.copy()
        step = 1 + len(line.times) * len(self.needs[i]) // 50  # long timelines are slow
        self.steps += step
        if not line.start(self.needs[i], self.runs[i]):
            return False
        for other in range(max(i, self.overtaken)):
            if not self.waits[other] or other == i:
                continue
            self.steps += step
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
        if guard is None or view.order(job) < view.order(guard.job):
            view.commit(job, places)
        elif admitted(view, (guard,), job, places) is not None:
            self.kept[job.job_id] = Kept(job.job_id, reserved(guard))
            return False
        return True

    def _started(self, i: int) -> None:
        self.waits[i] = False
        self.overtaken = max(self.overtaken, i)
        self.line.start(self.needs[i], self.runs[i])

    def _fall_back(self) -> None:
        """Keeps the promises: in order, each job as early as the ones before it allow.

        Whoever starts now in this plan has to, whatever was tried before and however much time
        that took: the plan keeps everybody's promise only if it is followed.
        """
        plan = self.line.copy()
        for i, job in enumerate(self.jobs):
            if not self.waits[i]:
                continue
            start = plan.place(self.needs[i], self.runs[i])
            if start == self.view.now and self._try(job):
                self._started(i)
            elif start == inf:
                return  # its start is unknown, so no later job may overtake it

    def _keep(self, i: int, other: Waiting, promise: float) -> None:
        numbers: dict[str, int | float | str] = {"ref": other.ref}
        if promise != inf:
            numbers["at"] = promise
        job_id = self.jobs[i].job_id
        self.kept[job_id] = Kept(job_id, Cause(CauseKind.RESERVED, Basis.VERIFIED, numbers))
