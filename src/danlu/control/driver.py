"""One attempt, from its launch to its last commit.

Every step can be repeated: a server killed at any point resumes at the step recorded in the
database, and relies on the engine's idempotency.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from danlu.control import records
from danlu.control.backoff import Backoff
from danlu.control.context import Context, log, now
from danlu.control.launches import (
    launch_of,
    missing_volumes,
    role_of,
    secret_names,
    without_missing_datasets,
)
from danlu.control.life import Stage, stage_of, state_of
from danlu.control.live_job import LiveJob
from danlu.control.masking import mask_of
from danlu.control.outcome import (
    Outcome,
    all_ended,
    culprit,
    exit_code_of,
    lost,
    names_leased,
)
from danlu.control.own_images import as_named_here
from danlu.control.preparing import prepare
from danlu.control.ruling import ruling
from danlu.engines.api import (
    InDoubt,
    OwnRegistryImages,
    Phase,
    Placer,
    Refused,
    Seen,
    TaskRef,
    TaskSeen,
    Unreachable,
)
from danlu.spec.diagnose import diagnose
from danlu.spec.states import Reason
from danlu.spec.units import format_duration
from danlu.store import secrets as secret_store
from danlu.store.errors import StoreError
from danlu.store.rows import AttemptRow

LOG_TAIL = 64 * 1024
SHORT_TAIL = 4 * 1024  # is looked through at once
SHORT = 0.1
"""Seconds. The start and end of a shorter job share one commit."""
SETTLED = 1.0
"""Seconds. A shorter time in the engine's queue is not written: its attempt is found by its id."""


async def drive(
    context: Context, job: LiveJob, fresh: bool, runs: Callable[[LiveJob], None]
) -> Outcome:
    """Returns the outcome once every task has ended. `runs` is called when it is running."""
    attempt = current(job)
    if fresh:
        await context.persist(records.started(job.row, attempt))
        context.notifier.post(job.id)
    if not job.with_engine:
        refusal = await _hand_over(context, job, attempt)
        if refusal is not None:
            job.move(Stage.ENDED)
            return refusal
    context.notifier.post(job.id)
    if attempt.stop is not None:
        await _stop(context, job, attempt, float(attempt.stop.get("grace", job.spec.grace)))
    note: asyncio.Task[None] | None = None
    if job.stage is not Stage.RUNNING and await _begun(context, job, attempt):
        note = _note_running(context, job, attempt)
        context.notifier.post(job.id)
    if job.stage is Stage.RUNNING:
        runs(job)
    tasks = await _watch(context, job, attempt, note)
    if note is not None:
        # If it is still waiting, the start is written together with the end.
        if job.unwritten:
            note.cancel()
            context.on_started(job)  # it may be retried, but nobody needs to wait for its start
        else:
            await note
    _take_places(context, job, attempt, tasks)
    job.move(Stage.ENDED)
    return await _judge(context, job, attempt, tasks)


async def _hand_over(context: Context, job: LiveJob, attempt: AttemptRow) -> Outcome | None:
    """Returns None once the engine has it, or the outcome if it never will."""
    job.move(Stage.PREPARING)
    refusal = await prepare(context, job, attempt)
    if refusal is not None:
        return refusal
    if attempt.stop is not None and await _settle(context, job, attempt) is None:
        return _stopped(job, attempt, None)
    job.move(Stage.LAUNCHING)
    refusal = await _launch(context, job, attempt)
    if refusal is None:
        job.move(Stage.LAUNCHED)
    return refusal


def current(job: LiveJob) -> AttemptRow:
    if job.attempt is None:
        raise RuntimeError(f"{job.row.ref} has no attempt")
    return job.attempt


