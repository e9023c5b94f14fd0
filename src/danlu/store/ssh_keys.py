"""Public SSH keys of users. One key belongs to one user: it identifies them when they sign in."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, insert, select

from danlu.store.rows import SshKeyRow
from danlu.store.tables import ssh_keys
from danlu.store.tx import Statement, Tx

_INSERT = Statement(insert(ssh_keys))
_COLUMNS = select(*ssh_keys.columns)
_OF = Statement(_COLUMNS.where(ssh_keys.c.owner == bindparam("of")).order_by(ssh_keys.c.created_at))
_BY_FINGERPRINT = Statement(_COLUMNS.where(ssh_keys.c.fingerprint == bindparam("print")))
_DELETE = Statement(
    delete(ssh_keys).where(ssh_keys.c.id == bindparam("key"), ssh_keys.c.owner == bindparam("of"))
)
_DELETE_ALL = Statement(delete(ssh_keys).where(ssh_keys.c.owner == bindparam("of")))


def add(tx: Tx, row: SshKeyRow) -> None:
    tx.run(
        _INSERT,
        {
            "id": row.id,
            "owner": row.owner,
            "label": row.label,
            "fingerprint": row.fingerprint,
            "line": row.line,
            "created_at": row.created_at,
        },
    )


def of(tx: Tx, owner: str) -> list[SshKeyRow]:
    return [SshKeyRow(*row) for row in tx.rows(_OF, {"of": owner})]


def by_fingerprint(tx: Tx, fingerprint: str) -> SshKeyRow | None:
    row = tx.row(_BY_FINGERPRINT, {"print": fingerprint})
    return None if row is None else SshKeyRow(*row)


def remove(tx: Tx, owner: str, id: str) -> bool:
    return tx.run(_DELETE, {"key": id, "of": owner}) == 1


def remove_all(tx: Tx, owner: str) -> int:
    return tx.run(_DELETE_ALL, {"of": owner})
