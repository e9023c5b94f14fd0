"""Signing in to the registry: names and passwords, or tokens, become tokens of the registry."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from danlu.access import rules
from danlu.access.errors import AccessError, NotAllowed
from danlu.access.gate import Gate
from danlu.access.principal import Principal
from danlu.access.sign_in import SignIn
from danlu.registry.names import owner_of
from danlu.registry.tokens import ACTIONS, PULL, PUSH, SECONDS, Claims, read_scopes, sign
from danlu.services.basic_sign_in import BasicSignIn
from danlu.spec.text import Text
from danlu.store.store import Store

_MOST_REMEMBERED = 10_000
MayPull = Callable[[Principal, str], Awaitable[bool]]
Tell = Callable[[list[str]], Awaitable[None]]


class RegistrySignIn:
    """`tell`: is given the ids of people whose rights have changed."""

    def __init__(self, store: Store, gate: Gate, sign_in: SignIn, may_pull: MayPull) -> None:
        self._gate = gate
        self._people = BasicSignIn(store, gate, sign_in, "registry.login")
        self._may_pull = may_pull
        self._rights: dict[str, Principal | None] = {}  # of those who hold tokens
        self._tasks: set[asyncio.Task[None]] = set()
        self.key = b""  # of the registry; empty: there is none
        self.tell: Tell = _nobody
        gate.on_forget.append(self._changed)

    async def token(self, name: str, password: str, address: str, scopes: list[str]) -> str:
        """Raises AccessError."""
        who = await self._people.who(name, password, address)
        if who.must_change:
            raise NotAllowed(
                Text(
                    "This is a one-time password: sign in on the pages or with danlu login and "
                    "choose your own first",
                    "这是一次性密码：请先在网页上或用 danlu login 登录并设置自己的密码",
                ),
                "password_change_required",
            )
        return await self.token_of(who, scopes, SECONDS)

    async def token_of(self, who: Principal, scopes: list[str], seconds: float) -> str:
        """Of these rights, those that this person has."""
        if len(self._rights) > _MOST_REMEMBERED:
            self._rights.clear()
        self._rights[who.user_id] = _rights_of(who)
        return sign(self.key, await self._claims(who, scopes), seconds)

    def pull_token(self, name: str, user_id: str, repository: str, seconds: float) -> str:
        """For a job of this person, whose right was checked: good as a password, too."""
        access = {repository: frozenset({PULL})}
        return sign(self.key, Claims(name, user_id, time.time(), access), seconds)

    # -- what they may -----------------------------------------------------------------------

    async def _claims(self, who: Principal, scopes: list[str]) -> Claims:
        access: dict[str, frozenset[str]] = {}
        sees: frozenset[str] | None = frozenset()
        for kind, name, wanted in read_scopes(scopes):
            if kind == "repository":
                granted = wanted & await self._granted(who, name)
                access[name] = access.get(name, frozenset()) | granted
            elif (kind, name) == ("registry", "catalog"):
                sees = None if rules.keeps_registry(who) else _owners(who)
        return Claims(who.name, who.user_id, time.time(), access, sees)

    async def _granted(self, who: Principal, repository: str) -> frozenset[str]:
        owner = owner_of(repository)
        if owner is None:
            return frozenset()
        found = set()
        if rules.pushes_image(who, owner):
            found |= {PULL, PUSH}
        if rules.deletes_image(who, owner):
            found |= {each for each in ACTIONS if each != PUSH}
        if await self._may_pull(who, repository):
            found.add(PULL)
        return frozenset(found)

    # -- changes -----------------------------------------------------------------------------

    def _changed(self, user_ids: set[str]) -> None:
        """Tokens end of those who may less, or more, than before."""
        holders = [each for each in user_ids if each in self._rights]
        if holders:
            task = asyncio.ensure_future(self._tell(holders))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _tell(self, user_ids: list[str]) -> None:
        ended = []
        for user_id in user_ids:
            person = await self._gate.person(user_id)
            now = None if person is None else _rights_of(person)
            if now != self._rights.get(user_id):
                ended.append(user_id)
                self._rights[user_id] = now
        if ended:
            with contextlib.suppress(AccessError):
                await self.tell(ended)


async def _nobody(_: list[str]) -> None:
    pass


def _rights_of(who: Principal) -> Principal:
    """What is the same whichever way somebody came in."""
    return Principal(who.name, who.role, who.user_id, who.groups)


def _owners(who: Principal) -> frozenset[str]:
    groups = {f"group:{each}" for each in who.groups}
    return frozenset({f"user:{who.name}", "ready", "hub", *groups})
