"""Bundles: folders that people brought along, and the working folders made from them."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, func, insert, select, update

from danlu.store.rows import BundleFolderRow, BundleRow
from danlu.store.tables import bundle_folders, bundle_stores, bundles
from danlu.store.tx import Statement, Tx

_mine = bundles.c.owner == bindparam("of")
_this = bundles.c.id == bindparam("called")
_GET = Statement(select(*bundles.c).where(_mine, _this))
_ALL = Statement(select(*bundles.c).order_by(bundles.c.owner, bundles.c.used_at))
_OWN = Statement(select(*bundles.c).where(_mine).order_by(bundles.c.used_at))
_COUNT = Statement(select(func.count(bundles.c.id)).where(_mine))
_INSERT = Statement(insert(bundles))
_USED = Statement(update(bundles).where(_mine, _this).values({"used_at": bindparam("at")}))
_DELETE = Statement(delete(bundles).where(_mine, _this))
_stored = bundle_stores.c.owner == bindparam("of")
_STORED = Statement(
    select(bundle_stores.c.owner, bundle_stores.c.bytes, bundle_stores.c.counted_at)
)
_STORE = Statement(select(bundle_stores.c.bytes).where(_stored))
_STORE_INSERT = Statement(insert(bundle_stores))
_STORE_SET = Statement(
    update(bundle_stores)
    .where(_stored)
    .values({"bytes": bindparam("amount"), "counted_at": bindparam("at")})
)
_STORE_DELETE = Statement(delete(bundle_stores).where(_stored))
_FOLDERS = Statement(select(*bundle_folders.c).order_by(bundle_folders.c.made_at))
_FOLDER_INSERT = Statement(insert(bundle_folders))
_FOLDER_DELETE = Statement(
    delete(bundle_folders).where(bundle_folders.c.job_id == bindparam("job"))
)


def get(tx: Tx, owner: str, id: str) -> BundleRow | None:
    row = tx.row(_GET, {"of": owner, "called": id})
    return None if row is None else BundleRow(*row)


def every(tx: Tx) -> list[BundleRow]:
    """Those used longest ago first, by owner."""
    return [BundleRow(*row) for row in tx.rows(_ALL)]


def of_owner(tx: Tx, owner: str) -> list[BundleRow]:
    return [BundleRow(*row) for row in tx.rows(_OWN, {"of": owner})]


def count(tx: Tx, owner: str) -> int:
    row = tx.row(_COUNT, {"of": owner})
    return int(row[0]) if row else 0


def put(tx: Tx, row: BundleRow) -> None:
    """Adds it, or notes that it was used again."""
    if not used(tx, row.owner, row.id, row.used_at):
        tx.run(
            _INSERT,
            {
                "owner": row.owner,
                "id": row.id,
                "bytes": row.bytes,
                "files": row.files,
                "created_at": row.created_at,
                "used_at": row.used_at,
            },
        )


def used(tx: Tx, owner: str, id: str, at: float) -> bool:
    return tx.run(_USED, {"of": owner, "called": id, "at": at}) == 1


def remove(tx: Tx, owner: str, id: str) -> None:
    tx.run(_DELETE, {"of": owner, "called": id})


def stored(tx: Tx) -> dict[str, tuple[int, float]]:
    """Bytes by owner, and when they were counted."""
    return {row[0]: (int(row[1]), float(row[2])) for row in tx.rows(_STORED)}


def stored_for(tx: Tx, owner: str) -> int:
    row = tx.row(_STORE, {"of": owner})
    return int(row[0]) if row else 0


def set_stored(tx: Tx, owner: str, amount: int, at: float) -> None:
    if tx.run(_STORE_SET, {"of": owner, "amount": amount, "at": at}) == 0:
        tx.run(_STORE_INSERT, {"owner": owner, "bytes": amount, "counted_at": at})


def forget_store(tx: Tx, owner: str) -> None:
    tx.run(_STORE_DELETE, {"of": owner})


def folders(tx: Tx) -> list[BundleFolderRow]:
    return [BundleFolderRow(*row) for row in tx.rows(_FOLDERS)]


def add_folder(tx: Tx, row: BundleFolderRow) -> None:
    """Again after a retry: the first one counts."""
    tx.run(_FOLDER_DELETE, {"job": row.job_id})
    tx.run(
        _FOLDER_INSERT,
        {
            "job_id": row.job_id,
            "owner": row.owner,
            "bundle": row.bundle,
            "folder": row.folder,
            "made_at": row.made_at,
        },
    )


def remove_folder(tx: Tx, job_id: str) -> None:
    tx.run(_FOLDER_DELETE, {"job": job_id})
