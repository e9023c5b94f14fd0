"""Database writes for job changes: rows and events, always together.

Each function returns an operation for `Store.write`. An operation may run twice, if another one in
its batch fails, so it must only use its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from danlu.access.errors import Clash
from danlu.spec.codec import to_values
from danlu.spec.job import JobSpec
from danlu.spec.states import State
from danlu.spec.text import Text
from danlu.store import attempts, events, jobs
from danlu.store.rows import AttemptRow, EventRow, JobRow
from danlu.store.tx import Tx

SYSTEM = "danlu"

Op = Callable[[Tx], None]


def placed_event(row: JobRow, attempt: AttemptRow, at: float | None = None) -> EventRow:
    places = tuple(place for place in attempt.places if place.node)  # the engine may place more
    data = {"attempt": attempt.number, "places": places}
    return EventRow(row.id, attempt.created_at if at is None else at, "placed", SYSTEM, data)


def begun_event(row: JobRow, attempt: AttemptRow) -> EventRow:
    """Records where it starts, or that its engine decides where and when."""
    if attempt.state is not State.QUEUED:
        return placed_event(row, attempt)
    data = {"attempt": attempt.number, "engine": attempt.engine}
    return EventRow(row.id, attempt.created_at, "admitted", SYSTEM, data)


def started(row: JobRow, attempt: AttemptRow) -> Op:
    event, state = begun_event(row, attempt), attempt.state

    def op(tx: Tx) -> None:
        attempts.insert_attempt(tx, attempt)
        jobs.update_job(tx, row.id, state=state, attempt=attempt.number)
        events.append(tx, [event])

    return op


def running_event(row: JobRow, attempt: AttemptRow, at: float) -> EventRow:
    return EventRow(row.id, at, "started", SYSTEM, {"attempt": attempt.number})


def waiting(row: JobRow, attempt: AttemptRow, words: str | None, at: float) -> Op:
    """Records that the engine has it. `words`: why it is in the engine's own queue, if new."""
    state, handle = attempt.state, attempt.handle
    news = []
    if words is not None:
        data = {"attempt": attempt.number, "engine": attempt.engine, "words": words}
        news.append(EventRow(row.id, at, "pending", SYSTEM, data))

    def op(tx: Tx) -> None:
        attempts.update_attempt(tx, attempt.id, state=state, handle=handle)
        jobs.update_job(tx, row.id, state=state)
        events.append(tx, news)

    return op


def placed(attempt: AttemptRow, news: list[EventRow]) -> Op:
    """Records where the engine placed more of its tasks."""
    places = attempt.places

    def op(tx: Tx) -> None:
        attempts.update_attempt(tx, attempt.id, places=places)
        events.append(tx, news)

    return op


def running(row: JobRow, attempt: AttemptRow, at: float, news: list[EventRow]) -> Op:
    # Do not overwrite the state if a stop was requested while it started.
    state = State.STOPPING if attempt.stop else State.RUNNING
    first = row.started_at
    placed = _placed(attempt, news)

    def op(tx: Tx) -> None:
        attempts.update_attempt(
            tx, attempt.id, state=state, started_at=at, handle=attempt.handle, **placed
        )
        jobs.update_job(tx, row.id, state=state, started_at=first)
        events.append(tx, news)

    return op


def stopping(row: JobRow, attempt: AttemptRow, stop: dict[str, Any], at: float) -> Op:
    event = EventRow(row.id, at, "stop_requested", str(stop.get("by", SYSTEM)), dict(stop))

    def op(tx: Tx) -> None:
        attempts.update_attempt(tx, attempt.id, state=State.STOPPING, stop=stop)
        jobs.update_job(tx, row.id, state=State.STOPPING)
        events.append(tx, [event])

    return op


def _placed(attempt: AttemptRow, news: Sequence[EventRow]) -> dict[str, Any]:
    """The placements, if the engine chose them and they are new."""
    return {"places": attempt.places} if any(event.kind == "placed" for event in news) else {}


def attempt_ended(tx: Tx, attempt: AttemptRow, before: Sequence[EventRow]) -> None:
    attempts.update_attempt(
        tx,
        attempt.id,
        state=attempt.state,
        reason=attempt.reason,
        detail=attempt.detail,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        tasks=attempt.tasks,
        handle=attempt.handle,
        **_placed(attempt, before),
    )


