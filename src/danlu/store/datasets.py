"""Datasets, their copies on fast volumes, and the speeds of volumes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update

from danlu.store.rows import CopyRow, DatasetRow, SpeedRow
from danlu.store.tables import dataset_copies, datasets, volume_speeds
from danlu.store.tx import Row, Statement, Tx

_this = datasets.c.name == bindparam("called")
_ALL = Statement(select(*datasets.c).order_by(datasets.c.name))
_GET = Statement(select(*datasets.c).where(_this))
_INSERT = Statement(insert(datasets))
_DELETE = Statement(delete(datasets).where(_this))
_CHANGED = tuple(column.name for column in datasets.c if column.name != "name")
_UPDATE = Statement(
    update(datasets).where(_this).values({name: bindparam(name) for name in _CHANGED})
)
_of = dataset_copies.c.dataset == bindparam("called")
_at = dataset_copies.c.node == bindparam("at_node")
_COPIES = Statement(select(*dataset_copies.c).order_by(dataset_copies.c.node))
_COPY = Statement(insert(dataset_copies))
_NO_COPY = Statement(delete(dataset_copies).where(_of, _at))
_NO_COPIES = Statement(delete(dataset_copies).where(_of))
_COPY_USED = Statement(update(dataset_copies).where(_of, _at).values({"used_at": bindparam("at")}))
_SPEEDS = Statement(select(*volume_speeds.c))
_SPEED = Statement(insert(volume_speeds))
_NO_SPEED = Statement(delete(volume_speeds).where(volume_speeds.c.volume == bindparam("called")))


def every(tx: Tx) -> list[DatasetRow]:
    return [_dataset(row) for row in tx.rows(_ALL)]


def get(tx: Tx, name: str) -> DatasetRow | None:
    row = tx.row(_GET, {"called": name})
    return None if row is None else _dataset(row)


def add(tx: Tx, row: DatasetRow) -> None:
    """Raises StoreConflict if the name is taken."""
    tx.run(_INSERT, asdict(row))


def put(tx: Tx, row: DatasetRow) -> bool:
    values: dict[str, Any] = asdict(row)
    return tx.run(_UPDATE, {**values, "called": values.pop("name")}) == 1


def remove(tx: Tx, name: str) -> bool:
    tx.run(_NO_COPIES, {"called": name})
    return tx.run(_DELETE, {"called": name}) == 1


def copies(tx: Tx) -> list[CopyRow]:
    return [CopyRow(*row) for row in tx.rows(_COPIES)]


def put_copy(tx: Tx, row: CopyRow) -> None:
    remove_copy(tx, row.dataset, row.node)
    tx.run(_COPY, asdict(row))


def remove_copy(tx: Tx, dataset: str, node: str) -> None:
    tx.run(_NO_COPY, {"called": dataset, "at_node": node})


def copy_used(tx: Tx, dataset: str, node: str, at: float) -> None:
    tx.run(_COPY_USED, {"called": dataset, "at_node": node, "at": at})


def speeds(tx: Tx) -> dict[str, SpeedRow]:
    return {row[0]: SpeedRow(*row) for row in tx.rows(_SPEEDS)}


def put_speed(tx: Tx, row: SpeedRow) -> None:
    tx.run(_NO_SPEED, {"called": row.volume})
    tx.run(_SPEED, asdict(row))


def _dataset(row: Row) -> DatasetRow:
    found = DatasetRow(*row)
    found.everywhere = bool(found.everywhere)
    return found
