"""The control loop: compares the desired state with what engines report, and acts.

It is event-driven: a submission, an exit or a node change wakes it. The database is the source of
truth; memory holds a mirror of the jobs that have not ended, rebuilt at every start.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from danlu.control import records
from danlu.control.attempts import Attempts, Write
from danlu.control.background import Background
from danlu.control.bundles import BundleCare
from danlu.control.context import Context, now
from danlu.control.dependencies import Dependencies
from danlu.control.disk_cleaning import DiskCleaning
from danlu.control.disk_levels import DiskLevels
from danlu.control.disk_uses import DiskUses
from danlu.control.disk_writers import DiskWriters
from danlu.control.engine_watch import EngineWatch
from danlu.control.idle import IdleWatch
from danlu.control.learning import REMEMBERED
from danlu.control.life import Stage
from danlu.control.live_job import LiveJob, activate, shapes_of
from danlu.control.outcome import Outcome
from danlu.control.overtaking import tell_of_overtaking
from danlu.control.planner import LOOKED_AT, Planner
from danlu.control.reclaiming import Reclaiming
from danlu.control.rulebook import Rulebook
from danlu.control.staging import Staging
from danlu.engines.api import NodeInfo
from danlu.sched.api import Policy, Snapshot
from danlu.spec.codec import from_values
from danlu.spec.defaults import Defaults
from danlu.spec.states import Reason, State, meaning
from danlu.store import attempts as attempt_store
from danlu.store import datasets as dataset_store
from danlu.store import environments as environment_store
from danlu.store import jobs as job_store
from danlu.store import rules as rule_store
from danlu.store import volumes as volume_store
from danlu.store.errors import StoreError
from danlu.store.rows import AttemptRow, JobRow
from danlu.store.tx import Tx


class Controller:
    def __init__(self, context: Context, policy: Policy | None = None) -> None:
        self.context = context
        if policy is not None:
            context.rulebook = Rulebook(policy, context.settings.quotas)
        self.planner = Planner(context)
        self._background = Background(context.deposed)
        self.attempts = Attempts(context, self._background, self._gone)
        self.idle = IdleWatch(context, self.attempts)
        self.reclaiming = Reclaiming(context, self.attempts, self._background)
        self.dependencies = Dependencies(context, self._background, self._give_up)
        context.on_started = self.dependencies.changed
        context.on_data_changed = self.volumes_changed
        self.staging = Staging(context)
        self.disk_writers = DiskWriters(context)
        self.bundle_care = BundleCare(context)
        self.disk_levels = DiskLevels(context)
        self.disk_uses = DiskUses(context, self.disk_levels)
        self.disk_levels.uses = self.disk_uses.of_disks
        self.disk_cleaning = DiskCleaning(context, self.disk_levels, self.bundle_care)
        self.defaults = context.settings.defaults
        self.watches = [
            EngineWatch(context, status, self._background, self._engines_changed)
            for status in context.engines
        ]

    @property
    def policy(self) -> Policy:
        return self.planner.policy

    # -- life ---------------------------------------------------------------------------------

    async def start(self) -> None:
        """Becomes leader, loads the jobs and adopts running attempts."""
        context = self.context
        context.epoch = await context.store.lead()
        context.installation = await context.store.installation()
        await asyncio.gather(*(watch.begin() for watch in self.watches))
        context.volumes.take_over(await context.store.read(volume_store.list_volumes))
        context.datasets.take_over(
            await context.store.read(dataset_store.every),
            await context.store.read(dataset_store.copies),
        )
        self._place_volumes()
        context.rulebook.take_over(await context.store.read(rule_store.list_rules))
        self.rules_changed()
        context.shares.take_over(await context.store.read(environment_store.every))
        rows, found, earlier = await context.store.read(_active)
        tries = {attempt.id: attempt for attempt in found}
        self._adopt(rows, tries, earlier)
        for watch in self.watches:
            await watch.take_over(tries)
        await self.dependencies.adopt(rows)
        self._background.forever(self._schedule)
        self._background.forever(context.sampler.run)
        self._background.forever(context.disks.run)
        self._background.forever(self.disk_writers.run)
        self._background.forever(self.bundle_care.run)
        self._background.forever(self.disk_levels.run)
        self._background.forever(self.disk_uses.run)
        self._background.forever(self.disk_cleaning.run)
        self._background.forever(self.idle.run)
        for watch in self.watches:
            watch.follow()
        self._background.spawn(self._recall())
        context.wake.set()

    async def close(self) -> None:
        await self._background.close()
        await self.context.sampler.close()
        for watch in self.watches:
            await watch.close()
        self.context.workers.close()

    def _adopt(
        self, rows: list[JobRow], tries: dict[str, AttemptRow], earlier: list[AttemptRow]
    ) -> None:
        """An attempt's state is unknown until its engine reports it."""
        by_job = {attempt.job_id: attempt for attempt in tries.values()}
        arrays: dict[str, tuple[dict[str, Any], LiveJob]] = {}
        ended: dict[str, list[AttemptRow]] = {}
        for attempt in earlier:
            ended.setdefault(attempt.job_id, []).append(attempt)
        for row in rows:
            row.queue = self.context.rulebook.real_queue(row.queue)
            values = row.spec
            shared, kin = arrays.get(row.array_id or "", (None, None))
            if shared is not values:
                kin = None
            spec = from_values(values) if kin is None else kin.spec
            job = activate(row, spec, self.context.volumes.limited, kin, self.context.datasets)
            if row.array_id is not None:
                arrays.setdefault(row.array_id, (values, job))
            self.context.jobs[row.id] = job
            for past in ended.get(row.id, ()):
                job.remember(past)
            current = by_job.get(row.id)
            if current is None:
                self.context.queue.add(job)
                continue
            job.attempt = current
            job.handle_kept = bool(current.handle)
            job.pending_noted = job.handle_kept and current.state is State.QUEUED
            if current.started_at is not None:
                job.move(Stage.RUNNING)
            elif current.handle:
                job.move(Stage.LAUNCHED)
            self.attempts.occupy(job, current)
            self.attempts.drive(job, fresh=False)

    async def _recall(self) -> None:
        """Learns from past jobs in the background, since startup does not need it."""
        with contextlib.suppress(StoreError):
            rows = await self.context.store.read(
                lambda tx: job_store.succeeded_lately(tx, REMEMBERED)
            )
            for shapes in self.context.learning.recall(rows):
                self.planner.asked(shapes)

    # -- what people ask for ------------------------------------------------------------------

    def enqueue(self, rows: list[JobRow], jobs: list[LiveJob]) -> None:
        """Adds jobs that were just committed."""
        for row, job in zip(rows, jobs, strict=True):
            job.row = row
            row.spec = {}
            row.queue = self.context.rulebook.real_queue(row.queue)
            self.context.jobs[row.id] = job
            self.planner.asked(job.shapes)
            self.context.notifier.post(row.id)
            if job.attempt is not None:
                self.attempts.drive(job, fresh=False)
                continue
            self.dependencies.watch(job)
            self.context.queue.add(job)
        self.dependencies.settle_soon()
        self.context.wake.set()

    async def start_ahead(self, job: LiveJob) -> bool:
        """If the queue is empty and there is room, a new job and its start share one commit."""
        row, context = job.row, self.context
        waits = bool(context.queue.waiting) and not job.spec.login
        if waits or job.spec.after or row.held or row.array_id is not None:
            return False
        start = self.planner.start_of(job)
        if start is None:
            return False
        self.attempts.prepare(job, start)
        return await self.attempts.lease_ports(job)

    def take_back(self, job: LiveJob) -> None:
        """Undoes a start whose commit failed."""
        if job.attempt is not None:
            self.attempts.take_back(job)

    async def stop(
        self, job: LiveJob, by: str, grace: float | None = None, write: Write | None = None
    ) -> None:
        """Once acknowledged, the job will stop even if the server crashes.

        `write`: what commits the stop, together with more. It is not called if the job is over.
        """
        write = write or self.context.store.write
        while job.ending and job.id in self.context.jobs:
            # Its attempt is just ending; afterwards the job is gone or waiting for a retry.
            waiter = self.context.notifier.subscribe(job.id)
            await self.context.notifier.wait(job.id, waiter, 1.0)
        if job.id not in self.context.jobs:
            return
        if job.waiting is not None:
            outcome = Outcome(Reason.STOPPED_BY_USER, {"detail": by})
            await self._end_queued(job, outcome, by, write)
            return
        await self.attempts.stop(job, by, Reason.STOPPED_BY_USER, grace, write=write)

    async def hold(self, job: LiveJob, hold: bool, by: str) -> None:
        await self.context.store.write(records.held(job.row, hold, by, now()))
        job.row.held = hold
        self.context.queue.refresh(job)
        self.context.notifier.post(job.id)
        self.context.wake.set()

    def snapshot(self) -> Snapshot:
        return self.planner.snapshot()

    # -- scheduling ---------------------------------------------------------------------------

    async def _schedule(self) -> None:
        context = self.context
        while True:
            await context.wake.wait()
            context.wake.clear()
            if not context.queue.waiting:
                continue
            begun = time.perf_counter()
            waiting = len(context.queue.waiting)
            decision = self.planner.decide()
            for admit in decision.admits:
                self.attempts.begin(context.jobs[admit.job_id], admit)
            for start in decision.starts:
                job = context.jobs[start.job_id]
                self.attempts.begin(job, start)
                if start.overtook and job.attempt is not None:
                    self._background.spawn(tell_of_overtaking(context, job, start))
            self.reclaiming.carry_out(decision)
            if LOOKED_AT < len(context.queue.waiting) < waiting:
                context.wake.set()  # one pass covers only part of a long queue
            # Handle incoming requests before the next round. A long queue takes long to
            # plan, so most of the time is left to them.
            spent = time.perf_counter() - begun
            await asyncio.sleep(spent * 9 if spent > 0.0005 else 0)

    async def _give_up(self, job: LiveJob, outcome: Outcome) -> None:
        """Ends a job whose dependency can no longer be met."""
        await self._end_queued(job, outcome, records.SYSTEM, self.context.persist)

    async def _end_queued(self, job: LiveJob, outcome: Outcome, by: str, write: Write) -> None:
        """Ends a job that has not started or is waiting for a retry."""
        context, row = self.context, job.row
        context.queue.remove(job)
        job.ending = True
        before = (row.state, row.reason, row.detail, row.ended_at)
        row.state, row.reason = meaning(outcome.reason).state, outcome.reason
        row.detail, row.ended_at = outcome.detail, now()
        try:
            await write(records.ended(row, None, by))
        except BaseException:
            row.state, row.reason, row.detail, row.ended_at = before
            job.ending = False
            context.queue.add(job)
            raise
        self._gone(job)

    def _gone(self, job: LiveJob) -> None:
        context = self.context
        context.jobs.remove(job.id)
        context.queue.undepend(job.id)
        self.dependencies.changed(job)
        context.notifier.post(job.id)
        context.wake.set()

    # -- the engines' news --------------------------------------------------------------------

    def _engines_changed(self) -> None:
        """Nodes, GPUs or an engine appeared or disappeared."""
        self._place_volumes()
        self.defaults = _fitted(self.context.settings.defaults, self.context.ledger.nodes())
        self.planner.engines_changed()
        self.context.notifier.post("")  # no job id: nodes or GPUs changed
        self.context.wake.set()

    def volumes_changed(self) -> None:
        """Jobs that wait may now fit elsewhere."""
        context = self.context
        self._place_volumes()
        for waiting in list(context.queue.waiting):
            job = context.jobs[waiting.job_id]
            shapes = shapes_of(job.spec, context.volumes.limited, context.datasets)
            if shapes != job.shapes:
                job.shapes = shapes
                context.queue.refresh(job)
        context.wake.set()

    def rules_changed(self) -> None:
        """Applies changed queues, quotas or drained nodes from now on."""
        book = self.context.rulebook
        self.planner.follow(book.policy, book.quotas)
        self.context.ledger.drain(book.drained)
        self.context.notifier.post("")
        self.context.wake.set()

    def _place_volumes(self) -> None:
        names = [node.name for node in self.context.ledger.nodes()]
        self.context.ledger.put_volumes(self.context.volumes.by_node(names))


def _fitted(defaults: Defaults, nodes: Sequence[NodeInfo]) -> Defaults:
    """Defaults must fit the existing nodes."""
    return replace(
        defaults,
        node_gpus=max((len(node.gpus) for node in nodes), default=0) or None,
        node_cpus=max((node.cpus for node in nodes), default=0) or None,
        node_memory=max((node.memory for node in nodes), default=0) or None,
    )


def _active(tx: Tx) -> tuple[list[JobRow], list[AttemptRow], list[AttemptRow]]:
    return (
        job_store.active_jobs(tx),
        attempt_store.active_attempts(tx),
        attempt_store.earlier_attempts(tx),
    )
