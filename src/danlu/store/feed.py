"""Events of all jobs in commit order, with the jobs they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Integer, bindparam, literal_column, select

from danlu.store import events as event_store
from danlu.store.codec import loads
from danlu.store.rows import EventRow
from danlu.store.tables import events, jobs
from danlu.store.tx import Row, Statement, Tx

MOST_NAMED = 50
"""For more jobs than this, all events are read and filtered."""


@dataclass(frozen=True, slots=True)
class About:
    """The job of an event: decides who may see it, and how people refer to it."""

    id: str
    owner: str
    group: str | None
    name: str
    ref: str


@dataclass(frozen=True, slots=True)
class Happening:
    event: EventRow
    job: About | None

    @property
    def seq(self) -> int:
        return self.event.seq


@dataclass(frozen=True, slots=True)
class Stretch:
    """A batch of events."""

    happenings: list[Happening]
    upto: int  # complete up to here


def stretch(tx: Tx, after: int, limit: int, job_ids: Sequence[str] = ()) -> Stretch:
    """Events committed after this one, oldest first; of some jobs, or of all."""
    named = list(job_ids) if 0 < len(job_ids) <= MOST_NAMED else []
    params: dict[str, Any] = {"after": after, "limit": limit}
    params |= {f"job_{i}": job_id for i, job_id in enumerate(named)}
    found = [_happening(row) for row in tx.rows(_after(len(named)), params)]
    if len(found) == limit:
        return Stretch(found, found[-1].seq)
    # The same snapshot: everything committed has been seen.
    return Stretch(found, max(after, event_store.last_seq(tx)))


@cache
def _after(named: int) -> Statement:
    query = (
        select(
            events.c.job_id,
            events.c.at,
            events.c.kind,
            events.c.actor,
            events.c.data,
            events.c.seq,
            jobs.c.owner,
            jobs.c.group,
            jobs.c.name,
            jobs.c.number,
            jobs.c.array_index,
        )
        .select_from(events.outerjoin(jobs, jobs.c.id == events.c.job_id))
        .where(events.c.seq > bindparam("after"))
        .order_by(events.c.seq)
        .limit(bindparam("limit", type_=Integer))
        .offset(literal_column("0"))
    )
    if named:
        query = query.where(events.c.job_id.in_([bindparam(f"job_{i}") for i in range(named)]))
    return Statement(query)


def _happening(row: Row) -> Happening:
    job_id, at, kind, actor, data, seq, owner, group, name, number, index = row
    event = EventRow(job_id, at, kind, actor, loads(data), seq)
    if owner is None:
        return Happening(event, None)
    ref = f"{owner}/{name}-{number}" + ("" if index is None else f".{index}")
    return Happening(event, About(job_id, owner, group, name, ref))
