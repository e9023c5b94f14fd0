"""When images were used, and how much folders held when they were last counted."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, insert, select, update

from danlu.store.rows import SizeRow
from danlu.store.tables import folder_sizes, image_uses
from danlu.store.tx import Statement, Tx

_image = (
    image_uses.c.runtime == bindparam("at_runtime"),
    image_uses.c.image == bindparam("called"),
)
_USES = Statement(
    select(image_uses.c.image, image_uses.c.used_at).where(
        image_uses.c.runtime == bindparam("at_runtime")
    )
)
_USED = Statement(update(image_uses).where(*_image).values({"used_at": bindparam("at")}))
_USE = Statement(insert(image_uses))
_UNUSED = Statement(delete(image_uses).where(*_image))
_size = (folder_sizes.c.kind == bindparam("of_kind"), folder_sizes.c.name == bindparam("called"))
_SIZES = Statement(select(*folder_sizes.c).order_by(folder_sizes.c.bytes.desc()))
_SIZE = Statement(insert(folder_sizes))
_NO_SIZE = Statement(delete(folder_sizes).where(*_size))


def image_used(tx: Tx, engine: str, image: str, at: float) -> None:
    if tx.run(_USED, {"at_runtime": engine, "called": image, "at": at}) == 0:
        tx.run(_USE, {"runtime": engine, "image": image, "used_at": at})


def uses(tx: Tx, engine: str) -> dict[str, float]:
    """Images that tasks of this engine used, and when last."""
    return {row[0]: float(row[1]) for row in tx.rows(_USES, {"at_runtime": engine})}


def forget_image(tx: Tx, engine: str, image: str) -> None:
    tx.run(_UNUSED, {"at_runtime": engine, "called": image})


def put_size(tx: Tx, row: SizeRow) -> None:
    forget_size(tx, row.kind, row.name)
    tx.run(
        _SIZE,
        {
            "kind": row.kind,
            "name": row.name,
            "bytes": row.bytes,
            "files": row.files,
            "counted_at": row.counted_at,
        },
    )


def forget_size(tx: Tx, kind: str, name: str) -> None:
    tx.run(_NO_SIZE, {"of_kind": kind, "called": name})


def sizes(tx: Tx) -> list[SizeRow]:
    """Largest first."""
    return [SizeRow(*row) for row in tx.rows(_SIZES)]
