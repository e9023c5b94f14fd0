"""Volumes an admin declared while the server ran."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import bindparam, delete, insert, select, update

from danlu.store.codec import dumps, loads
from danlu.store.rows import VolumeRow
from danlu.store.tables import volumes
from danlu.store.tx import Row, Statement, Tx

_LISTS = ("groups", "users", "nodes")
_CHANGED = (
    "source",
    "target",
    "read_only",
    "everywhere",
    *_LISTS,
    "tier",
    "note",
)
_VOLUME = (
    volumes.c.name,
    *(volumes.c[name] for name in _CHANGED),
    volumes.c.created_at,
)
_ALL = Statement(select(*_VOLUME).order_by(volumes.c.name))
_INSERT = Statement(insert(volumes))
_UPDATE = Statement(
    update(volumes)
    .where(volumes.c.name == bindparam("called"))
    .values({name: bindparam(name) for name in _CHANGED})
)
_DELETE = Statement(delete(volumes).where(volumes.c.name == bindparam("called")))


def list_volumes(tx: Tx) -> list[VolumeRow]:
    return [_volume(row) for row in tx.rows(_ALL)]


def insert_volume(tx: Tx, row: VolumeRow) -> None:
    """Raises StoreConflict if the name is taken."""
    tx.run(_INSERT, _params(row))


def update_volume(tx: Tx, row: VolumeRow) -> bool:
    params = _params(row)
    del params["created_at"]
    return tx.run(_UPDATE, {**params, "called": params.pop("name")}) == 1


def delete_volume(tx: Tx, name: str) -> bool:
    return tx.run(_DELETE, {"called": name}) == 1


def _params(row: VolumeRow) -> dict[str, object]:
    values = asdict(row)
    return {**values, **{name: dumps(values[name]) for name in _LISTS}}


def _volume(row: Row) -> VolumeRow:
    volume = VolumeRow(*row)
    volume.read_only, volume.everywhere = bool(volume.read_only), bool(volume.everywhere)
    for name in _LISTS:
        setattr(volume, name, loads(getattr(volume, name)))
    return volume
