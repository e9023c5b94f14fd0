"""GPU time of a group's jobs: the attempts that ran in a period."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Integer, bindparam, literal_column, or_, select

from danlu.spec.placement import Placement
from danlu.store.codec import loads, placements
from danlu.store.tables import attempts, jobs
from danlu.store.tx import Statement, Tx


@dataclass(frozen=True, slots=True)
class Ran:
    owner: str
    job_id: str
    started_at: float
    ended_at: float | None
    places: tuple[Placement, ...]


_RAN = Statement(
    select(
        jobs.c.owner,
        jobs.c.id,
        attempts.c.started_at,
        attempts.c.ended_at,
        attempts.c.places,
        jobs.c.seq,
    )
    .select_from(jobs.join(attempts, attempts.c.job_id == jobs.c.id))
    .where(
        jobs.c.group == bindparam("of"),
        attempts.c.started_at.is_not(None),
        or_(attempts.c.ended_at.is_(None), attempts.c.ended_at > bindparam("since")),
        jobs.c.seq > bindparam("after"),
    )
    .order_by(jobs.c.seq)
    .limit(bindparam("most", type_=Integer))
    .offset(literal_column("0"))
)


def ran(tx: Tx, group: str, since: float, after: int, most: int) -> tuple[list[Ran], int | None]:
    """A page of them, and where the next one begins; None: no more."""
    rows = tx.rows(_RAN, {"of": group, "since": since, "after": after, "most": most})
    following = None
    if len(rows) == most:
        # The last job may have further attempts: it belongs to the next page, unless it fills this.
        following = int(rows[-1][5])
        whole = [row for row in rows if row[5] < following]
        if whole:
            rows, following = whole, following - 1
    found = [
        Ran(owner, job, started, ended, placements(loads(places)))
        for owner, job, started, ended, places, _ in rows
    ]
    return found, following
