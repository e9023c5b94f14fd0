"""A user's secrets: set, list names, delete. Values are never returned."""

from __future__ import annotations

from collections.abc import Mapping

from danlu.access.audit import note
from danlu.access.errors import Crowded, NotThere, Unfit
from danlu.access.principal import Asker, Principal
from danlu.spec.text import Text
from danlu.store import secrets as secret_store
from danlu.store.store import Store
from danlu.store.tx import Tx


class Secrets:
    def __init__(self, store: Store, most: int) -> None:
        self._store = store
        self._most = most

    async def names(self, who: Principal) -> list[str]:
        return await self._store.read(lambda tx: secret_store.list_secrets(tx, who.name))

    async def put(self, asks: Asker, name: str, value: str) -> None:
        """Applies to jobs that start from now on."""
        if "\0" in value or any("\ud800" <= ch <= "\udfff" for ch in value):
            raise Unfit(
                "value",
                Text(
                    "contains a character that a variable cannot hold (NUL)",
                    "含有变量无法保存的字符（NUL）",
                ),
            )

        await self._store.write(lambda tx: keep(tx, asks, {name: value}, self._most))

    async def delete(self, asks: Asker, name: str) -> None:
        """Jobs that start later no longer get it."""

        def op(tx: Tx) -> bool:
            found = secret_store.delete_secret(tx, asks.name, name)
            if found:
                note(tx, asks, "secret.deleted", name)
            return found

        if not await self._store.write(op):
            raise NotThere(Text(f"secret {name}", f"密钥 {name}"))


def keep(tx: Tx, asks: Asker, secrets: Mapping[str, str], most: int) -> None:
    """Stores them all, or raises Crowded."""
    mine = secret_store.list_secrets(tx, asks.name)
    if len({*mine, *secrets}) > max(most, len(mine)):
        raise Crowded(most, Text("secrets", "密钥"))
    for name, value in secrets.items():
        secret_store.put_secret(tx, asks.name, name, value)
        note(tx, asks, "secret.set", name)
