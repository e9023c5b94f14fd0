"""Attempts: each try of a whole gang."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, insert, select, text

from danlu.spec.states import Reason, State
from danlu.store.codec import KEY, changes, dumps, loads, update_of
from danlu.store.rows import AttemptRow
from danlu.store.tables import ACTIVE, attempts
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
)
_INSERT = Statement(insert(attempts))
_GET = Statement(select(*_COLUMNS).where(attempts.c.id == bindparam("id")))
_OF_JOB = Statement(
    select(*_COLUMNS).where(attempts.c.job_id == bindparam("job_id")).order_by(attempts.c.number)
)
_ACTIVE_ATTEMPTS = Statement(
    select(*_COLUMNS).where(text(ACTIVE)).order_by(attempts.c.created_at, attempts.c.id)
)


def insert_attempt(tx: Tx, row: AttemptRow) -> None:
    """StoreConflict where the id or the number exists, or the job does not."""
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
        },
    )


def update_attempt(tx: Tx, id: str, **values: Any) -> bool:
    """Change the columns named. False: there is no such attempt."""
    params = changes(attempts, values)
    statement = update_of(attempts, tuple(params))
    params[KEY] = id
    return tx.run(statement, params) == 1


def get_attempt(tx: Tx, id: str) -> AttemptRow | None:
    row = tx.row(_GET, {"id": id})
    return None if row is None else _attempt(row)


def attempts_of(tx: Tx, job_id: str) -> list[AttemptRow]:
    """The first one first."""
    return [_attempt(row) for row in tx.rows(_OF_JOB, {"job_id": job_id})]


def active_attempts(tx: Tx) -> list[AttemptRow]:
    """All that have not ended, the oldest first."""
    return [_attempt(row) for row in tx.rows(_ACTIVE_ATTEMPTS)]


def _attempt(row: Row) -> AttemptRow:
    attempt = AttemptRow(*row)
    attempt.state = State(row[3])
    attempt.places = loads(row[5])
    attempt.reason = Reason(row[7]) if row[7] is not None else None
    attempt.detail = loads(row[8])
    attempt.stop = loads(row[11]) if row[11] is not None else None
    attempt.tasks = loads(row[12])
    return attempt
