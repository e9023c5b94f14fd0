"""Environments shared with others, who may enter what runs in them."""

from __future__ import annotations

import asyncio

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import NotThere, Unfit
from danlu.access.gate import Gate
from danlu.access.principal import Asker
from danlu.control.context import Context
from danlu.control.lookup import Lookup
from danlu.services import environment_refusals as refusals
from danlu.services.environments import Environment, Environments
from danlu.spec.text import Text
from danlu.store import environments as store
from danlu.store.rows import EnvironmentRow
from danlu.store.tx import Tx
from danlu.store.users import get_user

MOST_SHARES = 100


class Sharing:
    def __init__(
        self, context: Context, lookup: Lookup, environments: Environments, gate: Gate
    ) -> None:
        self._context = context
        self._lookup = lookup
        self._environments = environments
        self._gate = gate
        self._one = asyncio.Lock()

    async def share(self, asks: Asker, ref: str, user: str) -> Environment:
        """They may enter what runs, as its owner does; not stop, change or delete it."""
        row, _ = await self._environments.find(asks.who, ref)
        if not rules.shares_environment(asks.who, row.owner):
            raise refusals.only_its_owner(row)
        return await self._set_shared(asks, row, user, True)

    async def unshare(self, asks: Asker, ref: str, user: str) -> Environment:
        """Whoever is inside has to go at once."""
        row, _ = await self._environments.find(asks.who, ref)
        if not rules.leaves_environment(asks.who, row.owner, user):
            raise refusals.not_yours(row)
        return await self._set_shared(asks, row, user, False)

    async def _set_shared(
        self, asks: Asker, row: EnvironmentRow, user: str, shared: bool
    ) -> Environment:
        def op(tx: Tx) -> tuple[EnvironmentRow, str]:
            now, person = store.get(tx, row.id), get_user(tx, user)
            if now is None:
                raise refusals.gone(row)
            if person is None or (shared and person.status != "active"):
                raise NotThere(Text(f"user {user[:40]}", f"用户 {user[:40]}"))
            act = "environment.shared" if shared else "environment.unshared"
            now.shared = _with(now, user) if shared else _without(now, user)
            store.update(tx, row.id, shared=now.shared)
            note(tx, asks, act, row.ref, user=user)
            return now, person.id

        async with self._one:  # so that memory follows in the order of the commits
            now, user_id = await self._context.store.write(op)
            self._context.shares.set(row.id, now.shared)
        self._gate.forget([user_id])
        job = await self._lookup.job(now.job_id) if now.job_id is not None else None
        return self._environments.shown(now, job, asks.who)


def _with(row: EnvironmentRow, user: str) -> list[str]:
    if user == row.owner:
        raise Unfit("user", Text("the owner needs no share", "所有者无需共享"))
    if len(row.shared) >= MOST_SHARES:
        raise Unfit("user", Text(f"at most {MOST_SHARES} people", f"最多共享给 {MOST_SHARES} 人"))
    return sorted({*row.shared, user})


def _without(row: EnvironmentRow, user: str) -> list[str]:
    if user not in row.shared:
        raise NotThere(
            Text(f"share of {row.ref} with {user[:40]}", f"{row.ref} 对 {user[:40]} 的共享")
        )
    return [each for each in row.shared if each != user]
