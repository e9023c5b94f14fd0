"""The queue: waiting jobs, their order, and what blocks them besides resources."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from operator import attrgetter

from danlu.control.live_job import LiveJob, waiting_of
from danlu.sched.api import Cause, CauseKind, Waiting
from danlu.spec.job import After, Dependency
from danlu.spec.states import State

_order = attrgetter("order")


class Queue:
    def __init__(self) -> None:
        self.waiting: list[Waiting] = []
        self.array_active: dict[str, int] = {}
        self._unmet: dict[str, dict[str, After]] = {}  # job -> the jobs it waits for
        self._dependants: dict[str, set[str]] = {}  # job -> the jobs that wait for it
        self._refs: dict[str, str] = {}
        self.expected: Callable[[LiveJob], float | None] = lambda job: None  # learned run time

    def add(self, job: LiveJob, pause: Cause | None = None) -> None:
        blocked, expected = self._blocked(job, pause), self.expected(job)
        job.waiting = waiting_of(job.row, job.spec, job.shapes, blocked, expected, job.queued_since)
        insort(self.waiting, job.waiting, key=_order)

    def remove(self, job: LiveJob) -> None:
        waiting, job.waiting = job.waiting, None
        if waiting is None:
            return
        place = bisect_left(self.waiting, waiting.order, key=_order)
        while self.waiting[place].job_id != waiting.job_id:
            place += 1
        del self.waiting[place]

    def refresh(self, job: LiveJob, pause: Cause | None = None) -> None:
        if job.waiting is not None:
            self.remove(job)
            self.add(job, pause)

    def count_start(self, job: LiveJob, change: int) -> None:
        array = job.row.array_id
        if array is not None:
            self.array_active[array] = self.array_active.get(array, 0) + change
            if not self.array_active[array]:
                del self.array_active[array]

    def depend(self, job_id: str, unmet: Iterable[tuple[Dependency, str]]) -> None:
        """`unmet`: unmet dependencies, with the reference of the other job."""
        for dependency, ref in unmet:
            self._unmet.setdefault(job_id, {})[dependency.job] = dependency.after
            self._dependants.setdefault(dependency.job, set()).add(job_id)
            self._refs[dependency.job] = ref

    def undepend(self, job_id: str) -> None:
        for other in self._unmet.pop(job_id, {}):
            dependants = self._dependants.get(other)
            if dependants is not None:
                dependants.discard(job_id)
                if not dependants:
                    del self._dependants[other]
                    self._refs.pop(other, None)

    def dependants(self, job_id: str) -> list[tuple[str, After]]:
        waiting = sorted(self._dependants.get(job_id, ()))
        return [(dependant, self._unmet[dependant][job_id]) for dependant in waiting]

    def fulfil(self, job_id: str, other: str) -> bool:
        """Marks the dependency on `other` as met; returns whether none is left."""
        unmet = self._unmet.get(job_id, {})
        unmet.pop(other, None)
        if not unmet:
            self._unmet.pop(job_id, None)
        dependants = self._dependants.get(other)
        if dependants is not None:
            dependants.discard(job_id)
            if not dependants:
                del self._dependants[other]
                self._refs.pop(other, None)
        return not unmet

    def _blocked(self, job: LiveJob, pause: Cause | None) -> Cause | None:
        if job.row.held:
            return Cause(CauseKind.HELD)
        if job.editing:
            return Cause(CauseKind.EDITING)
        unmet = self._unmet.get(job.id)
        if unmet:
            other, after = next(iter(unmet.items()))
            ref = self._refs.get(other, other)
            return dependency_cause(ref, Dependency(other, after), len(unmet) - 1)
        return pause


def dependency_cause(ref: str, dependency: Dependency, more: int) -> Cause:
    """It waits for the job `ref` and for `more` others."""
    numbers: dict[str, int | float | str] = {
        "ref": ref,
        "when": dependency.after.value,
        "more": more,
    }
    return Cause(CauseKind.DEPENDENCY, numbers=numbers)


def verdict(after: After, state: State, started: bool) -> bool | None:
    """True: met; False: can never be met; None: not yet."""
    if after is After.STARTED:
        if started or state in (State.RUNNING, State.STOPPING, State.SUCCEEDED):
            return True
        return False if state.final else None
    if not state.final:
        return None
    if after is After.ENDED:
        return True
    return (state is State.SUCCEEDED) == (after is After.SUCCEEDED)
