"""One attempt, from its launch to its last commit.

Every step can be repeated: a server that is killed anywhere in here starts again at the step the
database shows, and the engine's idempotency does the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import Any

from danlu.control import records
from danlu.control.active import Active
from danlu.control.launches import launch_of, missing_folders, secret_names
from danlu.control.outcome import (
    Outcome,
    all_ended,
    culprit,
    exit_code_of,
    lost,
    names_leased,
)
from danlu.control.preparing import prepare
from danlu.control.rooms import Rooms, log, now
from danlu.control.ruling import ruling
from danlu.engines.api import (
    InDoubt,
    Phase,
    Refused,
    Seen,
    TaskRef,
    TaskSeen,
    Unreachable,
)
from danlu.spec.diagnose import diagnose
from danlu.spec.states import Reason, State
from danlu.spec.units import format_duration
from danlu.store import secrets as secret_store
from danlu.store.errors import StoreError
from danlu.store.rows import AttemptRow

LOG_TAIL = 64 * 1024
SHORT = 0.02
"""Seconds: a job that ends earlier has its start and its end in one commit."""


async def drive(rooms: Rooms, job: Active, fresh: bool) -> Outcome:
    """Returns how the attempt ended, once every task of it has."""
    attempt = current(job)
    if fresh:
        await rooms.persist(records.started(job.row, attempt))
        rooms.bulletin.post(job.id)
    note: asyncio.Task[None] | None = None
    if attempt.started_at is None:
        refusal = await prepare(rooms, job, attempt)
        if refusal is None and attempt.stop is not None and await _settle(rooms, attempt) is None:
            return _stopped(job, attempt, None)
        refusal = refusal or await _launch(rooms, job, attempt)
        if refusal is not None:
            return refusal
        note = _note_running(rooms, job, attempt)
    job.launched = True
    rooms.bulletin.post(job.id)
    if attempt.stop is not None:
        await _stop(rooms, attempt, float(attempt.stop.get("grace", job.spec.grace)))
    tasks = await _watch(rooms, job, attempt)
    if note is not None:
        # It may still be waiting: then the start is written together with the end.
        if job.unwritten:
            note.cancel()
            rooms.on_started(job)  # it may be tried again; who waits for its start need not
        else:
            await note
    return await _judge(rooms, job, attempt, tasks)


def current(job: Active) -> AttemptRow:
    if job.attempt is None:
        raise RuntimeError(f"{job.row.ref} has no attempt")
    return job.attempt


async def _launch(rooms: Rooms, job: Active, attempt: AttemptRow) -> Outcome | None:
    """None: it runs. An outcome: it never will."""
    values: dict[str, str] = {}
    names = secret_names(job.spec)
    if names:
        found = await _secrets(rooms, job.row.owner, names)
        missing = sorted(name for name, value in found.items() if value is None)
        if missing:
            return Outcome(Reason.SECRET_MISSING, {"detail": ", ".join(missing)})
        values = {name: value for name, value in found.items() if value is not None}
    pause = 0.1
    while True:
        try:
            person = await rooms.identities.person(job.row.owner)
            await rooms.folders.ready(person)
            launch = launch_of(job, attempt, rooms.settings, rooms.volumes, person, values)
            # An attempt that a predecessor placed is launched by who leads now.
            launch = replace(launch, epoch=rooms.epoch)
            gone = missing_folders(launch)
            if gone:
                return Outcome(Reason.VOLUME_MISSING, {"detail": ", ".join(gone)})
            await rooms.engine.launch(launch, rooms.engine.plan(launch))
            return None
        except Refused as refusal:
            return Outcome(Reason.REFUSED, {"detail": str(refusal)})
        except InDoubt:
            seen = await _settle(rooms, attempt)
            if seen is None:
                return Outcome(Reason.LAUNCH_FAILED, {"detail": "the launch was interrupted"})
            job.seen = seen
            return None
        except (Unreachable, OSError, StoreError) as trouble:
            if attempt.stop is not None and await _settle(rooms, attempt) is None:
                return Outcome(Reason.LAUNCH_FAILED, {"detail": str(trouble)})
            log.warning("%s cannot be launched yet: %s", job.row.ref, trouble)
            await asyncio.sleep(pause)
            pause = min(pause * 2, 5.0)


async def _secrets(rooms: Rooms, owner: str, names: set[str]) -> dict[str, str | None]:
    pause = 0.1
    while True:
        try:
            return await rooms.store.read(
                lambda tx: {name: secret_store.get_secret(tx, owner, name) for name in names}
            )
        except StoreError as trouble:
            log.warning("cannot read secrets yet: %s", trouble)
            await asyncio.sleep(pause)
            pause = min(pause * 2, 2.0)


async def _settle(rooms: Rooms, attempt: AttemptRow) -> Seen | None:
    pause = 0.1
    while True:
        try:
            return await rooms.engine.settle(attempt.id)
        except (Unreachable, InDoubt):
            await asyncio.sleep(pause)
            pause = min(pause * 2, 5.0)


def _note_running(rooms: Rooms, job: Active, attempt: AttemptRow) -> asyncio.Task[None]:
    at = now()
    attempt.started_at = at
    if job.row.started_at is None:
        job.row.started_at = at
    job.row.state = State.STOPPING if attempt.stop else State.RUNNING
    job.unwritten = [records.running_event(job.row, attempt, at)]

    async def note() -> None:
        await asyncio.sleep(SHORT)
        await rooms.persist(records.running(job.row, attempt, at, job.take_unwritten()))
        rooms.bulletin.post(job.id)
        rooms.on_started(job)

    return asyncio.create_task(note())


async def _watch(rooms: Rooms, job: Active, attempt: AttemptRow) -> tuple[TaskSeen, ...]:
    """Waits until every task has ended; once the outcome is decided, what still runs is stopped."""
    gang_stopped = False
    while True:
        job.news.clear()
        seen = job.seen
        if seen is not None and seen.attempt_id == attempt.id:
            if all_ended(seen.tasks):
                return seen.tasks
            if not gang_stopped and ruling(seen.tasks, job.spec) is not None:
                gang_stopped = True
                await _stop(rooms, attempt, job.spec.grace)
        await job.news.wait()


async def _stop(rooms: Rooms, attempt: AttemptRow, grace: float) -> None:
    pause = 0.1
    while True:
        try:
            return await rooms.engine.stop(attempt.id, grace)
        except Unreachable:
            await asyncio.sleep(pause)
            pause = min(pause * 2, 5.0)


async def _judge(
    rooms: Rooms, job: Active, attempt: AttemptRow, tasks: tuple[TaskSeen, ...]
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
    tail = await _log_tail(rooms, job, attempt, task.task)
    role = attempt.places[task.task].get("role", "")
    resources = next((r.resources for r in job.spec.roles if r.name == role), None)
    reason, facts, evidence = diagnose(
        task.exit_code, task.signal, task.hint, task.detail, tail, resources
    )
    if reason is Reason.PORT_IN_USE and names_leased(evidence, attempt.places):
        reason = Reason.LEASED_PORT_TAKEN
    detail: dict[str, Any] = {**facts}
    if evidence:
        detail["evidence"] = list(evidence)
    if len(tasks) > 1:
        detail["task"] = task.task
    return Outcome(reason, detail, code)


def _stopped(job: Active, attempt: AttemptRow, code: int | None) -> Outcome:
    stop = attempt.stop or {}
    if stop.get("why") == Reason.TIME_LIMIT:
        limit = format_duration(job.spec.time_limit or 0)
        return Outcome(Reason.TIME_LIMIT, {"limit": limit}, code)
    if stop.get("why") in (Reason.PREEMPTED, Reason.MOVED):
        return Outcome(Reason(stop["why"]), {"detail": stop.get("for", "")}, code)
    return Outcome(Reason.STOPPED_BY_USER, {"detail": stop.get("by", "")}, code)


def _was_done(attempt: AttemptRow) -> bool:
    """Ended by itself before it would have been ended for others: that must not be done again."""
    at = (attempt.stop or {}).get("at")
    return at is not None and attempt.ended_at is not None and attempt.ended_at < float(at)


def _note_tasks(job: Active, attempt: AttemptRow, tasks: tuple[TaskSeen, ...]) -> None:
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


async def _log_tail(rooms: Rooms, job: Active, attempt: AttemptRow, task: int) -> bytes:
    ref = TaskRef(attempt.id, task, job.id)
    pieces: list[bytes] = []
    with contextlib.suppress(Unreachable, OSError):
        for stream in ("out", "err") if job.spec.split_output else ("out",):
            size = await rooms.engine.log_size(ref, stream)
            offset = max(0, size - LOG_TAIL)
            async for piece in rooms.engine.read_log(ref, stream, offset, LOG_TAIL):
                pieces.append(piece)
    return b"".join(pieces)


def absent(attempt: AttemptRow) -> Seen:
    """What the engine does not know any more."""
    task = TaskSeen(0, Phase.ABSENT, detail="the engine knows nothing of it")
    return Seen(
        attempt.id, tuple(replace(task, task=i) for i in range(max(1, len(attempt.places))))
    )
