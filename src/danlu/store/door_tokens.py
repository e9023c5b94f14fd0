"""What browsers show at the doors of jobs: stored as hashes only, gone with their sign-in."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, insert, select

from danlu.store.rows import DoorTokenRow
from danlu.store.tables import door_tokens
from danlu.store.tx import Statement, Tx

MOST = 200  # of one person; the oldest go first

_INSERT = Statement(insert(door_tokens))
_BY_HASH = Statement(select(*door_tokens.columns).where(door_tokens.c.hash == bindparam("of")))
_OF = Statement(
    select(door_tokens.c.hash)
    .where(door_tokens.c.user_id == bindparam("of"))
    .order_by(door_tokens.c.created_at.desc())
)
_DELETE = Statement(delete(door_tokens).where(door_tokens.c.hash == bindparam("of")))
_EXPIRED = Statement(delete(door_tokens).where(door_tokens.c.expires_at < bindparam("now")))


def add(tx: Tx, row: DoorTokenRow) -> None:
    tx.run(_EXPIRED, {"now": row.created_at})
    for (hash,) in tx.rows(_OF, {"of": row.user_id})[MOST - 1 :]:
        tx.run(_DELETE, {"of": hash})
    tx.run(
        _INSERT,
        {
            "hash": row.hash,
            "token_id": row.token_id,
            "user_id": row.user_id,
            "job_id": row.job_id,
            "task": row.task,
            "target": row.target,
            "address": row.address,
            "created_at": row.created_at,
            "expires_at": row.expires_at,
        },
    )


def get(tx: Tx, hash: str) -> DoorTokenRow | None:
    row = tx.row(_BY_HASH, {"of": hash})
    return None if row is None else DoorTokenRow(*row)
