"""Storage of one's own: asked for by anybody, mounted and approved by an admin, then a volume."""

from __future__ import annotations

import secrets
from dataclasses import replace
from urllib.parse import urlsplit

from danlu.access.audit import note
from danlu.access.errors import Clash, Crowded, NotAllowed, NotThere, Unfit
from danlu.access.names import check_text
from danlu.access.principal import Asker
from danlu.control.context import Context, now
from danlu.files.catalogue import Catalogue
from danlu.spec.text import Text
from danlu.store import storage
from danlu.store.rows import StorageRequestRow, VolumeRow
from danlu.store.tx import Tx

KINDS = ("nfs", "s3", "webdav", "other")
MOST_OPEN = 20  # of one person


class StorageRequests:
    def __init__(self, context: Context, volumes: Catalogue) -> None:
        self._store = context.store
        self._volumes = volumes

    async def seen(self, asks: Asker) -> list[StorageRequestRow]:
        """One's own; admins see all."""
        rows = await self._store.read(storage.every)
        return [row for row in rows if asks.who.admin or row.owner == asks.name]

    async def ask(
        self, asks: Asker, name: str, kind: str, address: str, words: str
    ) -> StorageRequestRow:
        _check_address(address)
        mine = [row for row in await self.seen(asks) if row.owner == asks.name]
        waiting = [row for row in mine if row.state == "open"]
        if len(waiting) >= MOST_OPEN:
            raise Crowded(MOST_OPEN, Text("open requests", "未处理的申请"))
        if any(row.name == name for row in waiting):
            raise Clash(
                "request_exists",
                Text(
                    f"You have already requested {name}; wait for an admin, or withdraw it",
                    f"你已申请过 {name}；请等待管理员处理，或先撤回",
                ),
            )
        row = StorageRequestRow(
            id=secrets.token_hex(4),
            owner=asks.name,
            name=name,
            kind=kind,
            address=check_text(address, "address"),
            options="",
            note=check_text(words, "note"),
            state="open",
            created_at=now(),
            decided_by="",
            reason="",
        )

        def op(tx: Tx) -> None:
            storage.add(tx, row)
            note(tx, asks, "storage.asked", name, kind=kind, address=address)

        await self._store.write(op)
        return row

    async def approve(self, asks: Asker, id: str, volume: VolumeRow) -> StorageRequestRow:
        """The folder where the admin mounted it becomes a volume of whoever asked."""
        row = await self._open(asks, id)
        made = replace(volume, name=row.name, users=volume.users or [row.owner])
        made.target = made.target or f"/mnt/{row.name}"
        await self._volumes.add(asks, made)
        return await self._decide(asks, replace(row, state="approved", options=volume.source))

    async def reject(self, asks: Asker, id: str, reason: str) -> StorageRequestRow:
        row = await self._open(asks, id)
        words = check_text(reason, "reason")
        return await self._decide(asks, replace(row, state="rejected", reason=words))

    async def withdraw(self, asks: Asker, id: str) -> StorageRequestRow:
        """The volume of an approved one stays."""
        row = await self._find(asks, id)

        def op(tx: Tx) -> None:
            storage.remove(tx, id)
            note(tx, asks, "storage.withdrawn", row.name, owner=row.owner)

        await self._store.write(op)
        return row

    async def _find(self, asks: Asker, id: str) -> StorageRequestRow:
        row = await self._store.read(lambda tx: storage.get(tx, id))
        if row is None or (row.owner != asks.name and not asks.who.admin):
            raise NotThere(Text(f"request {id[:16]}", f"申请 {id[:16]}"))
        return row

    async def _open(self, asks: Asker, id: str) -> StorageRequestRow:
        row = await self._find(asks, id)
        if not asks.who.admin:
            raise NotAllowed(Text("Only an admin may do this", "只有管理员可以执行"))
        if row.state != "open":
            raise Clash(
                "decided",
                Text(
                    f"{row.decided_by} has already decided ({row.state})",
                    f"{row.decided_by} 已处理过（{row.state}）",
                ),
            )
        return row

    async def _decide(self, asks: Asker, row: StorageRequestRow) -> StorageRequestRow:
        row = replace(row, decided_by=asks.name)

        def op(tx: Tx) -> None:
            storage.decide(tx, row)
            note(tx, asks, f"storage.{row.state}", row.name, owner=row.owner)

        await self._store.write(op)
        return row


def _check_address(address: str) -> None:
    """Admins read it: passwords do not belong there."""
    try:
        parts = urlsplit(address)
        secret = parts.password
    except ValueError:
        secret = None
    if secret:
        raise Unfit(
            "address",
            Text(
                "has a password in it, which admins would see; leave it out and give it to the "
                "admin in person",
                "中含有密码，管理员会看到；请去掉，并当面告知管理员",
            ),
        )
