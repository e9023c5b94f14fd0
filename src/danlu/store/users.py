"""Users and their tokens. Only hashes are kept, of passwords and of tokens."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import bindparam, delete, insert, select, update

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
    users.c.disabled,
)
_TOKEN = (
    tokens.c.id,
    tokens.c.user_id,
    tokens.c.hash,
    tokens.c.label,
    tokens.c.created_at,
    tokens.c.expires_at,
    tokens.c.last_used_at,
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
    update(tokens).where(tokens.c.id == bindparam("token")).values(last_used_at=bindparam("at"))
)
_REVOKE = Statement(delete(tokens).where(tokens.c.id == bindparam("token")))
_REVOKE_ALL = Statement(delete(tokens).where(tokens.c.user_id == bindparam("user")))


def insert_user(tx: Tx, row: UserRow) -> None:
    """StoreConflict where the name is taken."""
    tx.run(_INSERT_USER, asdict(row))


def get_user(tx: Tx, name: str) -> UserRow | None:
    row = tx.row(_USER_BY_NAME, {"name": name})
    return None if row is None else _user(row)


def get_user_by_id(tx: Tx, id: str) -> UserRow | None:
    row = tx.row(_USER_BY_ID, {"id": id})
    return None if row is None else _user(row)


def list_users(tx: Tx) -> list[UserRow]:
    return [_user(row) for row in tx.rows(_USERS)]


def set_password(tx: Tx, user_id: str, password_hash: str, must_change: bool = False) -> bool:
    params = {"user": user_id, "hash": password_hash, "must": must_change}
    return tx.run(_PASSWORD, params) == 1


def insert_token(tx: Tx, row: TokenRow) -> None:
    tx.run(_INSERT_TOKEN, asdict(row))


def find_token(tx: Tx, hash: str) -> tuple[TokenRow, UserRow] | None:
    """The token and whose it is. Whether it has expired, or its user is disabled, is for the
    caller to judge."""
    row = tx.row(_FIND_TOKEN, {"hash": hash})
    if row is None:
        return None
    return TokenRow(*row[: len(_TOKEN)]), _user(row[len(_TOKEN) :])


def tokens_of(tx: Tx, user_id: str) -> list[TokenRow]:
    return [TokenRow(*row) for row in tx.rows(_TOKENS_OF, {"user": user_id})]


def token_used(tx: Tx, token_id: str, at: float) -> None:
    tx.run(_USED, {"token": token_id, "at": at})


def revoke(tx: Tx, token_id: str) -> bool:
    return tx.run(_REVOKE, {"token": token_id}) == 1


def revoke_all(tx: Tx, user_id: str) -> int:
    return tx.run(_REVOKE_ALL, {"user": user_id})


def _user(row: Row) -> UserRow:
    user = UserRow(*row)
    user.must_change, user.disabled = bool(user.must_change), bool(user.disabled)
    return user
