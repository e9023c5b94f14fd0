"""Storage of their own that people asked for."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update

from danlu.store.rows import StorageRequestRow
from danlu.store.tables import storage_requests
from danlu.store.tx import Statement, Tx

_this = storage_requests.c.id == bindparam("called")
_ALL = Statement(select(*storage_requests.c).order_by(storage_requests.c.created_at))
_GET = Statement(select(*storage_requests.c).where(_this))
_INSERT = Statement(insert(storage_requests))
_DELETE = Statement(delete(storage_requests).where(_this))
_DECIDED = ("options", "state", "decided_by", "reason")
_DECIDE = Statement(
    update(storage_requests).where(_this).values({name: bindparam(name) for name in _DECIDED})
)


def every(tx: Tx) -> list[StorageRequestRow]:
    return [StorageRequestRow(*row) for row in tx.rows(_ALL)]


def get(tx: Tx, id: str) -> StorageRequestRow | None:
    row = tx.row(_GET, {"called": id})
    return None if row is None else StorageRequestRow(*row)


def add(tx: Tx, row: StorageRequestRow) -> None:
    tx.run(_INSERT, asdict(row))


def decide(tx: Tx, row: StorageRequestRow) -> bool:
    values: dict[str, Any] = {name: getattr(row, name) for name in _DECIDED}
    return tx.run(_DECIDE, {**values, "called": row.id}) == 1


def remove(tx: Tx, id: str) -> bool:
    return tx.run(_DELETE, {"called": id}) == 1
