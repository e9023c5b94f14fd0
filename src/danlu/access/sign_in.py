"""Signing in: a name and a password become a token, or a session of a browser."""

from __future__ import annotations

import time
from dataclasses import dataclass

from danlu.access import audit
from danlu.access.errors import NotAllowed, TooMany, WrongPassword
from danlu.access.gate import (
    SESSION_SECONDS,
    SIGNED_IN,
    SSH,
    Gate,
    digest_of,
    new_token,
    token_row,
)
from danlu.access.passwords import check_new
from danlu.access.principal import Asker, Principal
from danlu.spec.text import Text
from danlu.store import signups, users
from danlu.store.rows import RequestRow, TokenRow, UserRow
from danlu.store.store import Store
from danlu.store.tx import Tx

__all__ = ["SSH", "SignIn", "SignedIn"]


@dataclass(frozen=True, slots=True)
class SignedIn:
    secret: str  # kept nowhere but with whoever signed in
    row: TokenRow
    user: UserRow

    @property
    def who(self) -> Principal:
        """Enough of whoever signed in to look up the rest."""
        return Principal(self.user.name, user_id=self.user.id, token_id=self.row.id)


class SignIn:
    def __init__(self, store: Store, gate: Gate) -> None:
        self._store = store
        self._gate = gate

    async def login(
        self,
        name: str,
        password: str,
        address: str = "",
        *,
        kind: str = "session",
        label: str = "login",
        instead_of: str = "",
    ) -> SignedIn:
        """`instead_of`: the secret of a session that ends with this one's beginning.

        Raises WrongPassword, TooMany, or NotAllowed to one who has shown the right password."""
        gate = self._gate
        user = await self.check(name, password, address)
        secret, asker = new_token(), Asker(Principal(user.name), address)
        row = token_row(user.id, secret, label, kind=kind, address=address)

        def op(tx: Tx) -> None:
            users.insert_token(tx, row)
            users.revoke_expired(tx, time.time() - SESSION_SECONDS)
            if instead_of:
                _end_one(tx, digest_of(instead_of), kind)
            audit.note(tx, asker, "login", user.name)

        await self._store.write(op)
        if instead_of:
            gate.forget_secret(instead_of)
        return SignedIn(secret, row, user)

    async def check(self, name: str, password: str, address: str) -> UserRow:
        """Whose password this is, without a session. Raises as `login` does."""
        gate = self._gate
        gate.knock(name, address)
        user, request = await self._store.read(
            lambda tx: (users.get_user(tx, name), signups.get_request(tx, name))
        )
        stored = user or request
        known = gate.door.knows(name, address)
        try:
            good = await gate.hashing.verify(
                stored.password_hash if stored else None, password, known
            )
        except TooMany:
            gate.door.not_tried(name, address)
            raise
        if user is None or not good or user.status != "active":
            await self._store.write(lambda tx: _note_failure(tx, address, user, request, good))
            raise _refusal(user, request, good)
        gate.door.opened(name, address)
        return user

    async def knows(self, name: str) -> bool:
        """Whether there is such an account, active or not."""
        return await self._store.read(lambda tx: users.get_user(tx, name)) is not None

    async def by_key(self, name: str, fingerprint: str, address: str) -> SignedIn:
        """Whoever asks has checked that the key is this person's and was shown."""
        user = await self._store.read(lambda tx: users.get_user(tx, name))
        if user is None or user.status != "active":
            raise _refusal(user, None, good=True)
        secret, asker = new_token(), Asker(Principal(user.name), address)
        row = token_row(user.id, secret, "ssh", kind=SSH, address=address)

        def op(tx: Tx) -> None:
            users.insert_token(tx, row)
            audit.note(tx, asker, "login", user.name, key=fingerprint)

        await self._store.write(op)
        return SignedIn(secret, row, user)

    async def ended(self, who: Principal) -> None:
        """A sign-in that lasts as long as its connection is over."""
        await self._store.write(lambda tx: users.revoke(tx, who.token_id))
        self._gate.forget([who.user_id])

    async def change_password(self, asker: Asker, old: str, new: str) -> bool:
        """Ends the other sessions. False: the old password is wrong."""
        who, gate = asker.who, self._gate
        # A session that was left open must not be a way to guess the password.
        gate.knock(who.name, asker.address)
        user = await self._store.read(lambda tx: users.get_user(tx, who.name))
        if user is None or not await gate.hashing.verify(user.password_hash, old, known=True):
            await self._store.write(lambda tx: audit.note(tx, asker, "password.failed", who.name))
            return False
        gate.door.opened(who.name, asker.address)
        check_new(new, who.name)
        hashed, user_id = await gate.hashing.hash(new), user.id

        def op(tx: Tx) -> None:
            users.set_password(tx, user_id, hashed)
            ended = users.revoke_kinds(tx, user_id, SIGNED_IN, but=who.token_id)
            audit.note(tx, asker, "password.changed", who.name, sessions_ended=ended)

        await self._store.write(op)
        gate.forget([user_id])
        return True


def _end_one(tx: Tx, digest: str, kind: str) -> None:
    found = users.find_token(tx, digest)
    if found is not None and found[0].kind == kind:
        users.revoke(tx, found[0].id)


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
            Text("This account is disabled; ask an admin", "该账号已停用；请联系管理员"), "disabled"
        )
    if good and user is None and request is not None:
        return NotAllowed(
            Text(
                "Your request has not been approved yet; ask the group's leader or an admin",
                "申请尚未批准；请联系组长或管理员",
            ),
            "waiting",
        )
    return WrongPassword()