async def _launch(context: Context, job: LiveJob, attempt: AttemptRow) -> Outcome | None:
    """Returns None once it runs, or the outcome if it never will."""
    values: dict[str, str] = {}
    names = secret_names(job.spec)
    if names:
        found = await _secrets(context, job.row.owner, names)
        missing = sorted(name for name, value in found.items() if value is None)
        if missing:
            return Outcome(Reason.SECRET_MISSING, {"detail": ", ".join(missing)})
        values = {name: value for name, value in found.items() if value is not None}
    backoff = Backoff()
    while True:
        try:
            person = await context.identities.person(job.row.owner)
            await context.folders.ready(person)
            engine = context.engine_of(job)
            places = engine.placer is Placer.ENGINE
            among = context.engines.status(engine.name).queue_nodes(job.row.queue)
            launch = launch_of(
                job,
                attempt,
                context.settings,
                context.volumes,
                person,
                values,
                places,
                context.datasets,
                among,
            )
            # Attempts placed by a previous leader are launched by the current one.
            launch = replace(launch, epoch=context.epoch)
            if isinstance(engine, OwnRegistryImages):
                launch = as_named_here(context.own_images, launch)
            launch = await without_missing_datasets(engine, launch, job.spec.datasets)
            gone = await missing_volumes(engine, launch)
            if gone:
                return Outcome(Reason.VOLUME_MISSING, {"detail": ", ".join(gone)})
            _took(job, attempt, await engine.launch(launch, engine.plan(launch)))
            return None
        except Refused as refusal:
            return Outcome(Reason.REFUSED, {"detail": str(refusal)})
        except InDoubt:
            seen = await _settle(context, job, attempt)
            if seen is None:
                return Outcome(Reason.LAUNCH_FAILED, {"detail": "the launch was interrupted"})
            _took(job, attempt, seen)
            return None
        except (Unreachable, OSError, StoreError) as trouble:
            if attempt.stop is not None and await _settle(context, job, attempt) is None:
                return Outcome(Reason.LAUNCH_FAILED, {"detail": str(trouble)})
            log.warning("%s cannot be launched yet: %s", job.row.ref, trouble)
            await backoff.wait()


async def _secrets(context: Context, owner: str, names: set[str]) -> dict[str, str | None]:
    backoff = Backoff(longest=2.0)
    while True:
        try:
            return await context.store.read(
                lambda tx: {name: secret_store.get_secret(tx, owner, name) for name in names}
            )
        except StoreError as trouble:
            log.warning("cannot read secrets yet: %s", trouble)
            await backoff.wait()


async def _settle(context: Context, job: LiveJob, attempt: AttemptRow) -> Seen | None:
    backoff = Backoff()
    while True:
        try:
            return await context.engine_of(job).settle(attempt.id)
        except (Unreachable, InDoubt):
            await backoff.wait()


def _took(job: LiveJob, attempt: AttemptRow, seen: Seen) -> None:
    """Records that the engine has it. A report received in the meantime is newer."""
    attempt.handle = seen.handle
    if job.seen is None or job.seen.attempt_id != attempt.id:
        job.seen = seen


async def _begun(context: Context, job: LiveJob, attempt: AttemptRow) -> bool:
    """Waits while it is in the engine's queue. Returns False if it ended without running."""
    due: float | None = None  # when to write that it waits there
    changed = False
    clock = asyncio.get_running_loop().time
    while True:
        job.news.clear()
        seen = job.seen
        if seen is not None and seen.attempt_id == attempt.id:
            stage = stage_of(seen.tasks)
            if stage is Stage.ENDED:
                return False
            if stage is not job.stage:
                job.move(stage)
                if stage is Stage.RUNNING:
                    _take_places(context, job, attempt, seen.tasks)
                    return True
                changed = _take_state(context, job, attempt, seen) or changed
                due = due or clock() + (0.0 if job.handle_kept else SETTLED)
            if due is not None and clock() >= due:
                await _note_waiting(context, job, attempt, seen, changed)
                due, changed = None, False
                continue
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(due):
                await job.news.wait()


def _take_state(context: Context, job: LiveJob, attempt: AttemptRow, seen: Seen) -> bool:
    """What it does while it waits, in memory. Returns whether its state is another one."""
    attempt.handle = seen.handle or attempt.handle
    before, state = job.row.state, state_of(job.stage, attempt.stop is not None)
    attempt.state = job.row.state = state
    if state is not before:
        context.notifier.post(job.id)
    return state is not before