def ended(
    row: JobRow, attempt: AttemptRow | None, actor: str, before: Sequence[EventRow] = ()
) -> Op:
    data = {"state": row.state, "reason": row.reason, "detail": row.detail, "code": row.exit_code}
    event = EventRow(row.id, row.ended_at or 0.0, "ended", actor, data)
    changes = {
        "state": row.state,
        "reason": row.reason,
        "detail": row.detail,
        "exit_code": row.exit_code,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "failures": row.failures,
        "faults": row.faults,
    }

    def op(tx: Tx) -> None:
        if attempt is not None:
            attempt_ended(tx, attempt, before)
        jobs.update_job(tx, row.id, **changes)
        events.append(tx, [*before, event])

    return op


def requeued(
    row: JobRow, attempt: AttemptRow, at: float, pause: float, before: Sequence[EventRow] = ()
) -> Op:
    data = {
        "attempt": attempt.number,
        "reason": attempt.reason,
        "detail": attempt.detail,
        "pause": pause,
    }
    event = EventRow(row.id, at, "requeued", SYSTEM, data)
    changes = {
        "state": State.QUEUED,
        "started_at": row.started_at,
        "failures": row.failures,
        "faults": row.faults,
    }

    def op(tx: Tx) -> None:
        attempt_ended(tx, attempt, before)
        jobs.update_job(tx, row.id, **changes)
        events.append(tx, [*before, event])

    return op


def noted(job_id: str, kind: str, data: dict[str, Any], at: float) -> Op:
    """An event that does not change the job."""
    event = EventRow(job_id, at, kind, SYSTEM, data)

    def op(tx: Tx) -> None:
        events.append(tx, [event])

    return op


def held(row: JobRow, hold: bool, by: str, at: float) -> Op:
    event = EventRow(row.id, at, "held" if hold else "released", by)

    def op(tx: Tx) -> None:
        jobs.update_job(tx, row.id, held=hold)
        events.append(tx, [event])

    return op


def edited(jobs_: Sequence[tuple[JobRow, JobSpec, Mapping[str, Any]]], by: str, at: float) -> Op:
    """Waiting jobs with their new specs and the changes, key -> old and new value."""
    news = [EventRow(row.id, at, "edited", by, {"changes": changes}) for row, _, changes in jobs_]

    distinct = {id(spec): spec for _, spec, _ in jobs_}
    values = {key: to_values(spec) for key, spec in distinct.items()}

    def op(tx: Tx) -> None:
        for row, spec, _ in jobs_:
            place = {"queue": spec.queue, "priority": spec.priority}
            jobs.update_job(tx, row.id, spec=values[id(spec)], **place)
        events.append(tx, news)

    return op


def extended(row: JobRow, spec: JobSpec, by: str, at: float) -> Op:
    """A running job with a later end."""
    event = EventRow(row.id, at, "extended", by, {"time_limit": spec.time_limit})
    values = to_values(spec)

    def op(tx: Tx) -> None:
        jobs.update_job(tx, row.id, spec=values)
        events.append(tx, [event])

    return op


def submitted(
    rows: list[JobRow],
    by: str,
    begun: Mapping[str, AttemptRow],
    address: str = "",
    origins: Mapping[str, Mapping[str, Any]] | None = None,
) -> Callable[[Tx], list[jobs.Inserted]]:
    """`begun`: attempts of jobs that start at once; `origins`: foreign job files; both by job."""
    origin = {"from": address} if address else {}

    def op(tx: Tx) -> list[jobs.Inserted]:
        stored = jobs.insert_jobs(tx, rows)
        news = []
        for row, new in stored:
            if not new:
                if row.owner != by:
                    raise _id_taken(row.id)
                continue
            news.append(EventRow(row.id, row.submitted_at, "submitted", by, origin))
            if origins and row.id in origins:
                data = dict(origins[row.id])
                news.append(EventRow(row.id, row.submitted_at, "converted", SYSTEM, data))
            attempt = begun.get(row.id)
            if attempt is not None:
                attempts.insert_attempt(tx, attempt)
                news.append(begun_event(row, attempt))
        events.append(tx, news)
        return stored

    return op


def _id_taken(job_id: str) -> Clash:
    return Clash(
        "id_taken",
        Text(
            f"The id {job_id} belongs to another job; leave it out, or make a new one",
            f"编号 {job_id} 属于另一个任务；请不写编号，或换一个新的",
        ),
    )
