"""All events, as tests of the store look at them; the server reads those of a job, or a feed."""

from __future__ import annotations

from sqlalchemy import select

from danlu.store.codec import loads
from danlu.store.rows import EventRow
from danlu.store.tables import events
from danlu.store.tx import Statement, Tx

_columns = (events.c[name] for name in ("job_id", "at", "kind", "actor", "data", "seq"))
_ALL = Statement(select(*_columns).order_by(events.c.seq))


def all_events(tx: Tx, after: int = 0) -> list[EventRow]:
    """Oldest first, those numbered higher than `after`."""
    found = [EventRow(*row[:4], loads(row[4]), row[5]) for row in tx.rows(_ALL, {})]
    return [event for event in found if event.seq > after]