async def _note_waiting(
    context: Context, job: LiveJob, attempt: AttemptRow, seen: Seen, changed: bool
) -> None:
    """Persists the handle, so that a restarted server finds it with the engine."""
    words = None
    if job.stage is Stage.PENDING and not job.pending_noted:
        words = seen.tasks[0].detail
    if words is None and not changed and (job.handle_kept or not attempt.handle):
        return  # as with an engine that needs no handles: nothing new
    # A stop may have been requested since its state was taken.
    attempt.state = job.row.state = state_of(job.stage, attempt.stop is not None)
    await context.persist(records.waiting(job.row, attempt, words, now()))
    job.handle_kept = bool(attempt.handle)
    job.pending_noted = job.pending_noted or words is not None
    context.notifier.post(job.id)


def _take_places(
    context: Context, job: LiveJob, attempt: AttemptRow, tasks: tuple[TaskSeen, ...]
) -> bool:
    """Records where the engine placed it. Returns whether that is news."""
    if context.engine_of(job).placer is not Placer.ENGINE:
        return False
    places = list(attempt.places)
    for task in tasks:
        before = places[task.task]
        if task.node and not before.node:
            places[task.task] = replace(
                before, node=task.node, gpus=task.gpus or before.gpus, ports=task.ports
            )
    if tuple(places) == attempt.places:
        return False
    attempt.places = tuple(places)
    if attempt.id in context.attempts:
        context.ledger.release(attempt.id)
        context.ledger.hold(attempt.id, job.id, job.shapes, attempt.places)
    at = None if attempt.started_at is None else now()
    job.unwritten.append(records.placed_event(job.row, attempt, at))
    return True


async def _take_later_places(
    context: Context,
    job: LiveJob,
    attempt: AttemptRow,
    tasks: tuple[TaskSeen, ...],
    note: asyncio.Task[None] | None,
) -> None:
    """Records the nodes of tasks that start after the first one of their gang."""
    if all(place.node for place in attempt.places):
        return
    start_unwritten = bool(job.unwritten)
    if not _take_places(context, job, attempt, tasks):
        return
    context.notifier.post(job.id)
    if start_unwritten:
        return  # written together with the start
    news = job.take_unwritten()
    if note is not None:
        await note  # its write may still be in progress, with fewer places
    await context.persist(records.placed(attempt, news))


def _note_running(context: Context, job: LiveJob, attempt: AttemptRow) -> asyncio.Task[None]:
    tasks = job.seen.tasks if job.seen is not None else ()
    at = min((task.started_at for task in tasks if task.started_at is not None), default=now())
    at = min(at, now())  # regardless of the node's clock
    attempt.started_at = at
    if job.row.started_at is None:
        job.row.started_at = at
    attempt.state = job.row.state = state_of(Stage.RUNNING, attempt.stop is not None)
    job.unwritten.append(records.running_event(job.row, attempt, at))

    async def note() -> None:
        await asyncio.sleep(SHORT)
        await context.persist(records.running(job.row, attempt, at, job.take_unwritten()))
        context.notifier.post(job.id)
        context.on_started(job)

    return asyncio.create_task(note())


async def _watch(
    context: Context, job: LiveJob, attempt: AttemptRow, note: asyncio.Task[None] | None
) -> tuple[TaskSeen, ...]:
    """Waits until every task has ended, stopping the rest once the outcome is decided."""
    gang_stopped = False
    while True:
        job.news.clear()
        seen = job.seen
        if seen is not None and seen.attempt_id == attempt.id:
            if all_ended(seen.tasks):
                return seen.tasks
            if not gang_stopped and ruling(seen.tasks, job.spec) is not None:
                gang_stopped = True
                await _stop(context, job, attempt, job.spec.grace)
            await _take_later_places(context, job, attempt, seen.tasks, note)
        await job.news.wait()


async def _stop(context: Context, job: LiveJob, attempt: AttemptRow, grace: float) -> None:
    backoff = Backoff()
    while True:
        try:
            return await context.engine_of(job).stop(attempt.id, grace, attempt.handle)
        except Unreachable:
            await backoff.wait()


