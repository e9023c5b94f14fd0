"""Jobs that wait for other jobs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from danlu.control.active import Active
from danlu.control.background import Background
from danlu.control.outcome import Outcome
from danlu.control.queue import verdict
from danlu.control.rooms import Rooms
from danlu.spec.job import Dependency
from danlu.spec.states import Reason, State
from danlu.store import jobs as job_store
from danlu.store.rows import JobRow
from danlu.store.tx import Tx

GiveUp = Callable[[Active, Outcome], Awaitable[None]]


class Dependencies:
    def __init__(self, rooms: Rooms, background: Background, give_up: GiveUp) -> None:
        self._rooms = rooms
        self._background = background
        self._give_up = give_up
        self._unsettled: list[Active] = []

    def watch(self, job: Active) -> None:
        """Every dependency counts as unmet until `settle` has looked at the other job."""
        if job.spec.after:
            self._rooms.queue.depend(job.id, [(d, self._ref(d)) for d in job.spec.after])
            self._unsettled.append(job)

    def settle_soon(self) -> None:
        if self._unsettled:
            self._background.spawn(self.settle())

    async def adopt(self, rows: list[JobRow]) -> None:
        for row in rows:
            job = self._rooms.jobs.get(row.id)
            if job is not None and job.waiting is not None and job.spec.after:
                self.watch(job)
                self._rooms.queue.refresh(job)
        await self.settle()

    async def settle(self) -> None:
        jobs, self._unsettled = self._unsettled, []
        wanted = {d.job for job in jobs for d in job.spec.after}
        # Taken before anything is waited for: a job that ends meanwhile is no longer found there,
        # but its row tells how it ended.
        rows = {id: self._rooms.jobs[id].row for id in wanted if id in self._rooms.jobs}
        if ended := wanted - rows.keys():
            rows |= await self._rooms.store.read(lambda tx: _rows(tx, ended))
        for job in jobs:
            for dependency in job.spec.after:
                await self._consider(job, dependency, rows.get(dependency.job))
            self._rooms.queue.refresh(job)
        self._rooms.wake.set()

    def changed(self, job: Active) -> None:
        """The job has started or ended: those who wait for it look again."""
        dependants = self._rooms.queue.dependants(job.id)
        if dependants:
            self._background.spawn(self._consider_all(job.row, dependants))

    async def _consider_all(self, row: JobRow, dependants: list[tuple[str, Any]]) -> None:
        for dependant, after in dependants:
            job = self._rooms.jobs.get(dependant)
            if job is not None:
                await self._consider(job, Dependency(row.id, after), row)
                self._rooms.queue.refresh(job)
        self._rooms.wake.set()

    async def _consider(self, job: Active, dependency: Dependency, row: JobRow | None) -> None:
        met = verdict(dependency.after, row.state, row.started_at is not None) if row else False
        if met:
            self._rooms.queue.fulfil(job.id, dependency.job)
        elif met is False and job.waiting is not None:
            ref = row.ref if row is not None else dependency.job
            state = row.state if row is not None else State.STOPPED
            outcome = Outcome(Reason.DEPENDENCY_FAILED, {"detail": ref, "state": state})
            await self._give_up(job, outcome)

    def _ref(self, dependency: Dependency) -> str:
        job = self._rooms.jobs.get(dependency.job)
        return job.row.ref if job is not None else dependency.job


def _rows(tx: Tx, ids: set[str]) -> dict[str, JobRow]:
    found = (job_store.get_job(tx, job_id) for job_id in ids)
    return {row.id: row for row in found if row is not None}
