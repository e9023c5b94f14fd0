"""Public SSH keys of users. Who signs in names themselves, so two users may have the same key:
nobody can keep another from adding theirs.
"""

from __future__ import annotations

from sqlalchemy import bindparam, delete, insert, select

from danlu.store.rows import SshKeyRow
from danlu.store.tables import ssh_keys
from danlu.store.tx import Statement, Tx

_INSERT = Statement(insert(ssh_keys))
_COLUMNS = select(*ssh_keys.columns)
_OF = Statement(_COLUMNS.where(ssh_keys.c.owner == bindparam("of")).order_by(ssh_keys.c.created_at))
_FIND = Statement(
    _COLUMNS.where(
        ssh_keys.c.owner == bindparam("of"), ssh_keys.c.fingerprint == bindparam("print")
    )
)
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


def has(tx: Tx, owner: str, fingerprint: str) -> bool:
    return tx.row(_FIND, {"of": owner, "print": fingerprint}) is not None


def remove(tx: Tx, owner: str, id: str) -> bool:
    return tx.run(_DELETE, {"key": id, "of": owner}) == 1


def remove_all(tx: Tx, owner: str) -> int:
    return tx.run(_DELETE_ALL, {"of": owner})
