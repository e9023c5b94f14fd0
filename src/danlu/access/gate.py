"""Who is asking: tokens and sessions become people here, and nowhere else."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

from danlu.access import audit
from danlu.access.door import Door, place_of
from danlu.access.errors import TooMany
from danlu.access.hashing import Hashing
from danlu.access.passwords import hash_password, one_time_password
from danlu.access.principal import Asker, Principal
from danlu.spec.ids import uuid7
from danlu.store import audit as audit_store
from danlu.store import groups, users
from danlu.store.errors import StoreError
from danlu.store.rows import TokenRow, UserRow
from danlu.store.store import Store
from danlu.store.tx import Tx

__all__ = ["Asker", "Gate", "Principal", "create_admin", "digest_of", "new_token", "token_row"]

CACHE_SECONDS = 5.0
"""Matters only for changes made by another server on the same database; ours apply at once."""
SESSION_SECONDS = 30 * 86400.0
BROWSER_SECONDS = 30 * 86400.0
BROWSER_IDLE_SECONDS = 7 * 86400.0
BROWSER = "browser"
SSH = "ssh"
SIGNED_IN = ("session", BROWSER, SSH)
"""The kinds of tokens that come from signing in."""
TOUCH_SECONDS = 3600.0
TELL_SECONDS = 30.0
LOOK_AGAIN_SECONDS = 60.0
_TOKEN_PREFIX = "dlu_"  # noqa: S105 - what tokens begin with


@dataclass(frozen=True, slots=True)
class _Known:
    principal: Principal
    until: float  # monotonic
    expires_at: float | None
    address: str  # where it was made from


class Gate:
    def __init__(self, store: Store, door: Door | None = None) -> None:
        self._store = store
        self.door = door or Door()
        self._known: dict[str, _Known] = {}
        self._turn = (
            0  # counts changes, so that a read that began before a change is not cached after it
        )
        self._watched: dict[str, set[asyncio.Event]] = {}
        self.hashing = Hashing()
        self._tasks: set[asyncio.Task[None]] = set()
        self._telling = False
        self.on_forget: list[Callable[[set[str]], None]] = []  # whoever remembers rights elsewhere

    # -- tokens -------------------------------------------------------------------------------

    async def who(self, token: str, address: str = "") -> Principal | None:
        """Who has this token. None: no such token. TooMany: that, again and again from there."""
        known = await self._find(token, address)
        # What a cookie holds is good in a cookie only, where no script and no log sees it.
        return known.principal if known is not None and known.principal.kind != BROWSER else None

    async def visitor(self, secret: str, address: str, encrypted: bool) -> Principal | None:
        """Who has this session of a browser.

        Browsers send a cookie to every port of a host, also to what others run there, and without
        TLS anybody on the way reads it: then it is good only where it was made."""
        known = await self._find(secret, address)
        if known is None or known.principal.kind != BROWSER:
            return None
        return known.principal if encrypted or _same_place(known.address, address) else None

    async def _find(self, token: str, address: str) -> _Known | None:
        """Remembers a good token for seconds: a busy client costs no database read a request."""
        digest = digest_of(token)
        known = self._known.get(digest)
        if known is not None and known.until > time.monotonic() and not _over(known.expires_at):
            return known
        turn = self._turn
        row, principal = await self._store.read(lambda tx: _look(tx, digest))
        if row is None:
            self._known.pop(digest, None)
            self._tell_soon()
            self.door.wrong_token(address)
        if row is None or principal is None:
            return None
        known = _Known(principal, time.monotonic() + CACHE_SECONDS, row.expires_at, row.address)
        if turn == self._turn:
            if len(self._known) > 10_000:
                self._known.clear()
            self._known[digest] = known
        if time.time() - (row.last_used_at or 0.0) > TOUCH_SECONDS:
            self._spawn(self._touch(row))
        return known

    async def recall(self) -> None:
        """Addresses that people signed in from stay known over a restart."""
        self.door.recall(await self._store.read(_signed_in_from))

    def knock(self, name: str, address: str) -> None:
        """Before a password is looked at. Raises TooMany."""
        try:
            self.door.knock(name, address)
        except TooMany:
            self._tell_soon()
            raise

    def forget_secret(self, secret: str) -> None:
        known = self._known.get(digest_of(secret))
        if known is not None:
            self.forget([known.principal.user_id])

    def forget(self, user_ids: Iterable[str]) -> None:
        """Call after every change to users, groups or tokens, so that it applies at once."""
        self._turn += 1
        changed = set(user_ids)
        stale = [d for d, known in self._known.items() if known.principal.user_id in changed]
        for digest in stale:
            del self._known[digest]
        for user_id in changed:
            for event in self._watched.get(user_id, ()):
                event.set()
        for told in self.on_forget:
            told(changed)

    async def barred(
        self, who: Principal, still: Callable[[Principal], bool], signed_in: bool = True
    ) -> None:
        """Returns when an open stream must be closed: the token ended, the account was disabled, or
        `still` no longer holds. Without `signed_in`, the token may end.
        """
        event = asyncio.Event()
        watched = self._watched.setdefault(who.user_id, set())
        watched.add(event)
        try:
            while True:
                with contextlib.suppress(StoreError):
                    fresh = await (self.again(who) if signed_in else self._anyhow(who))
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
        """The same person and token, with their current rights."""

        def query(tx: Tx) -> Principal | None:
            token = users.get_token(tx, who.token_id)
            user = users.get_user_by_id(tx, who.user_id)
            return _person(tx, token, user) if token is not None and user is not None else None

        return await self._store.read(query)

    async def _anyhow(self, who: Principal) -> Principal | None:
        """The same person, however they came in."""
        return await self.person(who.user_id)

    async def person(self, user_id: str) -> Principal | None:
        """With their current rights. None: no longer active."""

        def query(tx: Tx) -> Principal | None:
            user = users.get_user_by_id(tx, user_id)
            token = TokenRow("", user_id, "", "", 0.0, None)
            return _person(tx, token, user) if user is not None else None

        return await self._store.read(query)

    async def _touch(self, row: TokenRow) -> None:
        now = time.time()
        until = expiry(row.kind, row.created_at, now) or row.expires_at
        with contextlib.suppress(StoreError):
            await self._store.write(lambda tx: users.token_used(tx, row.id, now, until))

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
        """Logs rejected attempts in aggregate: a line for each would let a stranger fill
        the disk.
        """
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
    """`lasts`: seconds; None: as long as its kind does."""
    now = time.time()
    expires = expiry(kind, now, now) if lasts is None else now + lasts
    row = TokenRow(uuid7(), user_id, digest_of(token), label, now, expires)
    row.scope, row.kind, row.address = scope, kind, address
    return row


def digest_of(token: str) -> str:
    """Random enough that a plain hash protects it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def expiry(kind: str, created_at: float, used_at: float) -> float | None:
    """When a sign-in ends that is used now; other tokens end when their makers said."""
    if kind in ("session", SSH):
        return used_at + SESSION_SECONDS
    if kind == BROWSER:
        return min(created_at + BROWSER_SECONDS, used_at + BROWSER_IDLE_SECONDS)
    return None


def _same_place(one: str, other: str) -> bool:
    return place_of(one) == place_of(other)


def _signed_in_from(tx: Tx) -> list[tuple[str, str]]:
    # Sessions besides the log: guessing fills the log, and only its latest part is read.
    return [*audit_store.sign_ins(tx), *users.sign_ins(tx, SIGNED_IN)]


def _over(expires_at: float | None) -> bool:
    return expires_at is not None and expires_at <= time.time()


def _look(tx: Tx, digest: str) -> tuple[TokenRow | None, Principal | None]:
    """A token that was once valid is not a guess, so its owner gets a precise error."""
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
        must_change=user.must_change and token.kind in SIGNED_IN,
    )
