"""The audit log: who did what, to what, from where. Append-only."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from sqlalchemy import Integer, bindparam, desc, func, insert, literal_column, select

from danlu.store.codec import dumps, loads
from danlu.store.rows import AuditRow
from danlu.store.tables import audit
from danlu.store.tx import Row, Statement, Tx

LINES_SEARCHED = 50_000  # for sign-ins, when a server starts
_SEQ = "audit.seq"
_INSERT = Statement(insert(audit))
_LAST = Statement(select(func.max(audit.c.seq)))
_LOGIN = {"act": "login"}
_SIGN_INS = Statement(
    select(audit.c.actor, audit.c.address)
    .where(audit.c.seq > bindparam("after"), audit.c.act == bindparam("act"))
    .order_by(audit.c.seq)
)
_LINE = (
    audit.c.at,
    audit.c.actor,
    audit.c.act,
    audit.c.thing,
    audit.c.data,
    audit.c.address,
    audit.c.seq,
)


def append(
    tx: Tx,
    at: float,
    actor: str,
    act: str,
    thing: str,
    data: Mapping[str, Any] | None = None,
    address: str = "",
) -> int:
    """Returns its number, larger than all before."""
    if _SEQ not in tx.memo:
        row = tx.row(_LAST)
        tx.memo[_SEQ] = (row and row[0]) or 0
    tx.memo[_SEQ] += 1
    values = {"seq": tx.memo[_SEQ], "at": at, "actor": actor, "act": act, "thing": thing}
    tx.run(_INSERT, {**values, "data": dumps(dict(data or {})), "address": address})
    return tx.memo[_SEQ]


def lines(
    tx: Tx,
    *,
    actor: str | None = None,
    act: str | None = None,
    thing: str | None = None,
    since: float | None = None,
    before_seq: int | None = None,
    limit: int = 50,
) -> list[AuditRow]:
    """Newest first."""
    given = {"actor": actor, "act": act, "thing": thing, "since": since, "before": before_seq}
    params: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    statement = _lines(tuple(params))
    return [_line(row) for row in tx.rows(statement, {**params, "limit": limit})]


def sign_ins(tx: Tx) -> list[tuple[str, str]]:
    """Name and address of the latest sign-ins, oldest first."""
    row = tx.row(_LAST)
    after = ((row and row[0]) or 0) - LINES_SEARCHED
    return [(actor, address) for actor, address in tx.rows(_SIGN_INS, {"after": after, **_LOGIN})]


@cache
def _lines(given: tuple[str, ...]) -> Statement:
    tests = {
        "actor": audit.c.actor == bindparam("actor"),
        "act": audit.c.act == bindparam("act"),
        "thing": audit.c.thing == bindparam("thing"),
        "since": audit.c.at >= bindparam("since"),
        "before": audit.c.seq < bindparam("before"),
    }
    query = select(*_LINE).where(*(tests[name] for name in given)).order_by(desc(audit.c.seq))
    limit = bindparam("limit", type_=Integer)
    return Statement(query.limit(limit).offset(literal_column("0")))


def _line(row: Row) -> AuditRow:
    line = AuditRow(*row)
    line.data = loads(row[4])
    return line
