"""The first account: its token, and its one-time password until somebody has seen it."""

from __future__ import annotations

from pathlib import Path

from danlu.access.gate import create_admin, digest_of, new_token, token_row
from danlu.access.passwords import verify_password
from danlu.server import files
from danlu.store import users
from danlu.store.rows import UserRow
from danlu.store.store import Store
from danlu.store.tx import Tx

ADMIN = "admin"


async def prepare(store: Store, data: Path) -> tuple[str, str | None]:
    """The admin's token, and the one-time password if it has not been shown yet."""
    kept = files.read_json(_path(data))
    token = str(kept.get("token") or new_token())
    known = await store.read(lambda tx: users.get_user(tx, ADMIN))
    if await store.read(lambda tx: users.find_token(tx, digest_of(token))) is not None:
        return token, _unseen(kept.get("password"), known)
    made = create_admin(ADMIN) if known is None else None
    user_id = made[0].id if made is not None else known.id if known is not None else ""
    row = token_row(user_id, token, "this machine", kind="machine")

    def op(tx: Tx) -> None:
        if made is not None:
            users.insert_user(tx, made[0])
        users.insert_token(tx, row)

    # Both are saved before they become valid; the other way round, a crash would lose them.
    password = made[1] if made is not None else None
    _write(data, token, password)
    await store.write(op)
    return token, password


def shown(data: Path) -> None:
    """Forgets the password, which is on the screen now, or has been replaced."""
    kept = files.read_json(_path(data))
    if "password" in kept:
        _write(data, str(kept["token"]), None)


def _unseen(password: object, known: UserRow | None) -> str | None:
    if not isinstance(password, str) or known is None or not known.must_change:
        return None
    return password if verify_password(known.password_hash, password) else None


def _write(data: Path, token: str, password: str | None) -> None:
    values = {"user": ADMIN, "token": token}
    if password is not None:
        values["password"] = password
    files.write_private(_path(data), values)


def _path(data: Path) -> Path:
    return data / "admin.json"
