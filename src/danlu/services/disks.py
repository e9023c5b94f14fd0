"""How full the disks are, who uses what, and cleaning."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import NotAllowed, Unknown
from danlu.access.principal import Asker
from danlu.control.controller import Controller
from danlu.control.disk_cleaning import RULES, Cleaned, Item
from danlu.control.disk_levels import DiskPlace
from danlu.spec.text import EMPTY, Text
from danlu.store import bundles
from danlu.store.rows import SizeRow

__all__ = ["Cleaned", "DiskView", "Disks", "Item", "OwnSize", "Report"]
_MOST_USES = 200


@dataclass(frozen=True, slots=True)
class DiskView:
    id: str
    places: list[DiskPlace]
    size: int
    free: int
    used_percent: float
    level: str
    since: float | None
    full_at: float | None
    uses: list[SizeRow]
    detail: Text = EMPTY


@dataclass(frozen=True, slots=True)
class OwnSize:
    kind: str
    name: str
    path: str
    bytes: int | None
    files: int | None
    counted_at: float | None


@dataclass(frozen=True, slots=True)
class Report:
    disks: list[DiskView]
    own: list[OwnSize]
    last: Cleaned | None
    next_at: float | None


class Disks:
    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._context = controller.context

    async def report(self, asks: Asker) -> Report:
        own = await self._own(asks.name)
        if not rules.runs_server(asks.who):
            return Report([], own, None, None)
        cleaning = self._controller.disk_cleaning
        return Report(await self._disks(), own, await cleaning.last(), cleaning.next_at)

    async def clean(self, asks: Asker, dry_run: bool, wanted: Collection[str]) -> Cleaned:
        if not rules.runs_server(asks.who):
            raise NotAllowed(Text("Only an admin may do this", "只有管理员可以执行"))
        for rule in wanted:
            if rule not in RULES:
                raise Unknown("rules", Text("rule", "规则"), rule, RULES)
        cleaned = await self._controller.disk_cleaning.clean(asks.name, dry_run, wanted or RULES)
        if not dry_run:
            await self._context.store.write(
                lambda tx: note(tx, asks, "disk.cleaned", "", bytes=cleaned.bytes)
            )
        return cleaned

    async def _disks(self) -> list[DiskView]:
        levels = self._controller.disk_levels
        await levels.look()
        uses = await self._controller.disk_uses.of_disks()
        found = [
            DiskView(
                disk.id,
                disk.places,
                disk.space.size,
                disk.space.free,
                disk.used_percent,
                disk.level,
                disk.since,
                disk.full_at,
                uses.get(disk.id, [])[:_MOST_USES],
            )
            for disk in levels.disks
        ]
        away = Text("does not exist or does not answer", "不存在或没有响应")
        return found + [
            DiskView(f"-{place.path}", [place], 0, 0, 0.0, "ok", None, None, [], away)
            for place in levels.unseen
        ]

    async def _own(self, name: str) -> list[OwnSize]:
        person = await self._context.identities.person(name)
        rows = {(row.kind, row.name): row for row in await self._controller.disk_uses.sizes()}
        wanted = [("home", name, "/userhome")]
        wanted += [("share", group, f"/mnt/share/{group}") for group in person.groups]
        if self._context.volumes.user_root is not None:
            wanted.append(("user", name, f"/mnt/user/{name}"))
        found = []
        for kind, owner, path in wanted:
            row = rows.get((kind, owner))
            if row is None:
                found.append(OwnSize(kind, owner, path, None, None, None))
            else:
                found.append(OwnSize(kind, owner, path, row.bytes, row.files, row.counted_at))
        stored, at = (await self._context.store.read(bundles.stored)).get(name, (0, None))
        return [*found, OwnSize("bundles", name, "", stored, None, at)]
