"""Invitations, and requests from people without one."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import bindparam, delete, func, insert, literal_column, select, update

from danlu.store.rows import InviteRow, RequestRow
from danlu.store.tables import groups, invites, requests
from danlu.store.tx import Statement, Tx

_INVITE = (
    invites.c.id,
    invites.c.hash,
    invites.c.hint,
    invites.c.group_id,
    invites.c.created_by,
    invites.c.created_at,
    invites.c.expires_at,
    invites.c.uses,
    invites.c.used,
    invites.c.note,
    groups.c.name,
)
_REQUEST = (
    requests.c.id,
    requests.c.name,
    requests.c.full_name,
    requests.c.password_hash,
    requests.c.group,
    requests.c.note,
    requests.c.created_at,
    requests.c.address,
)
_invites = select(*_INVITE).select_from(invites.outerjoin(groups))
_requests = select(*_REQUEST)
_INSERT_INVITE = Statement(insert(invites))
_INVITE_BY_HASH = Statement(_invites.where(invites.c.hash == bindparam("hash")))
_INVITE_BY_ID = Statement(_invites.where(invites.c.id == bindparam("id")))
_INVITES = Statement(_invites.order_by(invites.c.created_at))
_USE = Statement(
    update(invites)
    .where(invites.c.id == bindparam("invite"), invites.c.used < invites.c.uses)
    .values(used=invites.c.used + literal_column("1"))
)
_REVOKE = Statement(delete(invites).where(invites.c.id == bindparam("invite")))
_INSERT_REQUEST = Statement(insert(requests))
_REQUEST_BY_NAME = Statement(_requests.where(requests.c.name == bindparam("name")))
_REQUESTS = Statement(_requests.order_by(requests.c.created_at))
_COUNT = Statement(select(func.count(literal_column("*"))).select_from(requests))
_SETTLE = Statement(delete(requests).where(requests.c.id == bindparam("request")))


def insert_invite(tx: Tx, row: InviteRow) -> None:
    values = asdict(row)
    del values["group"]
    tx.run(_INSERT_INVITE, values)


def find_invite(tx: Tx, hash: str) -> InviteRow | None:
    """The caller checks whether it has expired or is used up."""
    row = tx.row(_INVITE_BY_HASH, {"hash": hash})
    return None if row is None else InviteRow(*row)


def get_invite(tx: Tx, id: str) -> InviteRow | None:
    row = tx.row(_INVITE_BY_ID, {"id": id})
    return None if row is None else InviteRow(*row)


def list_invites(tx: Tx) -> list[InviteRow]:
    """Oldest first."""
    return [InviteRow(*row) for row in tx.rows(_INVITES)]


def use_invite(tx: Tx, id: str) -> bool:
    """False: it has been used up."""
    return tx.run(_USE, {"invite": id}) == 1


def revoke_invite(tx: Tx, id: str) -> bool:
    return tx.run(_REVOKE, {"invite": id}) == 1


def insert_request(tx: Tx, row: RequestRow) -> None:
    """Raises StoreConflict if the name has been requested already."""
    tx.run(_INSERT_REQUEST, asdict(row))


def get_request(tx: Tx, name: str) -> RequestRow | None:
    row = tx.row(_REQUEST_BY_NAME, {"name": name})
    return None if row is None else RequestRow(*row)


def list_requests(tx: Tx) -> list[RequestRow]:
    """Oldest first."""
    return [RequestRow(*row) for row in tx.rows(_REQUESTS)]


def count_requests(tx: Tx) -> int:
    row = tx.row(_COUNT)
    return int(row[0]) if row else 0


def settle_request(tx: Tx, id: str) -> bool:
    """Decided: the row is removed, the audit log keeps it."""
    return tx.run(_SETTLE, {"request": id}) == 1
