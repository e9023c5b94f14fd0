"""How much people and groups may keep in their folders, as admins have set it."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, insert, select

from danlu.store.tables import folder_quotas
from danlu.store.tx import Statement, Tx

_ALL = Statement(select(folder_quotas.c.kind, folder_quotas.c.name, folder_quotas.c.bytes))
_INSERT = Statement(insert(folder_quotas))
_DELETE = Statement(
    delete(folder_quotas).where(
        folder_quotas.c.kind == bindparam("of"), folder_quotas.c.name == bindparam("called")
    )
)


def read(tx: Tx) -> dict[tuple[str, str], int | None]:
    """By kind (user or group) and name; None: no limit."""
    return {(row[0], row[1]): row[2] for row in tx.rows(_ALL)}


def put(tx: Tx, kind: str, name: str, most: int | None, at: float) -> None:
    remove(tx, kind, name)
    tx.run(_INSERT, {"kind": kind, "name": name, "bytes": most, "at": at})


def remove(tx: Tx, kind: str, name: str) -> bool:
    return tx.run(_DELETE, {"of": kind, "called": name}) == 1
