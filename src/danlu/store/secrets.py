"""Secrets of a user, handed to tasks at launch. Lists show names only."""

from __future__ import annotations

import time

from sqlalchemy import bindparam, delete, insert, select, update

from danlu.store.tables import secrets
from danlu.store.tx import Statement, Tx

_mine = (secrets.c.owner == bindparam("of"), secrets.c.name == bindparam("called"))
_UPDATE = Statement(
    update(secrets).where(*_mine).values(value=bindparam("value"), updated_at=bindparam("at"))
)
_INSERT = Statement(insert(secrets))
_GET = Statement(select(secrets.c.value).where(*_mine))
_NAMES = Statement(
    select(secrets.c.name).where(secrets.c.owner == bindparam("of")).order_by(secrets.c.name)
)
_DELETE = Statement(delete(secrets).where(*_mine))
_DELETE_ALL = Statement(delete(secrets).where(secrets.c.owner == bindparam("of")))


def put_secret(tx: Tx, owner: str, name: str, value: str) -> None:
    now = time.time()
    if tx.run(_UPDATE, {"of": owner, "called": name, "value": value, "at": now}) == 0:
        tx.run(_INSERT, {"owner": owner, "name": name, "value": value, "updated_at": now})


def get_secret(tx: Tx, owner: str, name: str) -> str | None:
    row = tx.row(_GET, {"of": owner, "called": name})
    return None if row is None else str(row[0])


def list_secrets(tx: Tx, owner: str) -> list[str]:
    return [str(row[0]) for row in tx.rows(_NAMES, {"of": owner})]


def delete_secret(tx: Tx, owner: str, name: str) -> bool:
    return tx.run(_DELETE, {"of": owner, "called": name}) == 1


def delete_all(tx: Tx, owner: str) -> int:
    return tx.run(_DELETE_ALL, {"of": owner})
