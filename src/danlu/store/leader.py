"""Leadership, and the mark every write transaction leaves.

Each write transaction first locks the single row of `leader`. So all commits of all servers have
one order, numbers taken inside are free of races, and a deposed server notices before it changes
anything. It then writes its token: if the answer to a COMMIT is lost, the token tells whether it
took effect.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import bindparam, delete, insert, select, update

from danlu.store.errors import deposed
from danlu.store.tables import batches, leader
from danlu.store.tx import Statement, Tx

KEEP_BATCHES = 7 * 86400.0

_EPOCH = Statement(select(leader.c.epoch).with_for_update())
_LEADER = Statement(select(leader.c.epoch, leader.c.holder, leader.c.at))
_TAKE = Statement(
    update(leader)
    .values(epoch=leader.c.epoch + bindparam("one"), holder=bindparam("holder"), at=bindparam("at"))
    .returning(leader.c.epoch)
)
_MARK = Statement(
    update(batches)
    .where(batches.c.writer == bindparam("me"))
    .values(token=bindparam("token"), at=bindparam("at"))
)
_FIRST_MARK = Statement(insert(batches))
_MARKED = Statement(select(batches.c.token).where(batches.c.writer == bindparam("me")))
_TIDY = Statement(delete(batches).where(batches.c.at < bindparam("before")))
_LEAVE = Statement(delete(batches).where(batches.c.writer == bindparam("me")))


@dataclass(frozen=True, slots=True)
class Leader:
    epoch: int
    holder: str
    at: float  # when it took over


def current(tx: Tx) -> Leader:
    row = tx.row(_LEADER)
    assert row is not None, "the first migration made this row"
    return Leader(*row)


def take(tx: Tx, holder: str) -> int:
    """Returns a new epoch, larger than all before; the previous leader is deposed."""
    now = time.time()
    tx.run(_TIDY, {"before": now - KEEP_BATCHES})
    row = tx.row(_TAKE, {"one": 1, "holder": holder, "at": now})
    assert row is not None
    return int(row[0])


def enter(tx: Tx, writer: str, token: int, epoch: int | None) -> None:
    """Begins a write transaction: takes the lock, checks that we still lead, leaves the mark."""
    row = tx.row(_EPOCH)
    assert row is not None
    if epoch is not None and row[0] != epoch:
        raise deposed(epoch, row[0])
    mark = {"me": writer, "token": token, "at": time.time()}
    if tx.run(_MARK, mark) == 0:
        tx.run(_FIRST_MARK, {"writer": writer, "token": token, "at": mark["at"]})


def committed(tx: Tx, writer: str, token: int) -> bool:
    """Whether our transaction with this token was committed.

    The lock makes the answer final: it is free only after the old connection's transaction has
    ended.
    """
    tx.row(_EPOCH)
    row = tx.row(_MARKED, {"me": writer})
    return row is not None and row[0] == token


def leave(tx: Tx, writer: str) -> None:
    tx.run(_LEAVE, {"me": writer})
