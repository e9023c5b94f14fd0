"""Names with passwords or tokens, for clients that send them with every request.

Checking a password takes a fifth of a second: one that was right is remembered for minutes, as an
HMAC with a key that is never stored.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, replace

from danlu.access import audit
from danlu.access.errors import WrongPassword
from danlu.access.gate import Gate
from danlu.access.principal import Asker, Principal
from danlu.access.sign_in import SignIn
from danlu.store.store import Store

REMEMBER_SECONDS = 300.0
_MOST_REMEMBERED = 10_000
_NOTE_EVERY = 3600.0
_TOKEN = "dlu_"  # noqa: S105 - what tokens begin with


@dataclass(frozen=True, slots=True)
class _Remembered:
    user_id: str
    until: float


class BasicSignIn:
    """`act`: how the audit log calls it. Wrong ones are throttled as at the pages."""

    def __init__(self, store: Store, gate: Gate, sign_in: SignIn, act: str) -> None:
        self._store = store
        self._gate = gate
        self._sign_in = sign_in
        self._act = act
        self._secret = secrets.token_bytes(32)
        self._remembered: OrderedDict[bytes, _Remembered] = OrderedDict()
        self._noted: dict[tuple[str, str], float] = {}
        gate.on_forget.append(self._changed)

    async def who(self, name: str, password: str, address: str) -> Principal:
        """Raises AccessError."""
        if password.startswith(_TOKEN):
            who = await self._gate.who(password, address)
            if who is None or who.name != name:
                raise WrongPassword  # the gate counts and notes them
            return who
        key = self._digest(name, password)
        known = self._remembered.get(key)
        if known is not None and known.until > time.monotonic():
            found = await self._gate.person(known.user_id)
            if found is not None:
                return found
        user = await self._sign_in.check(name, password, address)
        found = await self._gate.person(user.id)
        if found is None:
            raise WrongPassword
        await self._note(name, address)
        if user.must_change:
            return replace(found, must_change=True)
        self._remembered[key] = _Remembered(user.id, time.monotonic() + REMEMBER_SECONDS)
        if len(self._remembered) > _MOST_REMEMBERED:
            self._remembered.popitem(last=False)
        return found

    def _digest(self, name: str, password: str) -> bytes:
        text = f"{name}\0{password}".encode("utf-8", "surrogatepass")
        return hmac.new(self._secret, text, hashlib.sha256).digest()

    async def _note(self, name: str, address: str) -> None:
        """Once an hour: such a client signs in with every request."""
        now = time.monotonic()
        if now - self._noted.get((name, address), -_NOTE_EVERY) < _NOTE_EVERY:
            return
        if len(self._noted) > _MOST_REMEMBERED:
            self._noted.clear()
        self._noted[name, address] = now
        asker = Asker(Principal(name), address)
        await self._store.write(lambda tx: audit.note(tx, asker, self._act, name))

    def _changed(self, user_ids: set[str]) -> None:
        """Passwords are checked anew."""
        stale = [key for key, each in self._remembered.items() if each.user_id in user_ids]
        for key in stale:
            del self._remembered[key]
