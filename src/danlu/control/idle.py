"""Stops jobs with an idle limit that nobody and nothing uses, after a warning.

Used means: a connection into it, CPU or GPU time, or a busy kernel; for TensorBoard, only the
first. What cannot be measured counts as used, and a restarted server counts from its start: nobody
is stopped for what is not known.
"""

from __future__ import annotations

from asyncio import sleep
from dataclasses import dataclass

from danlu.control import records
from danlu.control.attempts import Attempts
from danlu.control.context import Context, log, now
from danlu.control.launches import shows_curves
from danlu.control.life import Stage
from danlu.control.live_job import LiveJob
from danlu.metrics.values import Kind, Subject
from danlu.spec.states import Reason
from danlu.store.errors import Deposed


@dataclass(slots=True)
class _Idle:
    attempt: str
    since: float
    warned: bool = False


class IdleWatch:
    def __init__(self, context: Context, attempts: Attempts) -> None:
        self._context = context
        self._attempts = attempts
        self._idle: dict[str, _Idle] = {}  # by job

    async def run(self) -> None:
        while True:
            await sleep(self._context.settings.sample_every)
            await self.look()

    async def look(self) -> None:
        watched = [job for job in self._context.jobs.values() if _has_limit(job)]
        gone = self._idle.keys() - {job.id for job in watched}
        for job_id in gone:
            del self._idle[job_id]
        for job in watched:
            try:
                await self._look_at(job)
            except Deposed:
                raise
            except Exception as trouble:
                log.warning("cannot tell whether %s is in use: %s", job.row.ref, trouble)

    def used(self, job_id: str) -> None:
        """Somebody said so."""
        self._idle.pop(job_id, None)

    def since(self, job: LiveJob) -> float | None:
        """Since when it is not used. None: it is, or has no limit."""
        found = self._idle.get(job.id)
        return found.since if found is not None and _has_limit(job) else None

    def stops_at(self, job: LiveJob) -> float | None:
        since, limit = self.since(job), job.spec.idle_limit
        return None if since is None or limit is None else since + limit

    async def _look_at(self, job: LiveJob) -> None:
        attempt, limit = job.attempt, job.spec.idle_limit
        if attempt is None or limit is None:
            return
        if await self._is_used(job):
            self._idle.pop(job.id, None)
            return
        idle = self._idle.get(job.id)
        if idle is None or idle.attempt != attempt.id:
            idle = self._idle[job.id] = _Idle(attempt.id, now())
        left = idle.since + limit - now()
        if not idle.warned and left <= min(self._context.settings.idle.warning, limit / 2):
            await self._warn(job, idle, limit)
        elif idle.warned and left <= 0 and job.attempt is attempt and not job.ending:
            await self._attempts.stop(job, records.SYSTEM, Reason.IDLE, None)

    async def _warn(self, job: LiveJob, idle: _Idle, limit: float) -> None:
        data = {"since": idle.since, "limit": limit}
        await self._context.store.write(records.noted(job.id, "idle", data, now()))
        idle.warned = True
        self._context.notifier.post(job.id)

    async def _is_used(self, job: LiveJob) -> bool:
        context = self._context
        settings = context.settings.idle
        if context.engines.unknown_since(job) is not None:
            return True
        if shows_curves(job.spec.roles[0]):  # which it reads again and again by itself
            return context.presence.count(job.id) > 0
        if self._is_busy(job):
            return True
        if settings.connections and context.presence.count(job.id):
            return True
        if settings.kernels and context.kernels is not None:
            return await context.kernels.busy(job)
        return False

    def _is_busy(self, job: LiveJob) -> bool:
        """By what its tasks use."""
        settings, attempt = self._context.settings.idle, job.attempt
        assert attempt is not None
        for task in range(len(job.shapes)):
            subject = Subject(Kind.TASK, job.id, task, attempt.id)
            values = self._context.sampler.latest(subject)
            if "cpu" not in values or values["cpu"] > settings.cpus:
                return True
            if values.get("gpu", 0.0) > settings.gpus:
                return True
        return False


def _has_limit(job: LiveJob) -> bool:
    running = job.stage is Stage.RUNNING and job.attempt is not None and job.attempt.stop is None
    return running and job.spec.idle_limit is not None