async def _judge(
    context: Context, job: LiveJob, attempt: AttemptRow, tasks: tuple[TaskSeen, ...]
) -> Outcome:
    _note_tasks(job, attempt, tasks)
    decided = ruling(tasks, job.spec)
    task = decided.culprit if decided is not None else culprit(tasks)
    code = exit_code_of(task) if task is not None else 0
    if attempt.stop is not None and not _was_done(attempt):
        return _stopped(job, attempt, code)
    if task is None:
        return Outcome(Reason.COMPLETED, {}, 0)
    if task.phase is not Phase.EXITED:
        return lost(task)
    tail = await _log_tail(context, job, attempt, task.task)
    resources = role_of(job.spec, task.task).resources
    facts_of_it = (task.exit_code, task.signal, task.hint, task.detail, tail, resources)
    if len(tail) <= SHORT_TAIL:
        reason, facts, evidence = diagnose(*facts_of_it)
    else:
        # A log can be crafted to take long to scan.
        async with context.workers.turn(job.row.owner, patient=True) as turn:
            reason, facts, evidence = await turn.run(diagnose, *facts_of_it)
    if reason is Reason.PORT_IN_USE and names_leased(evidence, attempt.places):
        reason = Reason.LEASED_PORT_TAKEN
    detail: dict[str, Any] = {**facts}
    if evidence:
        detail["evidence"] = list(evidence)
    if len(tasks) > 1:
        detail["task"] = task.task
    return Outcome(reason, detail, code)


def _stopped(job: LiveJob, attempt: AttemptRow, code: int | None) -> Outcome:
    stop = attempt.stop or {}
    if stop.get("why") == Reason.TIME_LIMIT:
        limit = format_duration(job.spec.time_limit or 0)
        return Outcome(Reason.TIME_LIMIT, {"limit": limit}, code)
    if stop.get("why") == Reason.IDLE:
        return Outcome(Reason.IDLE, {"limit": format_duration(job.spec.idle_limit or 0)}, code)
    if stop.get("why") in (Reason.PREEMPTED, Reason.MOVED):
        return Outcome(Reason(stop["why"]), {"detail": stop.get("for", "")}, code)
    return Outcome(Reason.STOPPED_BY_USER, {"detail": stop.get("by", "")}, code)


def _was_done(attempt: AttemptRow) -> bool:
    """Whether it ended on its own before it was preempted; that must not be retried."""
    at = (attempt.stop or {}).get("at")
    return at is not None and attempt.ended_at is not None and attempt.ended_at < float(at)


def _note_tasks(job: LiveJob, attempt: AttemptRow, tasks: tuple[TaskSeen, ...]) -> None:
    starts = [task.started_at for task in tasks if task.started_at is not None]
    if starts and attempt.started_at is None:
        attempt.started_at = min(starts)
    if job.row.started_at is None:
        job.row.started_at = attempt.started_at
    ends = [task.ended_at for task in tasks if task.ended_at is not None]
    attempt.ended_at = max(ends) if ends else now()
    attempt.tasks = [
        {
            "task": task.task,
            "phase": task.phase.value,
            "exit_code": task.exit_code,
            "signal": task.signal,
            "started_at": task.started_at,
            "ended_at": task.ended_at,
            "detail": task.detail,
        }
        for task in tasks
    ]


async def _log_tail(context: Context, job: LiveJob, attempt: AttemptRow, task: int) -> bytes:
    """The end of its log, with secrets masked: lines of it become part of the outcome."""
    ref = TaskRef(attempt.id, task, job.id, attempt.handle)
    engine = context.engine_of(job)
    tails: list[bytes] = []
    with contextlib.suppress(Unreachable, OSError, StoreError):
        mask = await mask_of(context.store, job.row.owner, secret_names(job.spec))
        length = LOG_TAIL + mask.reach
        for stream in ("out", "err") if job.spec.split_output else ("out",):
            offset = max(0, await engine.log_size(ref, stream) - length)
            pieces = [piece async for piece in engine.read_log(ref, stream, offset, length)]
            tails.append(mask.apply(b"".join(pieces))[-LOG_TAIL:])
    return b"".join(tails)
