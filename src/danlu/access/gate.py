"""Who is asking: tokens become people here, and nowhere else."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from danlu.access.passwords import hash_password, one_time_password, verify_password
from danlu.spec.ids import uuid7
from danlu.store import users
from danlu.store.rows import TokenRow, UserRow
from danlu.store.store import Store
from danlu.store.tx import Tx

CACHE_SECONDS = 5.0
T = TypeVar("T")
_TOKEN_PREFIX = "dlu_"  # noqa: S105 - what tokens begin with


@dataclass(frozen=True, slots=True)
class Principal:
    name: str
    role: str

    @property
    def admin(self) -> bool:
        return self.role == "admin"


class Gate:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[float, Principal]] = {}
        self._one_hash = asyncio.Lock()

    async def who(self, token: str) -> Principal | None:
        """Remembers a good token for seconds: a busy client costs no database read a request."""
        digest = _digest(token)
        known = self._known.get(digest)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        self._known.pop(digest, None)
        user = await self._store.read(lambda tx: _user_of(tx, digest, time.time()))
        if user is None:
            return None
        principal = Principal(user.name, user.role)
        if len(self._known) > 10_000:
            self._known.clear()
        self._known[digest] = (time.monotonic() + CACHE_SECONDS, principal)
        return principal

    async def login(self, name: str, password: str) -> tuple[str, UserRow] | None:
        user = await self._store.read(lambda tx: users.get_user(tx, name))
        # The same work for an unknown name: the answer's time tells nothing.
        stored = user.password_hash if user is not None else _NOBODY
        good = await self._hashing(verify_password, stored, password)
        if not good or user is None or user.disabled:
            return None
        token = new_token()
        row = token_row(user.id, token, "login")
        await self._store.write(lambda tx: users.insert_token(tx, row))
        return token, user

    async def change_password(self, name: str, old: str, new: str) -> bool:
        user = await self._store.read(lambda tx: users.get_user(tx, name))
        if user is None or not await self._hashing(verify_password, user.password_hash, old):
            return False
        hashed, user_id = await self._hashing(hash_password, new), user.id
        return await self._store.write(lambda tx: users.set_password(tx, user_id, hashed))

    async def _hashing(self, work: Callable[..., T], *words: str) -> T:
        """In a thread, one at a time: it is slow and takes much memory on purpose."""
        async with self._one_hash:
            return await asyncio.to_thread(work, *words)


def create_admin(name: str) -> tuple[UserRow, str]:
    password = one_time_password()
    user = UserRow(uuid7(), name, "admin", hash_password(password), time.time(), must_change=True)
    return user, password


def new_token() -> str:
    return _TOKEN_PREFIX + secrets.token_urlsafe(32)


def token_row(user_id: str, token: str, label: str) -> TokenRow:
    return TokenRow(uuid7(), user_id, _digest(token), label, time.time())


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _user_of(tx: Tx, digest: str, now: float) -> UserRow | None:
    found = users.find_token(tx, digest)
    if found is None:
        return None
    token, user = found
    expired = token.expires_at is not None and token.expires_at < now
    return None if expired or user.disabled else user


_NOBODY = (
    "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHRzb21lc2FsdA"
    "$qtGHzMUzwT5FsYHMzOvjGXTNlrgI3S5vMZ2sPHu8FEM"
)
