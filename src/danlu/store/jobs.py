"""Jobs: what was requested, and their current state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    Integer,
    bindparam,
    func,
    insert,
    literal_column,
    or_,
    select,
    text,
)

from danlu.spec.states import Reason, State
from danlu.store.codec import KEY, changes, dumps, loads, update_of
from danlu.store.rows import JobRow, Sight
from danlu.store.specs import SHARED, ArraySpecs
from danlu.store.tables import ACTIVE, jobs
from danlu.store.tx import Row, Statement, Tx


class Inserted(NamedTuple):
    row: JobRow
    new: bool  # False: this id existed already, and `row` is the stored one


COLUMNS = (
    jobs.c.id,
    jobs.c.owner,
    jobs.c.name,
    jobs.c.number,
    jobs.c.kind,
    jobs.c.state,
    jobs.c.spec,
    jobs.c.queue,
    jobs.c.priority,
    jobs.c.submitted_at,
    jobs.c.seq,
    jobs.c.group,
    jobs.c.reason,
    jobs.c.detail,
    jobs.c.exit_code,
    jobs.c.started_at,
    jobs.c.ended_at,
    jobs.c.attempt,
    jobs.c.failures,
    jobs.c.faults,
    jobs.c.held,
    jobs.c.array_id,
    jobs.c.array_index,
)
_fields = attrgetter(*(field.name for field in fields(JobRow)))  # much faster than copy.copy
_active = text(ACTIVE)
_INSERT = Statement(insert(jobs))
_GET = Statement(select(*COLUMNS).where(jobs.c.id == bindparam("id")))
_BY_SEQ = Statement(select(*COLUMNS).where(jobs.c.seq == bindparam("called")))
_ACTIVE_JOBS = Statement(select(*COLUMNS).where(_active).order_by(jobs.c.seq))
_SOME_OF = Statement(
    select(*COLUMNS)
    .where(jobs.c.owner == bindparam("owner"))
    .order_by(jobs.c.seq)
    .limit(bindparam("most", type_=Integer))
    .offset(literal_column("0"))
)
_SUCCEEDED = Statement(
    select(*COLUMNS)
    .where(jobs.c.state == bindparam("state"))
    .order_by(jobs.c.seq.desc())
    .limit(bindparam("most", type_=Integer))
    .offset(literal_column("0"))
)
_ACTIVE_OF = Statement(
    select(func.count(literal_column("*"))).where(jobs.c.owner == bindparam("owner"), _active)
)
_LAST_SEQ = Statement(select(func.max(jobs.c.seq)))
_LAST_NUMBER = Statement(
    select(func.max(jobs.c.number)).where(
        jobs.c.owner == bindparam("owner"), jobs.c.name == bindparam("name")
    )
)
_ARRAY_NUMBER = Statement(
    select(func.max(jobs.c.number)).where(jobs.c.array_id == bindparam("array_id"))
)


def insert_jobs(tx: Tx, rows: Sequence[JobRow]) -> list[Inserted]:
    """Inserts all, in order, assigning `seq` and `number`; the rows passed in are not modified.
    Repeating an id changes nothing: elements that a stored array does not have are left out.
    """
    result: list[Inserted] = []
    fresh: dict[str, JobRow] = {}
    specs = ArraySpecs(tx)
    for row in rows:
        stored = fresh.get(row.id) or get_job(tx, row.id)
        if stored is not None:
            result.append(Inserted(stored, False))
            continue
        if row.array_id is not None and not specs.keep(row):
            continue
        new = JobRow(*_fields(row))
        new.number = _number(tx, row)
        new.seq = _next(tx, "jobs.seq", _LAST_SEQ)
        fresh[new.id] = new
        result.append(Inserted(new, True))
    if len(fresh) == 1:
        tx.run(_INSERT, _params(next(iter(fresh.values()))))
    elif fresh:
        tx.many(_INSERT, [_params(row) for row in fresh.values()])
    return result


def update_job(tx: Tx, id: str, **values: Any) -> bool:
    """Updates the given columns. False: no such job."""
    params = changes(jobs, values)
    statement = update_of(jobs, tuple(params))
    params[KEY] = id
    return tx.run(statement, params) == 1


def get_job(tx: Tx, id: str) -> JobRow | None:
    row = tx.row(_GET, {"id": id})
    return None if row is None else _job(row, ArraySpecs(tx))


def get_jobs(tx: Tx, ids: Iterable[str]) -> dict[str, JobRow]:
    """Those that exist, by id."""
    specs = ArraySpecs(tx)
    found = (tx.row(_GET, {"id": id}) for id in ids)
    return {row[0]: _job(row, specs) for row in found if row is not None}


def find_job(
    tx: Tx,
    owner: str | None,
    name: str,
    number: int,
    index: int | None = None,
    sight: Sight | None = None,
) -> list[JobRow]:
    """Resolves a reference: one job, all elements of an array, or (without an owner) jobs of
    several people. `sight` limits the search.
    """
    given = {"owner": owner, "name": name, "number": number, "index": index}
    params: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if sight is not None:
        params["me"] = sight.owner
        params |= {f"mine_{i}": group for i, group in enumerate(sight.groups)}
    groups = len(sight.groups) if sight is not None else None
    return rows_as_jobs(tx, tx.rows(_find(owner is not None, index is not None, groups), params))


def numbered(tx: Tx, seq: int, index: int | None = None) -> list[JobRow]:
    """A job by its global number; that of an array's first element stands for the whole array."""
    row = tx.row(_BY_SEQ, {"called": seq})
    if row is None:
        return []
    job = _job(row, ArraySpecs(tx))
    if job.array_id is None or job.array_id != job.id:
        return [job] if index is None else []
    return find_job(tx, job.owner, job.name, job.number, index)


