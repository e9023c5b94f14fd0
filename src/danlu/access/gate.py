"""Who is asking: tokens and passwords become people here, and nowhere else."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from danlu.access import audit
from danlu.access.door import Door
from danlu.access.errors import NotAllowed, TooMany, WrongPassword
from danlu.access.passwords import check_new, hash_password, one_time_password, verify_password
from danlu.access.principal import Asker, Principal
from danlu.spec.ids import uuid7
from danlu.store import groups, signups, users
from danlu.store.errors import StoreError
from danlu.store.rows import RequestRow, TokenRow, UserRow
from danlu.store.store import Store
from danlu.store.tx import Tx

__all__ = ["Asker", "Gate", "Principal", "create_admin", "digest_of", "new_token", "token_row"]

CACHE_SECONDS = 5.0
"""Only for what another server of the same database changes: our own changes are seen at once."""
SESSION_SECONDS = 30 * 86400.0
TOUCH_SECONDS = 3600.0
TELL_SECONDS = 30.0
LOOK_AGAIN_SECONDS = 60.0
MOST_HASHES_WAITING = 16
T = TypeVar("T")
_TOKEN_PREFIX = "dlu_"  # noqa: S105 - what tokens begin with


@dataclass(frozen=True, slots=True)
class _Known:
    principal: Principal
    until: float  # monotonic
    expires_at: float | None


class Gate:
    def __init__(self, store: Store, door: Door | None = None) -> None:
        self._store = store
        self.door = door or Door()
        self._known: dict[str, _Known] = {}
        self._turn = 0  # counts changes: what was read before one is not remembered after it
        self._watched: dict[str, set[asyncio.Event]] = {}
        self._one_hash = asyncio.Lock()
        self._hashes_waiting = 0
        self._nobody = ""
        self._tasks: set[asyncio.Task[None]] = set()
        self._telling = False

    # -- tokens -------------------------------------------------------------------------------

    async def who(self, token: str, address: str = "") -> Principal | None:
        """Remembers a good token for seconds: a busy client costs no database read a request.

        None: no such token. TooMany: no such token, again and again from there.
        """
        digest = digest_of(token)
        known = self._known.get(digest)
        if known is not None and known.until > time.monotonic() and not _over(known.expires_at):
            return known.principal
        turn = self._turn
        row, principal = await self._store.read(lambda tx: _look(tx, digest))
        if row is None:
            self._known.pop(digest, None)
            self._tell_soon()
            self.door.wrong_token(address)
        if row is None or principal is None:
            return None
        if turn == self._turn:
            if len(self._known) > 10_000:
                self._known.clear()
            until = time.monotonic() + CACHE_SECONDS
            self._known[digest] = _Known(principal, until, row.expires_at)
        if time.time() - (row.last_used_at or 0.0) > TOUCH_SECONDS:
            self._spawn(self._touch(row))
        return principal

    def forget(self, user_ids: Iterable[str]) -> None:
        """After every change to people, their groups or their tokens: it holds from now on."""
        self._turn += 1
        changed = set(user_ids)
        stale = [d for d, known in self._known.items() if known.principal.user_id in changed]
        for digest in stale:
            del self._known[digest]
        for user_id in changed:
            for event in self._watched.get(user_id, ()):
                event.set()

    async def barred(self, who: Principal, still: Callable[[Principal], bool]) -> None:
        """Returns when somebody who holds a stream open may no longer: the token ended, the
        account was disabled, or `still` is not true of them any more."""
        event = asyncio.Event()
        watched = self._watched.setdefault(who.user_id, set())
        watched.add(event)
        try:
            while True:
                with contextlib.suppress(StoreError):
                    fresh = await self.again(who)
                    if fresh is None or not still(fresh):
                        return
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(event.wait(), LOOK_AGAIN_SECONDS)
                event.clear()
        finally:
            watched.discard(event)
            if not watched and self._watched.get(who.user_id) is watched:
                del self._watched[who.user_id]

    async def again(self, who: Principal) -> Principal | None:
        """The same person through the same token, as they are now."""

        def query(tx: Tx) -> Principal | None:
            token = users.get_token(tx, who.token_id)
            user = users.get_user_by_id(tx, who.user_id)
            return _person(tx, token, user) if token is not None and user is not None else None

        return await self._store.read(query)

    async def _touch(self, row: TokenRow) -> None:
        now = time.time()
        until = now + SESSION_SECONDS if row.kind == "session" else row.expires_at
        with contextlib.suppress(StoreError):
            await self._store.write(lambda tx: users.token_used(tx, row.id, now, until))

    # -- passwords ----------------------------------------------------------------------------

    async def login(self, name: str, password: str, address: str = "") -> tuple[str, UserRow]:
        """Raises WrongPassword, TooMany, or NotAllowed to one who has shown the right password."""
        try:
            self.door.knock(name, address)
        except TooMany:
            self._tell_soon()
            raise
        user, request = await self._store.read(
            lambda tx: (users.get_user(tx, name), signups.get_request(tx, name))
        )
        stored = user or request
        # The same work for an unknown name: the answer's time tells nothing.
        try:
            good = await self._verify(stored.password_hash if stored else None, password)
        except TooMany:
            self.door.not_tried(name, address)
            raise
        if user is None or not good or user.status != "active":
            await self._store.write(lambda tx: _note_failure(tx, address, user, request, good))
            raise _refusal(user, request, good)
        self.door.opened(name, address)
        token, asker = new_token(), Asker(Principal(user.name), address)
        row = token_row(user.id, token, "login", address=address, lasts=SESSION_SECONDS)

        def op(tx: Tx) -> None:
            users.insert_token(tx, row)
            users.revoke_expired(tx, time.time() - SESSION_SECONDS)
            audit.note(tx, asker, "login", user.name)

        await self._store.write(op)
        return token, user

    async def change_password(self, asker: Asker, old: str, new: str) -> bool:
        """Ends the other sessions. False: the old password is wrong."""
        who = asker.who
        # A session that was left open must not be a way to guess the password.
        self.door.knock(who.name, asker.address)
        user = await self._store.read(lambda tx: users.get_user(tx, who.name))
        if user is None or not await self._verify(user.password_hash, old):
            await self._store.write(lambda tx: audit.note(tx, asker, "password.failed", who.name))
            return False
        self.door.opened(who.name, asker.address)
        check_new(new, who.name)
        hashed, user_id = await self.hash(new), user.id

        def op(tx: Tx) -> None:
            users.set_password(tx, user_id, hashed)
            ended = users.revoke_kind(tx, user_id, "session", but=who.token_id)
            audit.note(tx, asker, "password.changed", who.name, sessions_ended=ended)

        await self._store.write(op)
        self.forget([user_id])
        return True

    async def hash(self, password: str) -> str:
        return await self._hashing(hash_password, password)

    async def _verify(self, stored: str | None, password: str) -> bool:
        if not self._nobody:
            self._nobody = await self._hashing(hash_password, one_time_password())
        good = await self._hashing(verify_password, stored or self._nobody, password)
        return good and stored is not None

    async def _hashing(self, work: Callable[..., T], *words: str) -> T:
        """In a thread, one at a time: it is slow and takes much memory on purpose."""
        if self._hashes_waiting >= MOST_HASHES_WAITING:
            raise TooMany(1.0)
        self._hashes_waiting += 1
        try:
            async with self._one_hash:
                return await asyncio.to_thread(work, *words)
        finally:
            self._hashes_waiting -= 1

    # -- those who were sent away -------------------------------------------------------------

    def _tell_soon(self) -> None:
        if not self._telling:
            self._telling = True
            self._spawn(self._tell_later())

    async def _tell_later(self) -> None:
        await asyncio.sleep(TELL_SECONDS)
        self._telling = False
        await self.tell()

    async def tell(self) -> None:
        """Writes down how many were sent away: one line for many, or they would fill the disk."""
        refused = self.door.take_refused()
        if not refused:
            return

        def op(tx: Tx) -> None:
            for (act, address), count in refused.items():
                audit.note_stranger(tx, address, act, "", count=count)

        try:
            await self._store.write(op)
        except StoreError:
            self.door.put_back(refused)
            self._tell_soon()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(StoreError):
            await self.tell()


def create_admin(name: str) -> tuple[UserRow, str]:
    password = one_time_password()
    user = UserRow(uuid7(), name, "admin", hash_password(password), time.time(), must_change=True)
    return user, password


def new_token() -> str:
    return _TOKEN_PREFIX + secrets.token_urlsafe(32)


def token_row(
    user_id: str,
    token: str,
    label: str,
    *,
    kind: str = "session",
    scope: str = "all",
    address: str = "",
    lasts: float | None = None,
) -> TokenRow:
    now = time.time()
    expires = None if lasts is None else now + lasts
    row = TokenRow(uuid7(), user_id, digest_of(token), label, now, expires)
    row.scope, row.kind, row.address = scope, kind, address
    return row


def digest_of(token: str) -> str:
    """Random enough that a plain hash keeps it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _over(expires_at: float | None) -> bool:
    return expires_at is not None and expires_at <= time.time()


