"""Small facts about this installation, such as its id."""

from __future__ import annotations

from sqlalchemy import bindparam, insert, select, update

from danlu.spec.ids import uuid7
from danlu.store.tables import meta
from danlu.store.tx import Statement, Tx

_this = meta.c.key == bindparam("called")
_GET = Statement(select(meta.c.value).where(_this))
_UPDATE = Statement(update(meta).where(_this).values(value=bindparam("value")))
_INSERT = Statement(insert(meta))


INSTALLATION = "installation"


def installation(tx: Tx) -> str | None:
    """The installation's id, carried by everything it launches. None: not created yet."""
    return get_meta(tx, INSTALLATION)


def make_installation(tx: Tx) -> str:
    """Created once; servers on the same database share it."""
    return meta_once(tx, INSTALLATION, uuid7())


def get_meta(tx: Tx, key: str) -> str | None:
    row = tx.row(_GET, {"called": key})
    return None if row is None else str(row[0])


def put_meta(tx: Tx, key: str, value: str) -> None:
    if tx.run(_UPDATE, {"called": key, "value": value}) == 0:
        tx.run(_INSERT, {"key": key, "value": value})


def meta_once(tx: Tx, key: str, value: str) -> str:
    """The value stored for this key; `value` if there was none."""
    found = get_meta(tx, key)
    if found is not None:
        return found
    tx.run(_INSERT, {"key": key, "value": value})
    return value
