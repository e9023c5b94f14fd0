"""The control loop: what is wanted against what the engine reports, and the next step.

Event-driven: a submission, an exit or a change of a node wakes it. The database is the truth; what
is held in memory is a mirror of the jobs that have not ended, built anew at every start.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any

from danlu.control import records
from danlu.control.active import Active, activate, places_of
from danlu.control.dependencies import Dependencies
from danlu.control.driver import absent, current, drive
from danlu.control.launches import task_launches
from danlu.control.outcome import Outcome
from danlu.control.rooms import Rooms, log, now
from danlu.engines.api import Inventory, Observation, Unreachable
from danlu.engines.peers import ports_needed
from danlu.sched.api import Cause, CauseKind, Policy, Running, Snapshot, Start
from danlu.sched.decide import decide
from danlu.spec.codec import from_values
from danlu.spec.defaults import Defaults
from danlu.spec.diagnose import describe
from danlu.spec.ids import uuid7
from danlu.spec.states import PLATFORM_RETRIES, Reason, Retry, State, meaning
from danlu.store import attempts as attempt_store
from danlu.store import jobs as job_store
from danlu.store.errors import Deposed
from danlu.store.rows import AttemptRow, JobRow
from danlu.store.tx import Tx

Write = Callable[[records.Op], Awaitable[None]]


class Controller:
    def __init__(self, rooms: Rooms, policy: Policy | None = None) -> None:
        self.rooms = rooms
        self.policy = policy or Policy()
        self.dependencies = Dependencies(rooms, self._give_up)
        rooms.on_started = lambda job: self.dependencies.changed(job, self._spawn)
        self._background: set[asyncio.Task[Any]] = set()
        self._cursor: str | None = None
        self.inventory = Inventory(())
        self.defaults = rooms.settings.defaults

    # -- life ---------------------------------------------------------------------------------

    async def start(self) -> None:
        """Takes the lead, learns what is there, adopts everything that runs."""
        rooms = self.rooms
        rooms.epoch = await rooms.store.lead()
        await rooms.engine.start()
        self._learn(await rooms.engine.inventory())
        observation = await rooms.engine.observe(None)
        self._cursor = observation.cursor
        rows, tries = await rooms.store.read(_active)
        await self._adopt(rows, {attempt.id: attempt for attempt in tries}, observation)
        await self.dependencies.adopt(rows)
        for loop in (self._schedule, self._observe, self._look_around, self._sweep):
            self._spawn(_forever(loop))
        rooms.wake.set()

    async def close(self) -> None:
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self.rooms.engine.close()

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._ended_task)
        return task

    def _ended_task(self, task: asyncio.Task[Any]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            if isinstance(error, Deposed):
                self.rooms.deposed.set()
            else:
                log.error("a part of the control loop failed", exc_info=error)

    async def _adopt(
        self, rows: list[JobRow], tries: dict[str, AttemptRow], seen: Observation
    ) -> None:
        by_job = {attempt.job_id: attempt for attempt in tries.values()}
        reports = {report.attempt_id: report for report in seen.seen}
        for row in rows:
            job = activate(row, from_values(row.spec))
            self.rooms.jobs[row.id] = job
            attempt = by_job.get(row.id)
            if attempt is None or row.state is State.QUEUED:
                self.rooms.queue.add(job)
                continue
            job.attempt = attempt
            job.seen = reports.get(attempt.id)
            if job.seen is None and attempt.started_at is not None:
                job.seen = absent(attempt)
            self._occupy(job, attempt)
            self._drive(job, fresh=False)
        # What the engine holds and the database does not want any more has been settled before.
        for report in seen.seen:
            if report.attempt_id not in tries:
                self._spawn(self._discard(report.attempt_id))

    async def _discard(self, attempt_id: str) -> None:
        await self.rooms.engine.stop(attempt_id, 0.0)
        await self.rooms.engine.forget(attempt_id)

    # -- what people ask for ------------------------------------------------------------------

    def enqueue(self, rows: list[JobRow], jobs: list[Active]) -> None:
        """Takes over jobs that were just committed."""
        for row, job in zip(rows, jobs, strict=True):
            job.row = row
            row.spec = {}
            self.rooms.jobs[row.id] = job
            self.dependencies.watch(job)
            self.rooms.queue.add(job)
        self.dependencies.settle_soon(self._spawn)
        self.rooms.wake.set()

    async def stop(self, job: Active, by: str, grace: float | None = None) -> None:
        """Acknowledged means: it will end, whatever happens to the server."""
        if job.ending:
            return
        if job.waiting is not None:
            outcome = Outcome(Reason.STOPPED_BY_USER, {"detail": by})
            await self._end_queued(job, outcome, by, self.rooms.store.write)
            return
        await self._stop_attempt(job, by, Reason.STOPPED_BY_USER, grace)

    async def hold(self, job: Active, hold: bool, by: str) -> None:
        await self.rooms.store.write(records.held(job.row, hold, by, now()))
        job.row.held = hold
        self.rooms.queue.refresh(job)
        self.rooms.bulletin.post(job.id)
        self.rooms.wake.set()

    def snapshot(self) -> Snapshot:
        rooms = self.rooms
        running = [_running(job) for job in rooms.attempts.values()]
        return Snapshot(
            now(),
            rooms.ledger.states(),
            list(rooms.queue.waiting),
            running,
            dict(rooms.queue.array_active),
        )

    # -- scheduling ---------------------------------------------------------------------------

    async def _schedule(self) -> None:
        rooms = self.rooms
        while True:
            await rooms.wake.wait()
            rooms.wake.clear()
            if not rooms.queue.waiting:
                continue
            snapshot = Snapshot(
                now(),
                rooms.ledger.states(),
                rooms.queue.waiting,
                (),
                rooms.queue.array_active,
            )
            for start in decide(snapshot, self.policy).starts:
                self._begin(rooms.jobs[start.job_id], start)
            # Requests that came in meanwhile are read before the next round.
            await asyncio.sleep(0)

    def _begin(self, job: Active, start: Start) -> None:
        rooms = self.rooms
        try:
            places = self._places(job, start)
        except Unreachable as trouble:
            log.warning("%s cannot start yet: %s", job.row.ref, trouble)
            asyncio.get_running_loop().call_later(1.0, rooms.wake.set)
            return
        attempt = AttemptRow(
            id=uuid7(),
            job_id=job.id,
            number=job.row.attempt + 1,
            state=State.STARTING,
            epoch=rooms.epoch,
            places=places,
            created_at=now(),
        )
        rooms.queue.remove(job)
        job.attempt, job.seen, job.launched = attempt, None, False
        job.row.attempt = attempt.number
        job.row.state = State.STARTING
        self._occupy(job, attempt)
        self._drive(job, fresh=True)

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
                        "ports": list(ports.lease(place.node, ports_needed(task, gang))),
                    }
                )
        except Unreachable:
            for taken in places:
                ports.release(taken["ports"])
            raise
        return places

    def _occupy(self, job: Active, attempt: AttemptRow) -> None:
        rooms = self.rooms
        rooms.attempts[attempt.id] = job
        rooms.ledger.hold(attempt.id, job.id, job.shapes, places_of(attempt))
        rooms.engine.ports.keep(
            attempt.id, [port for place in attempt.places for port in place["ports"]]
        )
        rooms.queue.count_start(job, 1)

    def _vacate(self, job: Active, attempt: AttemptRow) -> None:
        rooms = self.rooms
        if rooms.attempts.pop(attempt.id, None) is None:
            return
        rooms.ledger.release(attempt.id)
        rooms.engine.ports.free(attempt.id)
        rooms.queue.count_start(job, -1)
        rooms.wake.set()

    # -- attempts -----------------------------------------------------------------------------

    def _drive(self, job: Active, fresh: bool) -> None:
        job.driver = self._spawn(self._run_attempt(job, fresh))

    async def _run_attempt(self, job: Active, fresh: bool) -> None:
        attempt = current(job)
        self._arm_limit(job)
        outcome = await drive(self.rooms, job, fresh)
        if job.limit_timer is not None:
            job.limit_timer.cancel()
            job.limit_timer = None
        job.ending = True
        self._vacate(job, attempt)
        await self._conclude(job, attempt, outcome)
        with contextlib.suppress(Unreachable):
            await self.rooms.engine.forget(attempt.id)

    async def _conclude(self, job: Active, attempt: AttemptRow, outcome: Outcome) -> None:
        what = meaning(outcome.reason)
        attempt.state, attempt.reason, attempt.detail = what.state, outcome.reason, outcome.detail
        attempt.ended_at = attempt.ended_at or now()
        row = job.row
        if attempt.stop is None and self._tries_again(row, job.spec.retries, what.retry):
            await self._requeue(job, attempt, outcome)
            return
        row.state, row.reason, row.detail = what.state, outcome.reason, outcome.detail
        row.exit_code, row.ended_at = outcome.exit_code, now()
        actor = str((attempt.stop or {}).get("by", records.SYSTEM))
        await self.rooms.persist(records.ended(row, attempt, actor))
        self._gone(job)

    def _tries_again(self, row: JobRow, retries: int, retry: Retry) -> bool:
        if retry is Retry.BUDGET:
            row.faults = 0
            row.failures += 1
            return row.failures <= retries
        if retry is Retry.PLATFORM:
            row.faults += 1
            return row.faults <= PLATFORM_RETRIES
        return False

    async def _requeue(self, job: Active, attempt: AttemptRow, outcome: Outcome) -> None:
        row = job.row
        pause = min(60.0, 2.0 ** (row.faults - 1)) if row.faults else 0.0
        row.state = State.QUEUED
        await self.rooms.persist(records.requeued(row, attempt, now(), pause))
        job.attempt, job.seen, job.ending = None, None, False
        en, zh, *_ = describe(outcome.reason, outcome.detail)
        numbers: dict[str, int | float | str] = {"seconds": pause, "why_en": en, "why_zh": zh}
        cause = Cause(CauseKind.RETRY_PAUSE, numbers=numbers) if pause else None
        self.rooms.queue.add(job, cause)
        self.rooms.bulletin.post(job.id)
        self.rooms.wake.set()
        if pause:
            asyncio.get_running_loop().call_later(pause, self._pause_over, job)

    def _pause_over(self, job: Active) -> None:
        self.rooms.queue.refresh(job)
        self.rooms.wake.set()

    async def _give_up(self, job: Active, outcome: Outcome) -> None:
        """What it waits for can never come."""
        await self._end_queued(job, outcome, records.SYSTEM, self.rooms.persist)

    async def _end_queued(self, job: Active, outcome: Outcome, by: str, write: Write) -> None:
        """Ends a job that never started (or waits to be tried again)."""
        rooms, row = self.rooms, job.row
        rooms.queue.remove(job)
        job.ending = True
        before = (row.state, row.reason, row.detail, row.ended_at)
        row.state, row.reason = meaning(outcome.reason).state, outcome.reason
        row.detail, row.ended_at = outcome.detail, now()
        try:
            await write(records.ended(row, None, by))
        except BaseException:
            row.state, row.reason, row.detail, row.ended_at = before
            job.ending = False
            rooms.queue.add(job)
            raise
        self._gone(job)

    def _gone(self, job: Active) -> None:
        rooms = self.rooms
        rooms.jobs.pop(job.id, None)
        rooms.queue.undepend(job.id)
        self.dependencies.changed(job, self._spawn)
        rooms.bulletin.post(job.id)
        rooms.wake.set()

    async def _stop_attempt(self, job: Active, by: str, why: Reason, grace: float | None) -> None:
        attempt = current(job)
        patience = job.spec.grace if grace is None else grace
        stop = {"by": by, "why": why.value, "grace": patience}
        before, attempt.stop = attempt.stop, attempt.stop or stop
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
            self._spawn(self._tell_engine(attempt.id, patience))

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
        job.limit_timer = loop.call_later(left, self._limit_reached, job, attempt)

    def _limit_reached(self, job: Active, attempt: AttemptRow) -> None:
        if job.attempt is attempt and not job.ending and attempt.stop is None:
            self._spawn(self._stop_for_time(job))

    async def _stop_for_time(self, job: Active) -> None:
        pause = 0.1
        while job.attempt is not None and not job.ending:
            try:
                await self._stop_attempt(job, records.SYSTEM, Reason.TIME_LIMIT, None)
                return
            except Deposed:
                raise
            except Exception as trouble:
                log.warning("%s is over its time limit: %s", job.row.ref, trouble)
                await asyncio.sleep(pause)
                pause = min(pause * 2, 2.0)

    # -- the engine's news --------------------------------------------------------------------

    async def _observe(self) -> None:
        async for _ in self.rooms.engine.changes():
            with contextlib.suppress(Unreachable):
                await self._look()

    async def _look(self) -> None:
        observation = await self.rooms.engine.observe(self._cursor)
        self._cursor = observation.cursor
        reported = set()
        for seen in observation.seen:
            reported.add(seen.attempt_id)
            job = self.rooms.attempts.get(seen.attempt_id)
            if job is not None:
                job.seen = seen
                job.news.set()
        for attempt_id in observation.scope - reported:
            job = self.rooms.attempts.get(attempt_id)
            if job is not None and job.launched:
                job.seen = absent(current(job))
                job.news.set()

    async def _look_around(self) -> None:
        """Nodes and cards come and go; and a hint that was lost is made up for."""
        while True:
            await asyncio.sleep(self.rooms.settings.inventory_every)
            with contextlib.suppress(Unreachable):
                self._learn(await self.rooms.engine.inventory())
                await self._look()

    def _learn(self, inventory: Inventory) -> None:
        self.inventory = inventory
        if self.rooms.ledger.learn(inventory):
            self.defaults = _fitted(self.rooms.settings.defaults, inventory)
            self.rooms.wake.set()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self.rooms.settings.sweep_every)
            with contextlib.suppress(Unreachable):
                swept = await self.rooms.engine.sweep(frozenset(self.rooms.attempts))
                if swept:
                    log.info("ended %d processes that ended tasks had left behind", swept)


async def _forever(loop: Callable[[], Awaitable[None]]) -> None:
    """One surprise must not end the platform: it is told, and the loop goes on."""
    while True:
        try:
            await loop()
        except Deposed:
            raise
        except Exception:
            log.exception("a part of the control loop failed; it starts again")
        await asyncio.sleep(1.0)


class _Masked(dict[str, str]):
    """Stands for secrets where only the shape of the tasks matters."""

    def __missing__(self, key: str) -> str:
        return "***"


def _fitted(defaults: Defaults, inventory: Inventory) -> Defaults:
    """What is filled in must fit the nodes there are."""
    nodes = inventory.nodes
    return replace(
        defaults,
        node_gpus=max((len(node.gpus) for node in nodes), default=0) or None,
        node_cpus=max((node.cpus for node in nodes), default=0) or None,
        node_memory=max((node.memory for node in nodes), default=0) or None,
    )


def _active(tx: Tx) -> tuple[list[JobRow], list[AttemptRow]]:
    return job_store.active_jobs(tx), attempt_store.active_attempts(tx)


def _running(job: Active) -> Running:
    attempt = current(job)
    since = attempt.started_at or attempt.created_at
    limit = job.spec.time_limit
    cards: dict[str, tuple[int, ...]] = {}
    for place in attempt.places:
        if place["cards"]:
            cards[place["node"]] = (*cards.get(place["node"], ()), *place["cards"])
    latest = since + limit if limit is not None else None
    return Running(job.id, job.row.ref, job.row.owner, since, latest, cards)
