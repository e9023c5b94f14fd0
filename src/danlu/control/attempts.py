"""Starts, stops and concludes attempts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from danlu.control import records
from danlu.control.background import Background
from danlu.control.backoff import Backoff
from danlu.control.context import Context, log, now
from danlu.control.driver import current, drive
from danlu.control.launches import task_launches
from danlu.control.ledger import ELSEWHERE
from danlu.control.life import Stage
from danlu.control.live_job import LiveJob
from danlu.control.outcome import Outcome
from danlu.engines.api import Unreachable
from danlu.engines.peers import ports_needed, wished_port
from danlu.sched.api import Admit, Cause, CauseKind, Start
from danlu.spec.diagnose import describe
from danlu.spec.ids import uuid7
from danlu.spec.placement import Placement
from danlu.spec.states import PLATFORM_RETRIES, Meaning, Reason, Retry, State, meaning
from danlu.store.errors import Deposed
from danlu.store.rows import AttemptRow, JobRow

Write = Callable[[records.Op], Awaitable[None]]
ALWAYS = -2  # retries of a job that is also retried after success
SOON = 30.0
"""Seconds. An endlessly retried job that ends sooner pauses before its next attempt."""


class Attempts:
    def __init__(
        self, context: Context, background: Background, gone: Callable[[LiveJob], None]
    ) -> None:
        self.context = context
        self._background = background
        self._gone = gone  # called once a job has ended for good

    def begin(self, job: LiveJob, start: Start | Admit) -> None:
        self.prepare(job, start)
        self.context.queue.remove(job)
        self.context.learning.started(job.id, now())
        self.drive(job, fresh=True)

    def prepare(self, job: LiveJob, start: Start | Admit) -> None:
        """Reserves resources for an attempt, without writing anything or leasing ports."""
        context, places = self.context, start.places if isinstance(start, Start) else ()
        attempt = AttemptRow(
            id=uuid7(),
            job_id=job.id,
            number=job.row.attempt + 1,
            state=State.QUEUED if isinstance(start, Admit) else State.STARTING,
            epoch=context.epoch,
            # An engine that places jobs itself reports the nodes later.
            places=places or tuple(Placement("", share=shape.share) for shape in job.shapes),
            created_at=now(),
            engine=context.engine_of(job).name,
            installation=context.installation,
        )
        job.attempt, job.seen, job.stage = attempt, None, Stage.PLACED
        job.unknown_since, job.handle_kept, job.pending_noted = None, False, False
        job.row.attempt = attempt.number
        job.row.state = attempt.state
        self.occupy(job, attempt)

    def take_back(self, job: LiveJob) -> None:
        """Undoes `prepare`."""
        attempt = current(job)
        self.vacate(job, attempt)
        self._background.spawn(self._free_ports(job, attempt))
        job.attempt = None
        job.row.attempt -= 1
        job.row.state = State.QUEUED

    async def lease_ports(self, job: LiveJob) -> bool:
        """For all its tasks. If no ports are left, frees the resources and returns False."""
        attempt = current(job)
        try:
            attempt.places = await self._with_ports(job, attempt)
        except Unreachable as trouble:
            if attempt.stop is not None:
                return True  # it will not need them
            log.warning("%s cannot start yet: %s", job.row.ref, trouble)
            asyncio.get_running_loop().call_later(1.0, self.context.wake.set)
            self.take_back(job)
            return False
        except BaseException:
            self.take_back(job)
            raise
        return True

    async def _with_ports(self, job: LiveJob, attempt: AttemptRow) -> tuple[Placement, ...]:
        if self._engine_places(attempt):
            return attempt.places
        ports = self.context.engine_of(job).ports
        gang = len(job.shapes)
        tasks = task_launches(job, self.context.settings, _Masked())
        places: list[Placement] = []
        for task, place in zip(tasks, attempt.places, strict=True):
            count, wished = ports_needed(task, gang), wished_port(task)
            leased = await ports.lease(attempt.id, place.node, count, wished) if count else ()
            places.append(replace(place, ports=leased) if leased else place)
        return tuple(places)

    async def _keep_ports(self, job: LiveJob, attempt: AttemptRow) -> None:
        if self._engine_places(attempt):
            return
        ports = self.context.engine_of(job).ports
        with contextlib.suppress(Unreachable):  # then its launch will tell the engine
            for place in attempt.places:
                if place.ports:
                    await ports.keep(attempt.id, place.node, place.ports)

    async def _free_ports(self, job: LiveJob, attempt: AttemptRow) -> None:
        if self._engine_places(attempt):
            return
        with contextlib.suppress(Unreachable):  # then forget() does it
            await self.context.engine_of(job).ports.free(attempt.id)

    def occupy(self, job: LiveJob, attempt: AttemptRow) -> None:
        context = self.context
        context.attempts[attempt.id] = job
        context.ledger.hold(attempt.id, job.id, job.shapes, attempt.places)
        context.queue.count_start(job, 1)

    def vacate(self, job: LiveJob, attempt: AttemptRow) -> None:
        context = self.context
        if context.attempts.pop(attempt.id, None) is None:
            return
        context.ledger.release(attempt.id)
        context.queue.count_start(job, -1)
        context.learning.ended(job, attempt, now())
        context.wake.set()

    def _engine_places(self, attempt: AttemptRow) -> bool:
        return self.context.engines.status(attempt.engine).places

    def drive(self, job: LiveJob, fresh: bool) -> None:
        job.driver = self._background.spawn(self._run_attempt(job, fresh))

    async def _run_attempt(self, job: LiveJob, fresh: bool) -> None:
        attempt = current(job)
        if not fresh:
            await self._keep_ports(job, attempt)
        elif not await self.lease_ports(job):
            self.context.queue.add(job)
            return
        outcome = await drive(self.context, job, fresh, self._arm_limit)
        if job.limit_timer is not None:
            job.limit_timer.cancel()
            job.limit_timer = None
        job.ending = True
        self.vacate(job, attempt)
        engine = self.context.engine_of(job)
        if any(place.ports for place in attempt.places):
            await self._free_ports(job, attempt)
        await self._conclude(job, attempt, outcome)
        with contextlib.suppress(Unreachable):
            await engine.forget(attempt.id, attempt.handle)

    async def _conclude(self, job: LiveJob, attempt: AttemptRow, outcome: Outcome) -> None:
        job.move(Stage.CONCLUDED)
        what = meaning(outcome.reason)
        attempt.state, attempt.reason, attempt.detail = what.state, outcome.reason, outcome.detail
        attempt.ended_at = attempt.ended_at or now()
        row = job.row
        self.context.ledger.release(target(attempt.id))
        if self._tries_again(attempt, row, job.spec.retries, what):
            await self._requeue(job, attempt, outcome)
            return
        row.state, row.reason, row.detail = what.state, outcome.reason, outcome.detail
        row.exit_code, row.ended_at = outcome.exit_code, now()
        actor = str((attempt.stop or {}).get("by", records.SYSTEM))
        await self.context.persist(records.ended(row, attempt, actor, job.take_unwritten()))
        self._gone(job)

    def _tries_again(self, attempt: AttemptRow, row: JobRow, retries: int, what: Meaning) -> bool:
        if what.retry is Retry.ALWAYS:
            return True
        if attempt.stop is not None and not ends_for_others(attempt):
            return False
        if what.retry is Retry.PLATFORM:
            row.faults += 1
            return row.faults <= PLATFORM_RETRIES
        if what.retry is Retry.BUDGET or retries < 0:
            row.faults = 0
            row.failures += 1
            endless = retries == ALWAYS or (retries < 0 and what.state is State.FAILED)
            return endless or (what.retry is Retry.BUDGET and row.failures <= retries)
        return False

    async def _requeue(self, job: LiveJob, attempt: AttemptRow, outcome: Outcome) -> None:
        row = job.row
        pause = min(60.0, 2.0 ** (row.faults - 1)) if row.faults else 0.0
        if job.spec.retries < 0 and now() - attempt.created_at < SOON:
            # An endlessly retried job that ends at once must not spin.
            pause = max(pause, min(60.0, 2.0 ** min(row.failures - 1, 6)))
        row.state = State.QUEUED
        await self.context.persist(
            records.requeued(row, attempt, now(), pause, job.take_unwritten())
        )
        job.attempt, job.seen, job.ending = None, None, False
        why = describe(outcome.reason, outcome.detail)
        numbers: dict[str, int | float | str] = {"seconds": pause, **why.values("why")}
        cause = Cause(CauseKind.RETRY_PAUSE, numbers=numbers) if pause else None
        job.remember(attempt)
        self.context.queue.add(job, cause)
        self._move_on(job, attempt)
        self.context.notifier.post(job.id)
        self.context.wake.set()
        if pause:
            asyncio.get_running_loop().call_later(pause, self._pause_over, job)

    def _move_on(self, job: LiveJob, attempt: AttemptRow) -> None:
        """Starts a moved job at its new place, if that is still free."""
        to: tuple[Placement, ...] | None = (attempt.stop or {}).get("to")
        if to is None or not ends_for_others(attempt):
            return
        if job.waiting is not None and self.context.ledger.has_room(job.shapes, to):
            self.begin(job, Start(job.id, to))

    def _pause_over(self, job: LiveJob) -> None:
        self.context.queue.refresh(job)
        self.context.wake.set()

    async def stop(
        self,
        job: LiveJob,
        by: str,
        why: Reason,
        grace: float | None,
        more: dict[str, Any] | None = None,
        write: Write | None = None,
    ) -> None:
        """`write`: what commits it, together with more."""
        attempt = current(job)
        patience = job.spec.grace if grace is None else grace
        stop = {"by": by, "why": why.value, "grace": patience, **(more or {})}
        before = attempt.stop
        # Stopping a job that is about to be requeued ends it for good.
        attempt.stop = stop if before is None or ends_for_others(attempt) else before
        try:
            write = write or self.context.store.write
            await write(records.stopping(job.row, attempt, attempt.stop, now()))
        except BaseException:
            attempt.stop = before
            raise
        if job.attempt is not attempt or job.ending:
            return
        job.row.state = State.STOPPING
        self.context.notifier.post(job.id)
        if job.with_engine:
            # The stop request is on disk, so it is sent again if the engine does not answer now.
            self._background.spawn(self._tell_engine(job, attempt, patience))
        job.news.set()  # it may still be waiting for its image

    async def _tell_engine(self, job: LiveJob, attempt: AttemptRow, grace: float) -> None:
        backoff = Backoff()
        while attempt.id in self.context.attempts:
            try:
                await self.context.engine_of(job).stop(attempt.id, grace, attempt.handle)
                return
            except Unreachable:
                await backoff.wait()

    def _arm_limit(self, job: LiveJob) -> None:
        limit, attempt = job.spec.time_limit, current(job)
        if limit is None or attempt.stop is not None:
            return
        left = max(0.0, (attempt.started_at or now()) + limit - now())
        loop = asyncio.get_running_loop()
        job.limit_timer = loop.call_later(left, self._limit_reached, job, attempt, limit)

    def limit_changed(self, job: LiveJob) -> None:
        if job.limit_timer is not None:
            job.limit_timer.cancel()
            job.limit_timer = None
        if job.attempt is not None and job.stage is Stage.RUNNING:
            self._arm_limit(job)

    def _limit_reached(self, job: LiveJob, attempt: AttemptRow, limit: float) -> None:
        if job.attempt is not attempt or job.ending or attempt.stop is not None:
            return
        if now() < (attempt.started_at or now()) + limit:
            self._arm_limit(job)  # it started after it was placed, so the timer fired too early
            return
        self._background.spawn(self._stop_for_time(job))

    async def _stop_for_time(self, job: LiveJob) -> None:
        backoff = Backoff(longest=2.0)
        while job.attempt is not None and not job.ending:
            try:
                await self.stop(job, records.SYSTEM, Reason.TIME_LIMIT, None)
                return
            except Deposed:
                raise
            except Exception as trouble:
                log.warning("%s is over its time limit: %s", job.row.ref, trouble)
                await backoff.wait()


def ends_for_others(attempt: AttemptRow) -> bool:
    """Whether it is being stopped only to be queued again."""
    why = (attempt.stop or {}).get("why")
    return why is not None and meaning(Reason(why)).retry is Retry.ALWAYS


def target(attempt_id: str) -> str:
    """The ledger key for the place a job is being moved to."""
    return attempt_id + ELSEWHERE


class _Masked(dict[str, str]):
    """Stands for secrets where only the shape of the tasks matters."""

    def __missing__(self, key: str) -> str:
        return "***"
