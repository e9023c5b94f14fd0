"""Attempts: begun when the scheduler says so, stopped on request, concluded with a reason."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from danlu.control import records
from danlu.control.active import Active, places_of
from danlu.control.background import Background
from danlu.control.driver import current, drive
from danlu.control.launches import task_launches
from danlu.control.ledger import ELSEWHERE
from danlu.control.outcome import Outcome
from danlu.control.rooms import Rooms, log, now
from danlu.engines.api import Unreachable
from danlu.engines.peers import ports_needed, wished_port
from danlu.sched.api import Cause, CauseKind, Start, TaskPlace
from danlu.spec.diagnose import describe
from danlu.spec.ids import uuid7
from danlu.spec.states import PLATFORM_RETRIES, Meaning, Reason, Retry, State, meaning
from danlu.store.errors import Deposed
from danlu.store.rows import AttemptRow, JobRow

ALWAYS = -2  # retries of a job that runs again also after it succeeded
SOON = 30.0
"""Seconds: an endlessly retried job that ends earlier waits a little before its next try."""


class Attempts:
    def __init__(
        self, rooms: Rooms, background: Background, gone: Callable[[Active], None]
    ) -> None:
        self.rooms = rooms
        self._background = background
        self._gone = gone  # called when a job has ended for good

    def begin(self, job: Active, start: Start) -> None:
        if self.prepare(job, start):
            self.rooms.queue.remove(job)
            self.rooms.learning.started(job.id, now())
            self.drive(job, fresh=True)

    def prepare(self, job: Active, start: Start) -> bool:
        """Takes the room for an attempt; nothing is written yet."""
        rooms = self.rooms
        try:
            places = self._places(job, start)
        except Unreachable as trouble:
            log.warning("%s cannot start yet: %s", job.row.ref, trouble)
            asyncio.get_running_loop().call_later(1.0, rooms.wake.set)
            return False
        attempt = AttemptRow(
            id=uuid7(),
            job_id=job.id,
            number=job.row.attempt + 1,
            state=State.STARTING,
            epoch=rooms.epoch,
            places=places,
            created_at=now(),
        )
        job.attempt, job.seen, job.launched = attempt, None, False
        job.row.attempt = attempt.number
        job.row.state = State.STARTING
        self.occupy(job, attempt)
        return True

    def _places(self, job: Active, start: Start) -> list[dict[str, Any]]:
        """The decision as it is stored: cards chosen, ports leased."""
        ports = self.rooms.engine.ports
        gang = len(job.shapes)
        tasks = task_launches(job, self.rooms.settings, _Masked())
        places: list[dict[str, Any]] = []
        try:
            for task, place in zip(tasks, start.places, strict=True):
                places.append(
                    {
                        "task": task.index,
                        "role": task.role,
                        "node": place.node,
                        "cards": list(place.cards),
                        "share": place.share,
                        "ports": list(
                            ports.lease(place.node, ports_needed(task, gang), wished_port(task))
                        ),
                    }
                )
        except Unreachable:
            for taken in places:
                ports.release(taken["ports"])
            raise
        return places

    def occupy(self, job: Active, attempt: AttemptRow) -> None:
        rooms = self.rooms
        rooms.attempts[attempt.id] = job
        rooms.ledger.hold(attempt.id, job.id, job.shapes, places_of(attempt))
        rooms.engine.ports.keep(
            attempt.id, [port for place in attempt.places for port in place["ports"]]
        )
        rooms.queue.count_start(job, 1)

    def vacate(self, job: Active, attempt: AttemptRow) -> None:
        rooms = self.rooms
        if rooms.attempts.pop(attempt.id, None) is None:
            return
        rooms.ledger.release(attempt.id)
        rooms.engine.ports.free(attempt.id)
        rooms.queue.count_start(job, -1)
        rooms.learning.ended(job, attempt, now())
        rooms.wake.set()

    def drive(self, job: Active, fresh: bool) -> None:
        job.driver = self._background.spawn(self._run_attempt(job, fresh))

    async def _run_attempt(self, job: Active, fresh: bool) -> None:
        attempt = current(job)
        self._arm_limit(job)
        outcome = await drive(self.rooms, job, fresh)
        if job.limit_timer is not None:
            job.limit_timer.cancel()
            job.limit_timer = None
        job.ending = True
        self.vacate(job, attempt)
        await self._conclude(job, attempt, outcome)
        with contextlib.suppress(Unreachable):
            await self.rooms.engine.forget(attempt.id)

    async def _conclude(self, job: Active, attempt: AttemptRow, outcome: Outcome) -> None:
        what = meaning(outcome.reason)
        attempt.state, attempt.reason, attempt.detail = what.state, outcome.reason, outcome.detail
        attempt.ended_at = attempt.ended_at or now()
        row = job.row
        self.rooms.ledger.release(target(attempt.id))
        if self._tries_again(attempt, row, job.spec.retries, what):
            await self._requeue(job, attempt, outcome)
            return
        row.state, row.reason, row.detail = what.state, outcome.reason, outcome.detail
        row.exit_code, row.ended_at = outcome.exit_code, now()
        actor = str((attempt.stop or {}).get("by", records.SYSTEM))
        await self.rooms.persist(records.ended(row, attempt, actor, job.take_unwritten()))
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

    async def _requeue(self, job: Active, attempt: AttemptRow, outcome: Outcome) -> None:
        row = job.row
        pause = min(60.0, 2.0 ** (row.faults - 1)) if row.faults else 0.0
        if job.spec.retries < 0 and now() - attempt.created_at < SOON:
            # What is run again for ever must not spin when it ends at once.
            pause = max(pause, min(60.0, 2.0 ** min(row.failures - 1, 6)))
        row.state = State.QUEUED
        await self.rooms.persist(records.requeued(row, attempt, now(), pause, job.take_unwritten()))
        job.attempt, job.seen, job.ending = None, None, False
        en, zh, *_ = describe(outcome.reason, outcome.detail)
        numbers: dict[str, int | float | str] = {"seconds": pause, "why_en": en, "why_zh": zh}
        cause = Cause(CauseKind.RETRY_PAUSE, numbers=numbers) if pause else None
        self.rooms.queue.add(job, cause)
        self._move_on(job, attempt)
        self.rooms.bulletin.post(job.id)
        self.rooms.wake.set()
        if pause:
            asyncio.get_running_loop().call_later(pause, self._pause_over, job)

    def _move_on(self, job: Active, attempt: AttemptRow) -> None:
        """A job that was ended to go elsewhere starts there, if that place is still free."""
        to = (attempt.stop or {}).get("to")
        if to is None or not ends_for_others(attempt):
            return
        places = tuple(TaskPlace(p["node"], tuple(p["cards"]), int(p["share"])) for p in to)
        if job.waiting is not None and self.rooms.ledger.has_room(job.shapes, places):
            self.begin(job, Start(job.id, places))

    def _pause_over(self, job: Active) -> None:
        self.rooms.queue.refresh(job)
        self.rooms.wake.set()

    async def stop(
        self,
        job: Active,
        by: str,
        why: Reason,
        grace: float | None,
        more: dict[str, Any] | None = None,
    ) -> None:
        attempt = current(job)
        patience = job.spec.grace if grace is None else grace
        stop = {"by": by, "why": why.value, "grace": patience, **(more or {})}
        before = attempt.stop
        # Who stops a job that is about to be queued again means it for good.
        attempt.stop = stop if before is None or ends_for_others(attempt) else before
        try:
            await self.rooms.store.write(records.stopping(job.row, attempt, attempt.stop, now()))
        except BaseException:
            attempt.stop = before
            raise
        if job.attempt is not attempt or job.ending:
            return
        job.row.state = State.STOPPING
        self.rooms.bulletin.post(job.id)
        if job.launched:
            # The order is on disk: should the engine not answer now, it is given again.
            self._background.spawn(self._tell_engine(attempt.id, patience))
        job.news.set()  # it may still be waiting for its image

    async def _tell_engine(self, attempt_id: str, grace: float) -> None:
        pause = 0.1
        while attempt_id in self.rooms.attempts:
            try:
                await self.rooms.engine.stop(attempt_id, grace)
                return
            except Unreachable:
                await asyncio.sleep(pause)
                pause = min(pause * 2, 5.0)

    def _arm_limit(self, job: Active) -> None:
        limit, attempt = job.spec.time_limit, current(job)
        if limit is None or attempt.stop is not None:
            return
        left = max(0.0, (attempt.started_at or now()) + limit - now())
        loop = asyncio.get_running_loop()
        job.limit_timer = loop.call_later(left, self._limit_reached, job, attempt, limit)

    def _limit_reached(self, job: Active, attempt: AttemptRow, limit: float) -> None:
        if job.attempt is not attempt or job.ending or attempt.stop is not None:
            return
        if now() < (attempt.started_at or now()) + limit:
            self._arm_limit(job)  # it started later than it was placed: the clock ran too early
            return
        self._background.spawn(self._stop_for_time(job))

    async def _stop_for_time(self, job: Active) -> None:
        pause = 0.1
        while job.attempt is not None and not job.ending:
            try:
                await self.stop(job, records.SYSTEM, Reason.TIME_LIMIT, None)
                return
            except Deposed:
                raise
            except Exception as trouble:
                log.warning("%s is over its time limit: %s", job.row.ref, trouble)
                await asyncio.sleep(pause)
                pause = min(pause * 2, 2.0)


def ends_for_others(attempt: AttemptRow) -> bool:
    """It is being stopped, but will be queued again."""
    why = (attempt.stop or {}).get("why")
    return why is not None and meaning(Reason(why)).retry is Retry.ALWAYS


def target(attempt_id: str) -> str:
    """Under which name the ledger holds the place where a job goes that is being moved."""
    return attempt_id + ELSEWHERE


class _Masked(dict[str, str]):
    """Stands for secrets where only the shape of the tasks matters."""

    def __missing__(self, key: str) -> str:
        return "***"
