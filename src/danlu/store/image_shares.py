"""With whom repositories of the registry are shared."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import bindparam, delete, insert, select

from danlu.store.rows import ImageShareRow
from danlu.store.tables import image_shares
from danlu.store.tx import Statement, Tx

USER, GROUP, ALL = "user", "group", "all"
_SELECT = select(
    image_shares.c.repository,
    image_shares.c.kind,
    image_shares.c.name,
    image_shares.c.created_at,
    image_shares.c.created_by,
)
_of = image_shares.c.repository == bindparam("repo")
_one = (_of, image_shares.c.kind == bindparam("what"), image_shares.c.name == bindparam("who"))
_ORDER = (image_shares.c.repository, image_shares.c.kind, image_shares.c.name)
_INSERT = Statement(insert(image_shares))
_GET = Statement(_SELECT.where(*_one))
_OF = Statement(_SELECT.where(_of).order_by(*_ORDER))
_ALL = Statement(_SELECT.order_by(*_ORDER))
_DELETE = Statement(delete(image_shares).where(*_one))
_DELETE_ALL = Statement(delete(image_shares).where(_of))


def add(tx: Tx, row: ImageShareRow) -> bool:
    """False: it was shared so before."""
    if tx.row(_GET, {"repo": row.repository, "what": row.kind, "who": row.name}) is not None:
        return False
    tx.run(
        _INSERT,
        {
            "repository": row.repository,
            "kind": row.kind,
            "name": row.name,
            "created_at": row.created_at,
            "created_by": row.created_by,
        },
    )
    return True


def remove(tx: Tx, repository: str, kind: str, name: str) -> bool:
    return tx.run(_DELETE, {"repo": repository, "what": kind, "who": name}) == 1


def remove_all(tx: Tx, repository: str) -> int:
    return tx.run(_DELETE_ALL, {"repo": repository})


def of(tx: Tx, repository: str) -> list[ImageShareRow]:
    return [ImageShareRow(*row) for row in tx.rows(_OF, {"repo": repository})]


def reaches(tx: Tx, repository: str, user: str, groups: Collection[str]) -> bool:
    """Whether it is shared with this person."""
    return any(_meets(row, user, groups) for row in of(tx, repository))


def shared_with(tx: Tx, user: str, groups: Collection[str]) -> list[str]:
    """Repositories that are shared with this person."""
    rows = [ImageShareRow(*row) for row in tx.rows(_ALL)]
    return sorted({row.repository for row in rows if _meets(row, user, groups)})


def _meets(row: ImageShareRow, user: str, groups: Collection[str]) -> bool:
    if row.kind == USER:
        return row.name == user
    return row.kind == ALL or row.name in groups
