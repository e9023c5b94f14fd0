"""Containers being saved as images, and where the registry has which layers."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import Integer, bindparam, delete, insert, literal_column, select

from danlu.store.codec import KEY, changes, update_of
from danlu.store.rows import ImageSaveRow
from danlu.store.tables import image_chains, image_saves
from danlu.store.tx import Row, Statement, Tx

_NEAR = 200
_COLUMNS = tuple(image_saves.c[field.name] for field in fields(ImageSaveRow))
_SELECT = select(*_COLUMNS)
_NEWEST = (image_saves.c.created_at.desc(), image_saves.c.id.desc())
_INSERT = Statement(insert(image_saves))
_GET = Statement(_SELECT.where(image_saves.c.id == bindparam("called")))
_OF = Statement(
    _SELECT.where(image_saves.c.owner == bindparam("of"))
    .order_by(*_NEWEST)
    .limit(bindparam("most", type_=Integer))
    .offset(literal_column("0"))
)
_ALL = Statement(
    _SELECT.order_by(*_NEWEST).limit(bindparam("most", type_=Integer)).offset(literal_column("0"))
)
_GOING = Statement(
    _SELECT.where(image_saves.c.ended_at.is_(None)).order_by(image_saves.c.created_at)
)
_CHAIN = Statement(
    select(image_chains.c.repository, image_chains.c.digest).where(
        image_chains.c.chain == bindparam("key")
    )
)
_FORGET_CHAIN = Statement(delete(image_chains).where(image_chains.c.chain == bindparam("key")))
_PLACES = Statement(
    select(image_chains.c.repository)
    .order_by(image_chains.c.at.desc())
    .limit(bindparam("most", type_=Integer))
    .offset(literal_column("0"))
)
_NEW_CHAIN = Statement(insert(image_chains))


def add(tx: Tx, row: ImageSaveRow) -> None:
    tx.run(_INSERT, asdict(row))


def update(tx: Tx, id: str, **values: Any) -> bool:
    params = changes(image_saves, values)
    statement = update_of(image_saves, tuple(params))
    params[KEY] = id
    return tx.run(statement, params) == 1


def get(tx: Tx, id: str) -> ImageSaveRow | None:
    row = tx.row(_GET, {"called": id})
    return None if row is None else _save(row)


def latest(tx: Tx, owner: str | None, most: int) -> list[ImageSaveRow]:
    """Of one person, or of everybody."""
    if owner is None:
        return [_save(row) for row in tx.rows(_ALL, {"most": most})]
    return [_save(row) for row in tx.rows(_OF, {"of": owner, "most": most})]


def going(tx: Tx) -> list[ImageSaveRow]:
    """Those that have not ended."""
    return [_save(row) for row in tx.rows(_GOING)]


def place_of(tx: Tx, chain: str) -> tuple[str, str] | None:
    """(repository, manifest) whose image begins with these layers."""
    row = tx.row(_CHAIN, {"key": chain})
    return None if row is None else (str(row[0]), str(row[1]))


def places(tx: Tx) -> list[str]:
    """Repositories that are known to have layers, the latest first."""
    return list(dict.fromkeys(str(row[0]) for row in tx.rows(_PLACES, {"most": _NEAR})))


def set_place(tx: Tx, chain: str, repository: str, digest: str, at: float) -> None:
    tx.run(_FORGET_CHAIN, {"key": chain})
    tx.run(_NEW_CHAIN, {"chain": chain, "repository": repository, "digest": digest, "at": at})


def _save(row: Row) -> ImageSaveRow:
    found = ImageSaveRow(*row)
    found.stop = bool(found.stop)
    return found