def active_jobs(tx: Tx) -> list[JobRow]:
    """All that have not ended, in order of submission."""
    return rows_as_jobs(tx, tx.rows(_ACTIVE_JOBS))


def some_of(tx: Tx, owner: str, most: int) -> list[JobRow]:
    """Someone's oldest jobs; the limit may cut through an array."""
    return rows_as_jobs(tx, tx.rows(_SOME_OF, {"owner": owner, "most": most}))


def succeeded_lately(tx: Tx, most: int) -> list[JobRow]:
    """The most recently submitted of the successful jobs, oldest first."""
    return rows_as_jobs(tx, tx.rows(_SUCCEEDED, {"state": State.SUCCEEDED, "most": most}))[::-1]


def next_number(tx: Tx, owner: str, name: str) -> int:
    """Reserved for this transaction: the next call returns another."""
    params = {"owner": owner, "name": name}
    return _next(tx, ("jobs.number", owner, name), _LAST_NUMBER, params)


def count_active(tx: Tx, owner: str) -> int:
    """How many of someone's jobs have not ended."""
    row = tx.row(_ACTIVE_OF, {"owner": owner})
    return int(row[0]) if row else 0


@cache
def _find(owned: bool, indexed: bool, groups: int | None) -> Statement:
    query = select(*COLUMNS).where(
        jobs.c.name == bindparam("name"), jobs.c.number == bindparam("number")
    )
    if owned:
        query = query.where(jobs.c.owner == bindparam("owner"))
    if indexed:
        query = query.where(jobs.c.array_index == bindparam("index"))
    if groups is not None:
        mine: list[BindParameter[str]] = [bindparam(f"mine_{i}") for i in range(groups)]
        own = jobs.c.owner == bindparam("me")
        query = query.where(or_(own, jobs.c.group.in_(mine)) if mine else own)
    return Statement(query.order_by(jobs.c.seq))


def _number(tx: Tx, row: JobRow) -> int:
    """The next number for this owner and name. The elements of an array share one."""
    if row.array_id is None:
        return _next_number(tx, row)
    key = ("jobs.array", row.array_id)
    if key not in tx.memo:
        found = tx.row(_ARRAY_NUMBER, {"array_id": row.array_id})
        tx.memo[key] = found[0] if found and found[0] is not None else _next_number(tx, row)
    return tx.memo[key]


def _next_number(tx: Tx, row: JobRow) -> int:
    return next_number(tx, row.owner, row.name)


def _next(tx: Tx, key: object, last: Statement, params: dict[str, Any] | None = None) -> int:
    # Cached for the rest of the transaction, in which nobody else writes.
    if key not in tx.memo:
        row = tx.row(last, params or {})
        tx.memo[key] = (row and row[0]) or 0
    tx.memo[key] += 1
    return tx.memo[key]


def _params(row: JobRow) -> dict[str, Any]:
    return {
        "seq": row.seq,
        "id": row.id,
        "owner": row.owner,
        "name": row.name,
        "number": row.number,
        "array_id": row.array_id,
        "array_index": row.array_index,
        "kind": str(row.kind),
        "state": row.state.value,
        "reason": row.reason.value if row.reason is not None else None,
        "queue": row.queue,
        "group": row.group,
        "priority": row.priority,
        "submitted_at": row.submitted_at,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "exit_code": row.exit_code,
        "attempt": row.attempt,
        "failures": row.failures,
        "faults": row.faults,
        "held": row.held,
        "detail": dumps(row.detail),
        "spec": dumps(row.spec) if row.array_id is None else SHARED,
    }


def _job(row: Row, specs: ArraySpecs) -> JobRow:
    job = JobRow(*row)
    job.state = State(row[5])
    job.spec = specs.of(row[21]) if row[6] == SHARED else loads(row[6])
    job.reason = Reason(row[12]) if row[12] is not None else None
    job.detail = loads(row[13])
    job.held = bool(row[20])
    return job


def rows_as_jobs(tx: Tx, rows: Iterable[Row]) -> list[JobRow]:
    """The elements of an array share one `spec` value."""
    specs = ArraySpecs(tx)
    return [_job(row, specs) for row in rows]
