"""Jobs that wait for other jobs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from danlu.control.background import Background
from danlu.control.context import Context
from danlu.control.live_job import LiveJob
from danlu.control.outcome import Outcome
from danlu.control.queue import verdict
from danlu.spec.job import Dependency
from danlu.spec.states import Reason, State
from danlu.store import jobs as job_store
from danlu.store.rows import JobRow

GiveUp = Callable[[LiveJob, Outcome], Awaitable[None]]


class Dependencies:
    def __init__(self, context: Context, background: Background, give_up: GiveUp) -> None:
        self._context = context
        self._background = background
        self._give_up = give_up
        self._unsettled: list[LiveJob] = []

    def watch(self, job: LiveJob) -> None:
        """Every dependency counts as unmet until `settle` has looked at the other job."""
        if job.spec.after:
            self._context.queue.depend(job.id, [(d, self._ref(d)) for d in job.spec.after])
            self._unsettled.append(job)

    def settle_soon(self) -> None:
        if self._unsettled:
            self._background.spawn(self.settle())

    async def adopt(self, rows: list[JobRow]) -> None:
        for row in rows:
            job = self._context.jobs.get(row.id)
            if job is not None and job.waiting is not None and job.spec.after:
                self.watch(job)
                self._context.queue.refresh(job)
        await self.settle()

    async def settle(self) -> None:
        jobs, self._unsettled = self._unsettled, []
        wanted = {d.job for job in jobs for d in job.spec.after}
        # Read before the first await: a job that ends in the meantime is removed from memory,
        # but its row shows how it ended.
        rows = {id: self._context.jobs[id].row for id in wanted if id in self._context.jobs}
        if ended := wanted - rows.keys():
            rows |= await self._context.store.read(lambda tx: job_store.get_jobs(tx, ended))
        for job in jobs:
            for dependency in job.spec.after:
                await self._consider(job, dependency, rows.get(dependency.job))
            self._context.queue.refresh(job)
        self._context.wake.set()

    def changed(self, job: LiveJob) -> None:
        """Rechecks the dependents of a job that has started or ended."""
        dependants = self._context.queue.dependants(job.id)
        if dependants:
            self._background.spawn(self._consider_all(job.row, dependants))

    async def _consider_all(self, row: JobRow, dependants: list[tuple[str, Any]]) -> None:
        for dependant, after in dependants:
            job = self._context.jobs.get(dependant)
            if job is not None:
                await self._consider(job, Dependency(row.id, after), row)
                self._context.queue.refresh(job)
        self._context.wake.set()

    async def _consider(self, job: LiveJob, dependency: Dependency, row: JobRow | None) -> None:
        met = verdict(dependency.after, row.state, row.started_at is not None) if row else False
        if met:
            self._context.queue.fulfil(job.id, dependency.job)
        elif met is False and job.waiting is not None:
            ref = row.ref if row is not None else dependency.job
            state = row.state if row is not None else State.STOPPED
            outcome = Outcome(Reason.DEPENDENCY_FAILED, {"detail": ref, "state": state})
            await self._give_up(job, outcome)

    def _ref(self, dependency: Dependency) -> str:
        job = self._context.jobs.get(dependency.job)
        return job.row.ref if job is not None else dependency.job
