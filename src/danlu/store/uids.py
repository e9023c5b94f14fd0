"""Every uid and gid ever assigned, and to whom. Append-only."""

from __future__ import annotations

import time

from sqlalchemy import bindparam, insert, select

from danlu.store.tables import uids
from danlu.store.tx import Statement, Tx

_INSERT = Statement(insert(uids))
_HOLDER = Statement(select(uids.c.holder).where(uids.c.number == bindparam("asked")))
_ALL = Statement(select(uids.c.number))
_NUMBERS = Statement(
    select(uids.c.number).where(uids.c.holder == bindparam("of")).order_by(uids.c.number)
)


def note(tx: Tx, number: int, holder: str) -> None:
    """`holder`: user:ID or group:ID. Raises StoreConflict if the number was assigned before."""
    tx.run(_INSERT, {"number": number, "holder": holder, "at": time.time()})


def holder_of(tx: Tx, number: int) -> str | None:
    row = tx.row(_HOLDER, {"asked": number})
    return None if row is None else str(row[0])


def all_numbers(tx: Tx) -> list[int]:
    return [int(row[0]) for row in tx.rows(_ALL)]


def numbers_of(tx: Tx, holder: str) -> list[int]:
    return [int(row[0]) for row in tx.rows(_NUMBERS, {"of": holder})]
