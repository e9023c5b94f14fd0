"""Job lists: filtered, sorted, paged.

A page ends at a row, not at an offset, and the next one starts after that row: new jobs shift
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    and_,
    asc,
    bindparam,
    desc,
    func,
    literal_column,
    or_,
    select,
    text,
)

from danlu.spec.states import State
from danlu.store.codec import dumps
from danlu.store.jobs import COLUMNS, rows_as_jobs
from danlu.store.rows import JobRow, Sight
from danlu.store.tables import ACTIVE, jobs
from danlu.store.tx import Statement, Tx

NOT_YET = 9e15
"""Sorts jobs that have not started (or ended) after all that have."""

_never: ColumnElement[Any] = literal_column("9e15")
SORTS: dict[str, ColumnElement[Any]] = {
    "submitted": jobs.c.seq,
    "started": func.coalesce(jobs.c.started_at, _never),
    "ended": func.coalesce(jobs.c.ended_at, _never),
    "name": jobs.c.name,
    "owner": jobs.c.owner,
    "state": jobs.c.state,
    "priority": jobs.c.priority,
}
_EQUAL = ("owner", "group", "name", "number", "kind", "queue")
_WHOLE = Statement(
    select(jobs.c.state, func.count(literal_column("*")), func.min(jobs.c.seq))
    .where(jobs.c.array_id == bindparam("array"))
    .group_by(jobs.c.state)
)
_ESCAPE = "!"
_SPEC = "CASE WHEN spec <> '' THEN spec ELSE (SELECT s.spec FROM specs s WHERE s.id = array_id) END"
_COMMAND = {
    "sqlite": f"json_extract({_SPEC}, '$.roles[0].command.words')",
    "postgresql": f"(CAST({_SPEC} AS json) #>> '{{roles,0,command,words}}')",
}


@dataclass(frozen=True, slots=True)
class JobQuery:
    states: tuple[State, ...] = ()
    owner: str | None = None
    group: str | None = None
    name: str | None = None
    number: int | None = None
    kind: str | None = None
    queue: str | None = None
    since: float | None = None  # submitted at or after
    until: float | None = None  # submitted before
    text: str | None = None  # part of the name or the command
    active: bool | None = None  # True: not ended; False: ended
    seen_by: Sight | None = None
    sort: str = "submitted"
    descending: bool = True
    limit: int = 50
    behind: tuple[Any, int] | None = None  # sort value and seq of the last row of the previous page


@dataclass(frozen=True, slots=True)
class _Shape:
    """What determines the SQL: one statement is compiled for each."""

    dialect: str
    equal: tuple[str, ...]
    states: int
    since: bool
    until: bool
    text: bool
    active: bool | None
    groups: int | None  # None: no restriction
    sort: str
    descending: bool
    behind: bool


@dataclass(frozen=True, slots=True)
class Whole:
    """An array: the `seq` of its first element, and its elements by state."""

    first: int
    states: dict[State, int]


def list_jobs(tx: Tx, query: JobQuery) -> list[JobRow]:
    shape, params = _asked(tx, query)
    params["limit"] = query.limit
    return rows_as_jobs(tx, tx.rows(_statement(shape), params))


def list_folded(tx: Tx, query: JobQuery) -> list[tuple[JobRow, Whole | None]]:
    """The newest first; of an array only the newest element that matches, and the whole.

    The elements of an array are numbered consecutively, so the rest of it is skipped, not read.
    """
    found: list[tuple[JobRow, Whole | None]] = []
    behind = query.behind
    while len(found) < query.limit:
        left = query.limit - len(found)
        rows = list_jobs(tx, replace(query, behind=behind, limit=left))
        for row in rows:
            if behind is not None and row.seq >= behind[1]:
                continue
            whole = None if row.array_id is None else _whole(tx, row.array_id)
            found.append((row, whole))
            behind = (None, row.seq if whole is None else whole.first)
        if len(rows) < left:
            break
    return found


def count_jobs(tx: Tx, query: JobQuery) -> dict[State, int]:
    """All that match, by state."""
    shape, params = _asked(tx, replace(query, behind=None))
    return {State(state): count for state, count in tx.rows(_counting(shape), params)}


def _whole(tx: Tx, array_id: str) -> Whole:
    rows = tx.rows(_WHOLE, {"array": array_id})
    return Whole(min(first for _, _, first in rows), {State(s): count for s, count, _ in rows})


def _asked(tx: Tx, query: JobQuery) -> tuple[_Shape, dict[str, Any]]:
    named = {name: getattr(query, name) for name in _EQUAL}
    params: dict[str, Any] = {f"is_{k}": v for k, v in named.items() if v is not None}
    params |= {f"state_{i}": str(state) for i, state in enumerate(query.states)}
    params |= {k: v for k in ("since", "until") if (v := getattr(query, k)) is not None}
    if query.text:
        params["text"] = _pattern(query.text)
    if query.seen_by is not None:
        params["me"] = query.seen_by.owner
        params |= {f"mine_{i}": group for i, group in enumerate(query.seen_by.groups)}
    if query.behind is not None:
        params["last"] = query.behind[1]
        if query.sort != "submitted":
            params["value"] = query.behind[0]
    shape = _Shape(
        dialect=tx.dialect,
        equal=tuple(name for name, value in named.items() if value is not None),
        states=len(query.states),
        since=query.since is not None,
        until=query.until is not None,
        text=bool(query.text),
        active=query.active,
        groups=len(query.seen_by.groups) if query.seen_by is not None else None,
        sort=query.sort,
        descending=query.descending,
        behind=query.behind is not None,
    )
    return shape, params


def place_of(row: JobRow, sort: str) -> tuple[Any, int]:
    """The position of a row in this order: where the next page continues."""
    if sort in ("started", "ended"):
        at = row.started_at if sort == "started" else row.ended_at
        return (NOT_YET if at is None else at), row.seq
    value = row.seq if sort == "submitted" else getattr(row, sort)
    return (str(value) if isinstance(value, State) else value), row.seq


@cache
def _statement(shape: _Shape) -> Statement:
    query = _filtered(select(*COLUMNS), shape)
    key, direction = SORTS[shape.sort], desc if shape.descending else asc
    if shape.behind:
        query = query.where(_behind(key, shape))
    query = query.order_by(direction(jobs.c.seq)) if key is jobs.c.seq else _by(query, key, shape)
    limit = bindparam("limit", type_=Integer)
    return Statement(query.limit(limit).offset(literal_column("0")))


@cache
def _counting(shape: _Shape) -> Statement:
    counted = select(jobs.c.state, func.count(literal_column("*")))
    return Statement(_filtered(counted, shape).group_by(jobs.c.state))


def _by(query: Select[Any], key: ColumnElement[Any], shape: _Shape) -> Select[Any]:
    direction = desc if shape.descending else asc
    return query.order_by(direction(key), direction(jobs.c.seq))


def _behind(key: ColumnElement[Any], shape: _Shape) -> ColumnElement[bool]:
    last: ColumnElement[Any] = bindparam("last")
    older = jobs.c.seq < last if shape.descending else jobs.c.seq > last
    if key is jobs.c.seq:
        return older
    value = bindparam("value", type_=key.type)
    further = key < value if shape.descending else key > value
    return or_(further, and_(key == value, older))


def _filtered(query: Select[Any], shape: _Shape) -> Select[Any]:
    for name in shape.equal:
        query = query.where(jobs.c[name] == bindparam(f"is_{name}"))
    if shape.states:
        states: list[ColumnElement[Any]] = [bindparam(f"state_{i}") for i in range(shape.states)]
        query = query.where(jobs.c.state.in_(states))
    if shape.since:
        query = query.where(jobs.c.submitted_at >= bindparam("since"))
    if shape.until:
        query = query.where(jobs.c.submitted_at < bindparam("until"))
    if shape.active is not None:
        query = query.where(text(ACTIVE if shape.active else f"NOT {ACTIVE}"))
    if shape.text:
        query = query.where(_holds_text(shape.dialect))
    if shape.groups is not None:
        mine: list[ColumnElement[Any]] = [bindparam(f"mine_{i}") for i in range(shape.groups)]
        own = jobs.c.owner == bindparam("me")
        query = query.where(or_(own, jobs.c.group.in_(mine)) if mine else own)
    return query


def _holds_text(dialect: str) -> ColumnElement[bool]:
    # The words of a command are a JSON list; people type them with spaces.
    words = f"replace(lower({_COMMAND[dialect]}), '\",\"', ' ')"
    like = f"LIKE :text ESCAPE '{_ESCAPE}'"
    clause = text(f"(lower(name) {like} OR {words} {like})")
    return clause.bindparams(bindparam("text"))  # type: ignore[return-value]


def _pattern(wanted: str) -> str:
    """As it appears in the JSON of a spec, for LIKE; case-insensitive in ASCII."""
    plain = dumps(wanted)[1:-1].lower()
    for mark in (_ESCAPE, "%", "_"):
        plain = plain.replace(mark, _ESCAPE + mark)
    return f"%{plain}%"
