"""Environments: requests that people keep under a name, with their latest job."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, delete, func, insert, literal_column, or_, select

from danlu.store.codec import KEY, changes, dumps, loads, update_of
from danlu.store.rows import EnvironmentRow
from danlu.store.tables import environments
from danlu.store.tx import Row, Statement, Tx

_COLUMNS = (
    environments.c.id,
    environments.c.owner,
    environments.c.name,
    environments.c.created_at,
    environments.c.request,
    environments.c.shared,
    environments.c.job_id,
    environments.c.saved_image,
)
_mine = environments.c.owner == bindparam("of")
_SELECT = select(*_COLUMNS)
_ORDER = (environments.c.owner, environments.c.name)
_INSERT = Statement(insert(environments))
_GET = Statement(_SELECT.where(environments.c.id == bindparam("called")))
_FIND = Statement(_SELECT.where(_mine, environments.c.name == bindparam("called")))
_NAMED = Statement(_SELECT.where(environments.c.name == bindparam("called")).order_by(*_ORDER))
_OF_JOB = Statement(_SELECT.where(environments.c.job_id == bindparam("job")))
_SEEN = Statement(
    _SELECT.where(or_(_mine, environments.c.shared.like(bindparam("like")))).order_by(*_ORDER)
)
_ALL = Statement(_SELECT.order_by(*_ORDER))
_COUNT = Statement(select(func.count(literal_column("*"))).where(_mine))
_DELETE = Statement(delete(environments).where(environments.c.id == bindparam("called")))
_DELETE_ALL = Statement(delete(environments).where(_mine))


def add(tx: Tx, row: EnvironmentRow) -> None:
    """Raises StoreConflict if its owner has one of that name."""
    tx.run(
        _INSERT,
        {
            "id": row.id,
            "owner": row.owner,
            "name": row.name,
            "created_at": row.created_at,
            "request": dumps(row.request),
            "shared": dumps(row.shared),
            "job_id": row.job_id,
            "saved_image": row.saved_image,
        },
    )


def update(tx: Tx, id: str, **values: Any) -> bool:
    """Updates the given columns. False: no such environment."""
    params = changes(environments, values)
    statement = update_of(environments, tuple(params))
    params[KEY] = id
    return tx.run(statement, params) == 1


def get(tx: Tx, id: str) -> EnvironmentRow | None:
    return _one(tx.row(_GET, {"called": id}))


def find(tx: Tx, owner: str, name: str) -> EnvironmentRow | None:
    return _one(tx.row(_FIND, {"of": owner, "called": name}))


def named(tx: Tx, name: str) -> list[EnvironmentRow]:
    """Everybody's of that name."""
    return [_environment(row) for row in tx.rows(_NAMED, {"called": name})]


def of_job(tx: Tx, job_id: str) -> EnvironmentRow | None:
    """The environment whose latest job this is."""
    return _one(tx.row(_OF_JOB, {"job": job_id}))


def seen_by(tx: Tx, name: str) -> list[EnvironmentRow]:
    """Theirs, and those shared with them."""
    # An underscore stands for any letter here.
    rows = tx.rows(_SEEN, {"of": name, "like": f'%"{name}"%'})
    found = [_environment(row) for row in rows]
    return [row for row in found if row.owner == name or name in row.shared]


def every(tx: Tx) -> list[EnvironmentRow]:
    return [_environment(row) for row in tx.rows(_ALL)]


def count_of(tx: Tx, owner: str) -> int:
    row = tx.row(_COUNT, {"of": owner})
    return int(row[0]) if row else 0


def remove(tx: Tx, id: str) -> bool:
    return tx.run(_DELETE, {"called": id}) == 1


def remove_all(tx: Tx, owner: str) -> int:
    return tx.run(_DELETE_ALL, {"of": owner})


def _one(row: Row | None) -> EnvironmentRow | None:
    return None if row is None else _environment(row)


def _environment(row: Row) -> EnvironmentRow:
    found = EnvironmentRow(*row)
    found.request, found.shared = loads(row[4]), loads(row[5])
    return found
