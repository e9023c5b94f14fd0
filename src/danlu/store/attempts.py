"""Attempts: each try of a whole gang."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, insert, select, text

from danlu.spec.states import Reason, State
from danlu.store.codec import KEY, changes, dumps, loads, placements, update_of
from danlu.store.rows import AttemptRow
from danlu.store.tables import ACTIVE, attempts, jobs
from danlu.store.tx import Row, Statement, Tx

_COLUMNS = (
    attempts.c.id,
    attempts.c.job_id,
    attempts.c.number,
    attempts.c.state,
    attempts.c.epoch,
    attempts.c.places,
    attempts.c.created_at,
    attempts.c.reason,
    attempts.c.detail,
    attempts.c.started_at,
    attempts.c.ended_at,
    attempts.c.stop,
    attempts.c.tasks,
    attempts.c.engine,
    attempts.c.handle,
    attempts.c.installation,
)
_INSERT = Statement(insert(attempts))
_OF_JOB = Statement(
    select(*_COLUMNS).where(attempts.c.job_id == bindparam("job_id")).order_by(attempts.c.number)
)
_ACTIVE_ATTEMPTS = Statement(
    select(*_COLUMNS).where(text(ACTIVE)).order_by(attempts.c.created_at, attempts.c.id)
)
_EARLIER = Statement(
    select(*_COLUMNS)
    .join(jobs, jobs.c.id == attempts.c.job_id)
    .where(text(f"jobs.{ACTIVE}"), attempts.c.ended_at.is_not(None))
    .order_by(attempts.c.job_id, attempts.c.number)
)


def insert_attempt(tx: Tx, row: AttemptRow) -> None:
    """Raises StoreConflict if the id or number exists, or the job does not."""
    tx.run(
        _INSERT,
        {
            "id": row.id,
            "job_id": row.job_id,
            "number": row.number,
            "state": row.state.value,
            "epoch": row.epoch,
            "created_at": row.created_at,
            "reason": row.reason.value if row.reason is not None else None,
            "started_at": row.started_at,
            "ended_at": row.ended_at,
            "places": dumps(row.places),
            "detail": dumps(row.detail),
            "stop": dumps(row.stop) if row.stop is not None else None,
            "tasks": dumps(row.tasks),
            "engine": row.engine,
            "handle": row.handle,
            "installation": row.installation,
        },
    )


def update_attempt(tx: Tx, id: str, **values: Any) -> bool:
    """Updates the given columns. False: no such attempt."""
    params = changes(attempts, values)
    statement = update_of(attempts, tuple(params))
    params[KEY] = id
    return tx.run(statement, params) == 1


def attempts_of(tx: Tx, job_id: str) -> list[AttemptRow]:
    """Oldest first."""
    return [_attempt(row) for row in tx.rows(_OF_JOB, {"job_id": job_id})]


def active_attempts(tx: Tx) -> list[AttemptRow]:
    """All that have not ended, oldest first."""
    return [_attempt(row) for row in tx.rows(_ACTIVE_ATTEMPTS)]


def earlier_attempts(tx: Tx) -> list[AttemptRow]:
    """Ended attempts of jobs that have not ended, oldest first."""
    return [_attempt(row) for row in tx.rows(_EARLIER)]


def _attempt(row: Row) -> AttemptRow:
    attempt = AttemptRow(*row)
    attempt.state = State(row[3])
    attempt.places = placements(loads(row[5]))
    attempt.reason = Reason(row[7]) if row[7] is not None else None
    attempt.detail = loads(row[8])
    attempt.stop = _stop(row[11])
    attempt.tasks = loads(row[12])
    return attempt


def _stop(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    stop: dict[str, Any] = loads(text)
    if "to" in stop:
        stop["to"] = placements(stop["to"])
    return stop
