"""Events: what happened, in commit order. Append-only."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Integer, bindparam, func, insert, literal_column, select

from danlu.store.codec import dumps, loads
from danlu.store.rows import EventRow
from danlu.store.tables import events
from danlu.store.tx import Row, Statement, Tx

_SEQ = "events.seq"
_INSERT = Statement(insert(events))
_LAST = Statement(select(func.max(events.c.seq)))
_OF_JOB = Statement(
    select(events.c.job_id, events.c.at, events.c.kind, events.c.actor, events.c.data, events.c.seq)
    .where(events.c.seq > bindparam("after"))
    .where(events.c.job_id == bindparam("job_id"))
    .order_by(events.c.seq)
    .limit(bindparam("limit", type_=Integer))
    .offset(literal_column("0"))
)


def append(tx: Tx, rows: Sequence[EventRow]) -> list[int]:
    """Returns their numbers, larger than all before. The rows passed in are not modified."""
    if not rows:
        return []
    first = last_seq(tx) + 1
    params = [
        {
            "seq": seq,
            "job_id": row.job_id,
            "at": row.at,
            "kind": row.kind,
            "actor": row.actor,
            "data": dumps(row.data),
        }
        for seq, row in enumerate(rows, first)
    ]
    if len(params) == 1:
        tx.run(_INSERT, params[0])
    else:
        tx.many(_INSERT, params)
    tx.memo[_SEQ] = first + len(rows) - 1
    return list(range(first, first + len(rows)))


def last_seq(tx: Tx) -> int:
    # Cached for the rest of a write transaction, in which nobody else writes.
    if _SEQ in tx.memo:
        return tx.memo[_SEQ]
    row = tx.row(_LAST)
    return (row and row[0]) or 0


def events_of(tx: Tx, job_id: str, after_seq: int = 0, limit: int = 1000) -> list[EventRow]:
    """Oldest first."""
    params = {"job_id": job_id, "after": after_seq, "limit": limit}
    return [_event(row) for row in tx.rows(_OF_JOB, params)]


def _event(row: Row) -> EventRow:
    event = EventRow(*row)
    event.data = loads(row[4])
    return event
