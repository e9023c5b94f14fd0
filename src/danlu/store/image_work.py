"""Whether a server that ended left images half done."""

from __future__ import annotations

from sqlalchemy import bindparam, select

from danlu.store.tables import image_checks, image_saves
from danlu.store.tx import Statement, Tx

_SAVING = Statement(select(image_saves.c.id).where(image_saves.c.ended_at.is_(None)))
_CHECKING = Statement(
    select(image_checks.c.image).where(image_checks.c.result == bindparam("state"))
)


def image_work_left(tx: Tx) -> bool:
    return tx.row(_SAVING) is not None or tx.row(_CHECKING, {"state": "running"}) is not None