def _look(tx: Tx, digest: str) -> tuple[TokenRow | None, Principal | None]:
    """A token that was good once is no guess: whoever comes with it is told plainly."""
    found = users.find_token(tx, digest)
    return (None, None) if found is None else (found[0], _person(tx, *found))


def _person(tx: Tx, token: TokenRow, user: UserRow) -> Principal | None:
    if _over(token.expires_at) or user.status != "active":
        return None
    mine = groups.groups_of(tx, user.id)
    return Principal(
        name=user.name,
        role=user.role,
        user_id=user.id,
        groups=frozenset(member.group for member in mine),
        leads=frozenset(member.group for member in mine if member.leader),
        scope=token.scope,
        token_id=token.id,
        kind=token.kind,
        must_change=user.must_change and token.kind == "session",
    )


def _note_failure(
    tx: Tx, address: str, user: UserRow | None, request: RequestRow | None, good: bool
) -> None:
    # A name that nobody has may be a password typed into the wrong field: it is not kept.
    thing = user.name if user is not None else request.name if request is not None else "?"
    why = "wrong password"
    if user is None and request is None:
        why = "unknown name"
    elif good:
        why = user.status if user is not None else "not approved yet"
    audit.note_stranger(tx, address, "login.failed", thing, why=why)


def _refusal(user: UserRow | None, request: RequestRow | None, good: bool) -> Exception:
    if good and user is not None and user.status == "disabled":
        return NotAllowed(
            "This account is disabled; ask an admin", "该账号已停用；请联系管理员", "disabled"
        )
    if good and user is None and request is not None:
        return NotAllowed(
            "Your request has not been approved yet; ask the group's leader or an admin",
            "申请尚未批准；请联系组长或管理员",
            "waiting",
        )
    return WrongPassword()
