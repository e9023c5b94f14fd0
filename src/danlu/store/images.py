"""The catalogue of images: what people can choose, what was tried in it, what is inside."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import and_, bindparam, delete, insert, select

from danlu.store.codec import KEY, changes, dumps, loads, update_of
from danlu.store.rows import ImageCheckRow, ImageRow
from danlu.store.tables import image_checks, image_layers, images
from danlu.store.tx import Row, Statement, Tx

_COLUMNS = tuple(images.c[field.name] for field in fields(ImageRow))
_SELECT = select(*_COLUMNS)
_ORDER = (images.c.name, images.c.owner)
_INSERT = Statement(insert(images))
_GET = Statement(_SELECT.where(images.c.id == bindparam("called")))
_NAMED = Statement(_SELECT.where(images.c.name == bindparam("called")).order_by(*_ORDER))
_ALL = Statement(select(*_COLUMNS[:-1]).order_by(*_ORDER))
_DELETE = Statement(delete(images).where(images.c.id == bindparam("called")))
_CHECK_COLUMNS = tuple(image_checks.c[field.name] for field in fields(ImageCheckRow))
_CHECKS = Statement(
    select(*_CHECK_COLUMNS)
    .where(image_checks.c.image == bindparam("of"))
    .order_by(image_checks.c.at.desc(), image_checks.c.check)
)
_ALL_CHECKS = Statement(select(*_CHECK_COLUMNS).order_by(image_checks.c.at.desc()))
_NEW_CHECK = Statement(insert(image_checks))
_FORGET_CHECK = Statement(
    delete(image_checks).where(
        and_(
            image_checks.c.image == bindparam("of"),
            image_checks.c.digest == bindparam("known"),
            image_checks.c.check == bindparam("tried"),
        )
    )
)
_FORGET_CHECKS = Statement(delete(image_checks).where(image_checks.c.image == bindparam("of")))
_LAYER = Statement(
    select(image_layers.c.packages).where(image_layers.c.digest == bindparam("known"))
)
_NEW_LAYER = Statement(insert(image_layers))


def add(tx: Tx, row: ImageRow) -> None:
    """Raises StoreConflict if its owner has one of that name."""
    tx.run(_INSERT, {**asdict(row), "inside": dumps(row.inside)})


def update(tx: Tx, id: str, **values: Any) -> bool:
    params = changes(images, values)
    statement = update_of(images, tuple(params))
    params[KEY] = id
    return tx.run(statement, params) == 1


def get(tx: Tx, id: str) -> ImageRow | None:
    row = tx.row(_GET, {"called": id})
    return None if row is None else _image(row)


def named(tx: Tx, name: str) -> list[ImageRow]:
    """Everybody's of that name."""
    return [_image(row) for row in tx.rows(_NAMED, {"called": name})]


def every(tx: Tx) -> list[ImageRow]:
    """Without what is inside them: that is megabytes, if somebody wants it to be."""
    rows = [ImageRow(*row) for row in tx.rows(_ALL)]
    for row in rows:
        row.ready = bool(row.ready)
    return rows


def remove(tx: Tx, id: str) -> bool:
    tx.run(_FORGET_CHECKS, {"of": id})
    return tx.run(_DELETE, {"called": id}) == 1


def checks_of(tx: Tx, id: str) -> list[ImageCheckRow]:
    """The latest first."""
    return [ImageCheckRow(*row) for row in tx.rows(_CHECKS, {"of": id})]


def every_check(tx: Tx) -> list[ImageCheckRow]:
    return [ImageCheckRow(*row) for row in tx.rows(_ALL_CHECKS)]


def set_check(tx: Tx, row: ImageCheckRow) -> None:
    tx.run(_FORGET_CHECK, {"of": row.image, "known": row.digest, "tried": row.check})
    tx.run(_NEW_CHECK, asdict(row))


def forget_checks(tx: Tx, id: str, digest: str, job: str) -> None:
    """Those of this job: the image has turned out to have another digest."""
    for row in checks_of(tx, id):
        if row.digest == digest and row.job == job:
            tx.run(_FORGET_CHECK, {"of": id, "known": digest, "tried": row.check})


def packages_of(tx: Tx, layer: str) -> dict[str, Any] | None:
    """None: nobody has looked into it."""
    row = tx.row(_LAYER, {"known": layer})
    found: dict[str, Any] | None = None if row is None else loads(row[0])
    return found


def set_packages(tx: Tx, layer: str, packages: dict[str, Any], at: float) -> None:
    if packages_of(tx, layer) is None:
        tx.run(_NEW_LAYER, {"digest": layer, "packages": dumps(packages), "at": at})


def _image(row: Row) -> ImageRow:
    found = ImageRow(*row)
    found.ready, found.inside = bool(found.ready), loads(row[-1])
    return found
