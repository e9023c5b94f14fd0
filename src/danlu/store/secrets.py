"""A user's secrets, passed to tasks at launch. Lists show names only.

Values that were replaced or deleted are kept so that they stay masked in old logs.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from sqlalchemy import bindparam, delete, insert, select, update

from danlu.store.tables import old_secrets, secrets
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
MOST_OLD = 10  # per name

_RETIRED = Statement(
    select(old_secrets.c.value, old_secrets.c.retired_at)
    .where(old_secrets.c.owner == bindparam("of"), old_secrets.c.name == bindparam("called"))
    .order_by(old_secrets.c.retired_at.desc())
)
_RETIRE = Statement(insert(old_secrets))
_FORGET = Statement(
    delete(old_secrets).where(
        old_secrets.c.owner == bindparam("of"),
        old_secrets.c.name == bindparam("called"),
        old_secrets.c.retired_at <= bindparam("before"),
    )
)
_FORGET_ALL = Statement(delete(old_secrets).where(old_secrets.c.owner == bindparam("of")))
_DELETE_ALL = Statement(delete(secrets).where(secrets.c.owner == bindparam("of")))


def put_secret(tx: Tx, owner: str, name: str, value: str) -> None:
    now = time.time()
    _retire(tx, owner, name, now, unless=value)
    if tx.run(_UPDATE, {"of": owner, "called": name, "value": value, "at": now}) == 0:
        tx.run(_INSERT, {"owner": owner, "name": name, "value": value, "updated_at": now})


def get_secret(tx: Tx, owner: str, name: str) -> str | None:
    row = tx.row(_GET, {"of": owner, "called": name})
    return None if row is None else str(row[0])


def list_secrets(tx: Tx, owner: str) -> list[str]:
    return [str(row[0]) for row in tx.rows(_NAMES, {"of": owner})]


def delete_secret(tx: Tx, owner: str, name: str) -> bool:
    _retire(tx, owner, name, time.time())
    return tx.run(_DELETE, {"of": owner, "called": name}) == 1


def all_values(tx: Tx, owner: str, names: Collection[str]) -> list[str]:
    """The current values and those they replaced."""
    found: list[str] = []
    for name in names:
        value = get_secret(tx, owner, name)
        found += [] if value is None else [value]
        found += [str(row[0]) for row in tx.rows(_RETIRED, {"of": owner, "called": name})]
    return found


def delete_all(tx: Tx, owner: str) -> int:
    tx.run(_FORGET_ALL, {"of": owner})
    return tx.run(_DELETE_ALL, {"of": owner})


def _retire(tx: Tx, owner: str, name: str, at: float, unless: str | None = None) -> None:
    old = get_secret(tx, owner, name)
    if old is None or old == unless:
        return
    kept = tx.rows(_RETIRED, {"of": owner, "called": name})
    if len(kept) >= MOST_OLD:
        tx.run(_FORGET, {"of": owner, "called": name, "before": float(kept[MOST_OLD - 1][1])})
    tx.run(_RETIRE, {"owner": owner, "name": name, "value": old, "retired_at": at})
