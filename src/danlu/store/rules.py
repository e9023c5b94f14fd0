"""Scheduling rules an admin set while the server ran."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, insert, select, update

from danlu.store.codec import dumps, loads
from danlu.store.rows import RuleRow
from danlu.store.tables import jobs, rules
from danlu.store.tx import Statement, Tx

_this = (rules.c.kind == bindparam("of"), rules.c.name == bindparam("called"))
_ALL = Statement(
    select(rules.c.kind, rules.c.name, rules.c.content, rules.c.at).order_by(
        rules.c.kind, rules.c.name
    )
)
_INSERT = Statement(insert(rules))
_UPDATE = Statement(
    update(rules).where(*_this).values(content=bindparam("text"), at=bindparam("moment"))
)
_DELETE = Statement(delete(rules).where(*_this))
_REQUEUE = Statement(
    update(jobs).where(jobs.c.id == bindparam("job")).values(queue=bindparam("into"))
)


def list_rules(tx: Tx) -> list[RuleRow]:
    return [RuleRow(row[0], row[1], loads(row[2]), row[3]) for row in tx.rows(_ALL)]


def put_rule(tx: Tx, row: RuleRow) -> None:
    text = dumps(row.content)
    key = {"of": row.kind, "called": row.name}
    if tx.run(_UPDATE, {**key, "text": text, "moment": row.at}) == 0:
        tx.run(_INSERT, {"kind": row.kind, "name": row.name, "content": text, "at": row.at})


def delete_rule(tx: Tx, kind: str, name: str) -> bool:
    return tx.run(_DELETE, {"of": kind, "called": name}) == 1


def move_jobs(tx: Tx, job_ids: Sequence[str], into: str) -> None:
    """Moves waiting jobs to another queue."""
    for job_id in job_ids:
        tx.run(_REQUEUE, {"job": job_id, "into": into})
