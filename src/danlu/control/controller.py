"""The control loop: what is wanted against what the engine reports, and the next step.

Event-driven: a submission, an exit or a change of a node wakes it. The database is the truth; what
is held in memory is a mirror of the jobs that have not ended, built anew at every start.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from danlu.control import records
from danlu.control.active import Active, activate, shapes_of
from danlu.control.attempts import Attempts
from danlu.control.background import Background
from danlu.control.dependencies import Dependencies
from danlu.control.driver import absent, current
from danlu.control.learning import REMEMBERED
from danlu.control.outcome import Outcome
from danlu.control.overtaking import tell_of_overtaking
from danlu.control.planner import LOOKED_AT, Planner
from danlu.control.reclaiming import Reclaiming
from danlu.control.rooms import Rooms, log, now
from danlu.control.rulebook import Rulebook
from danlu.engines.api import Inventory, Observation, Unreachable
from danlu.sched.api import Policy, Snapshot
from danlu.spec.codec import from_values
from danlu.spec.defaults import Defaults
from danlu.spec.states import Reason, State, meaning
from danlu.store import attempts as attempt_store
from danlu.store import jobs as job_store
from danlu.store import rules as rule_store
from danlu.store import volumes as volume_store
from danlu.store.errors import StoreError
from danlu.store.rows import AttemptRow, JobRow
from danlu.store.tx import Tx

Write = Callable[[records.Op], Awaitable[None]]


class Controller:
    def __init__(self, rooms: Rooms, policy: Policy | None = None) -> None:
        self.rooms = rooms
        if policy is not None:
            rooms.rulebook = Rulebook(policy, rooms.settings.quotas)
        self.planner = Planner(rooms)
        self._background = Background(rooms.deposed)
        self.attempts = Attempts(rooms, self._background, self._gone)
        self.reclaiming = Reclaiming(rooms, self.attempts, self._background)
        self.dependencies = Dependencies(rooms, self._background, self._give_up)
        rooms.on_started = self.dependencies.changed
        self._cursor: str | None = None
        self.inventory = Inventory(())
        self.defaults = rooms.settings.defaults

    @property
    def policy(self) -> Policy:
        return self.planner.policy

    # -- life ---------------------------------------------------------------------------------

    async def start(self) -> None:
        """Takes the lead, learns what is there, adopts everything that runs."""
        rooms = self.rooms
        rooms.epoch = await rooms.store.lead()
        await rooms.engine.start()
        self._learn(await rooms.engine.inventory())
        observation = await rooms.engine.observe(None)
        self._cursor = observation.cursor
        rooms.volumes.take_over(await rooms.store.read(volume_store.list_volumes))
        self._place_volumes()
        rooms.rulebook.take_over(await rooms.store.read(rule_store.list_rules))
        self.rules_changed()
        rows, tries = await rooms.store.read(_active)
        await self._adopt(rows, {attempt.id: attempt for attempt in tries}, observation)
        await self.dependencies.adopt(rows)
        for loop in (self._schedule, self._observe, self._look_around, self._sweep):
            self._background.forever(loop)
        self._background.spawn(self._recall())
        rooms.wake.set()

    async def close(self) -> None:
        await self._background.close()
        await self.rooms.engine.close()

    async def _adopt(
        self, rows: list[JobRow], tries: dict[str, AttemptRow], seen: Observation
    ) -> None:
        by_job = {attempt.job_id: attempt for attempt in tries.values()}
        reports = {report.attempt_id: report for report in seen.seen}
        for row in rows:
            row.queue = self.rooms.rulebook.real_queue(row.queue)
            job = activate(row, from_values(row.spec), self.rooms.volumes.limited)
            self.rooms.jobs[row.id] = job
            attempt = by_job.get(row.id)
            if attempt is None or row.state is State.QUEUED:
                self.rooms.queue.add(job)
                continue
            job.attempt = attempt
            job.seen = reports.get(attempt.id)
            if job.seen is None and attempt.started_at is not None:
                job.seen = absent(attempt)
            self.attempts.occupy(job, attempt)
            self.attempts.drive(job, fresh=False)
        # What the engine holds and the database does not want any more has been settled before.
        for report in seen.seen:
            if report.attempt_id not in tries:
                self._background.spawn(self._discard(report.attempt_id))

    async def _recall(self) -> None:
        """What earlier jobs took: not needed to start, so nobody waits for it."""
        with contextlib.suppress(StoreError):
            rows = await self.rooms.store.read(
                lambda tx: job_store.succeeded_lately(tx, REMEMBERED)
            )
            self.rooms.learning.recall(rows)

    async def _discard(self, attempt_id: str) -> None:
        await self.rooms.engine.stop(attempt_id, 0.0)
        await self.rooms.engine.forget(attempt_id)

    # -- what people ask for ------------------------------------------------------------------

    def enqueue(self, rows: list[JobRow], jobs: list[Active]) -> None:
        """Takes over jobs that were just committed."""
        for row, job in zip(rows, jobs, strict=True):
            job.row = row
            row.spec = {}
            row.queue = self.rooms.rulebook.real_queue(row.queue)
            self.rooms.jobs[row.id] = job
            self.planner.asked(job)
            self.rooms.bulletin.post(row.id)
            if job.attempt is not None:
                self.attempts.drive(job, fresh=False)
                continue
            self.dependencies.watch(job)
            self.rooms.queue.add(job)
        self.dependencies.settle_soon()
        self.rooms.wake.set()

    def start_ahead(self, job: Active) -> bool:
        """Where nobody waits and there is room, a new job and its start share one commit."""
        row, rooms = job.row, self.rooms
        if rooms.queue.waiting or job.spec.after or row.held or row.array_id is not None:
            return False
        start = self.planner.start_of(job)
        return start is not None and self.attempts.prepare(job, start)

    def take_back(self, job: Active) -> None:
        """A start ahead whose commit did not come about."""
        if job.attempt is not None:
            self.attempts.vacate(job, job.attempt)
            job.attempt = None

    async def stop(self, job: Active, by: str, grace: float | None = None) -> None:
        """Acknowledged means: it will end, whatever happens to the server."""
        while job.ending and job.id in self.rooms.jobs:
            # Its attempt ends just now: afterwards it is gone, or waits to be tried again.
            waiter = self.rooms.bulletin.subscribe(job.id)
            await self.rooms.bulletin.wait(job.id, waiter, 1.0)
        if job.id not in self.rooms.jobs:
            return
        if job.waiting is not None:
            outcome = Outcome(Reason.STOPPED_BY_USER, {"detail": by})
            await self._end_queued(job, outcome, by, self.rooms.store.write)
            return
        await self.attempts.stop(job, by, Reason.STOPPED_BY_USER, grace)

    async def hold(self, job: Active, hold: bool, by: str) -> None:
        await self.rooms.store.write(records.held(job.row, hold, by, now()))
        job.row.held = hold
        self.rooms.queue.refresh(job)
        self.rooms.bulletin.post(job.id)
        self.rooms.wake.set()

    def snapshot(self) -> Snapshot:
        return self.planner.snapshot()

    # -- scheduling ---------------------------------------------------------------------------

    async def _schedule(self) -> None:
        rooms = self.rooms
        while True:
            await rooms.wake.wait()
            rooms.wake.clear()
            if not rooms.queue.waiting:
                continue
            begun = time.perf_counter()
            waiting = len(rooms.queue.waiting)
            decision = self.planner.decide()
            for start in decision.starts:
                job = rooms.jobs[start.job_id]
                self.attempts.begin(job, start)
                if start.overtook and job.attempt is not None:
                    self._background.spawn(tell_of_overtaking(rooms, job, start))
            self.reclaiming.carry_out(decision)
            if LOOKED_AT < len(rooms.queue.waiting) < waiting:
                rooms.wake.set()  # one pass does not look at all of a long queue
            # Requests that came in meanwhile are read before the next round; and a long queue,
            # which takes long to think about, leaves most of the time to them.
            spent = time.perf_counter() - begun
            await asyncio.sleep(spent * 9 if spent > 0.0005 else 0)

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
        self.dependencies.changed(job)
        rooms.bulletin.post(job.id)
        rooms.wake.set()

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
            self._place_volumes()
            self.defaults = _fitted(self.rooms.settings.defaults, inventory)
            self.rooms.bulletin.post("")  # of no job: nodes and cards changed
            self.rooms.wake.set()

    def volumes_changed(self) -> None:
        """Jobs that wait may now fit elsewhere."""
        rooms = self.rooms
        self._place_volumes()
        for waiting in list(rooms.queue.waiting):
            job = rooms.jobs[waiting.job_id]
            shapes = shapes_of(job.spec, rooms.volumes.limited)
            if shapes != job.shapes:
                job.shapes = shapes
                rooms.queue.refresh(job)
        rooms.wake.set()

    def rules_changed(self) -> None:
        """Queues, quotas or nodes taken out: from now on it is decided by these."""
        book = self.rooms.rulebook
        self.planner.follow(book.policy, book.quotas)
        self.rooms.ledger.drain(book.drained)
        self.rooms.bulletin.post("")
        self.rooms.wake.set()

    def _place_volumes(self) -> None:
        names = [node.name for node in self.rooms.ledger.nodes()]
        self.rooms.ledger.put_volumes(self.rooms.volumes.by_node(names))

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self.rooms.settings.sweep_every)
            with contextlib.suppress(Unreachable):
                swept = await self.rooms.engine.sweep(frozenset(self.rooms.attempts))
                if swept:
                    log.info("ended %d processes that ended tasks had left behind", swept)


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
