"""Users and their tokens. Passwords and tokens are stored as hashes only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, literal_column, select, update

from danlu.store.codec import KEY, changes, update_of
from danlu.store.rows import TokenRow, UserRow
from danlu.store.tables import tokens, users
from danlu.store.tx import Row, Statement, Tx

_USER = (
    users.c.id,
    users.c.name,
    users.c.role,
    users.c.password_hash,
    users.c.created_at,
    users.c.must_change,
    users.c.status,
    users.c.full_name,
    users.c.uid,
    users.c.gid,
)
_TOKEN = (
    tokens.c.id,
    tokens.c.user_id,
    tokens.c.hash,
    tokens.c.label,
    tokens.c.created_at,
    tokens.c.expires_at,
    tokens.c.last_used_at,
    tokens.c.scope,
    tokens.c.kind,
    tokens.c.address,
)
_INSERT_USER = Statement(insert(users))
_USER_BY_NAME = Statement(select(*_USER).where(users.c.name == bindparam("name")))
_USER_BY_ID = Statement(select(*_USER).where(users.c.id == bindparam("id")))
_USERS = Statement(select(*_USER).order_by(users.c.name))
_PASSWORD = Statement(
    update(users)
    .where(users.c.id == bindparam("user"))
    .values(password_hash=bindparam("hash"), must_change=bindparam("must"))
)
_INSERT_TOKEN = Statement(insert(tokens))
_FIND_TOKEN = Statement(
    select(*_TOKEN, *_USER).join(users).where(tokens.c.hash == bindparam("hash"))
)
_TOKENS_OF = Statement(
    select(*_TOKEN).where(tokens.c.user_id == bindparam("user")).order_by(tokens.c.created_at)
)
_USED = Statement(
    update(tokens)
    .where(tokens.c.id == bindparam("token"))
    .values(last_used_at=bindparam("at"), expires_at=bindparam("until"))
)
_SIGN_INS = Statement(
    select(tokens.c.created_at, users.c.name, tokens.c.address)
    .join_from(tokens, users, tokens.c.user_id == users.c.id)
    .where(tokens.c.kind == bindparam("kind"))
)
_REVOKE = Statement(delete(tokens).where(tokens.c.id == bindparam("token")))
_REVOKE_ALL = Statement(delete(tokens).where(tokens.c.user_id == bindparam("user")))
_REVOKE_KIND = Statement(
    delete(tokens).where(
        tokens.c.user_id == bindparam("user"),
        tokens.c.kind == bindparam("kind"),
        tokens.c.id != bindparam("but"),
    )
)
_REVOKE_EXPIRED = Statement(delete(tokens).where(tokens.c.expires_at < bindparam("before")))
_GET_TOKEN = Statement(select(*_TOKEN).where(tokens.c.id == bindparam("id")))
_COUNT_ACTIVE = Statement(
    select(func.count(literal_column("*"))).where(
        users.c.status == bindparam("status"), users.c.role == bindparam("role")
    )
)
_COUNT_LEFT = Statement(
    select(func.count(literal_column("*"))).where(users.c.status != bindparam("status"))
)


def insert_user(tx: Tx, row: UserRow) -> None:
    """Raises StoreConflict if the name is taken."""
    tx.run(_INSERT_USER, asdict(row))


def get_user(tx: Tx, name: str) -> UserRow | None:
    row = tx.row(_USER_BY_NAME, {"name": name})
    return None if row is None else _user(row)


def get_user_by_id(tx: Tx, id: str) -> UserRow | None:
    row = tx.row(_USER_BY_ID, {"id": id})
    return None if row is None else _user(row)


def list_users(tx: Tx) -> list[UserRow]:
    return [_user(row) for row in tx.rows(_USERS)]


def update_user(tx: Tx, id: str, **values: Any) -> bool:
    """Updates the given columns. False: no such user. Raises StoreConflict for a uid in use."""
    params = changes(users, values)
    statement = update_of(users, tuple(params))
    return tx.run(statement, {**params, KEY: id}) == 1


def count_admins(tx: Tx) -> int:
    """Users who may sign in."""
    row = tx.row(_COUNT_ACTIVE, {"status": "active", "role": "admin"})
    return int(row[0]) if row else 0


def count_users(tx: Tx) -> int:
    """Without removed users."""
    row = tx.row(_COUNT_LEFT, {"status": "removed"})
    return int(row[0]) if row else 0


def set_password(tx: Tx, user_id: str, password_hash: str, must_change: bool = False) -> bool:
    params = {"user": user_id, "hash": password_hash, "must": must_change}
    return tx.run(_PASSWORD, params) == 1


def insert_token(tx: Tx, row: TokenRow) -> None:
    tx.run(_INSERT_TOKEN, asdict(row))


def find_token(tx: Tx, hash: str) -> tuple[TokenRow, UserRow] | None:
    """The token and its owner. The caller checks whether it has expired or its owner is
    disabled.
    """
    row = tx.row(_FIND_TOKEN, {"hash": hash})
    if row is None:
        return None
    return TokenRow(*row[: len(_TOKEN)]), _user(row[len(_TOKEN) :])


def tokens_of(tx: Tx, user_id: str) -> list[TokenRow]:
    return [TokenRow(*row) for row in tx.rows(_TOKENS_OF, {"user": user_id})]


def get_token(tx: Tx, id: str) -> TokenRow | None:
    row = tx.row(_GET_TOKEN, {"id": id})
    return None if row is None else TokenRow(*row)


def token_used(tx: Tx, token_id: str, at: float, until: float | None) -> None:
    """`until`: the new expiry."""
    tx.run(_USED, {"token": token_id, "at": at, "until": until})


def sign_ins(tx: Tx, kinds: Sequence[str]) -> list[tuple[str, str]]:
    """Name and address of every open session, oldest first."""
    rows = [row for kind in kinds for row in tx.rows(_SIGN_INS, {"kind": kind})]
    return [(name, address) for _, name, address in sorted(rows)]


def revoke(tx: Tx, token_id: str) -> bool:
    return tx.run(_REVOKE, {"token": token_id}) == 1


def revoke_all(tx: Tx, user_id: str) -> int:
    return tx.run(_REVOKE_ALL, {"user": user_id})


def revoke_kinds(tx: Tx, user_id: str, kinds: Sequence[str], but: str = "") -> int:
    """All tokens of these kinds but one. How many there were."""
    return sum(tx.run(_REVOKE_KIND, {"user": user_id, "kind": kind, "but": but}) for kind in kinds)


def revoke_expired(tx: Tx, before: float) -> int:
    return tx.run(_REVOKE_EXPIRED, {"before": before})


def _user(row: Row) -> UserRow:
    user = UserRow(*row)
    user.must_change = bool(user.must_change)
    return user
