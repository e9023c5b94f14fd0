"""Volumes that an admin declares, changes and takes back while the server runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import Clash, NotAllowed, NotThere, Unfit, Unknown
from danlu.access.names import check_text
from danlu.access.principal import Asker
from danlu.control.declaring import check
from danlu.control.rooms import Rooms
from danlu.control.settings import VolumeConfig
from danlu.control.volumes import Volume, config_of
from danlu.spec.errors import Wrong
from danlu.spec.ties import read_target
from danlu.store import groups, users
from danlu.store import volumes as volume_store
from danlu.store.rows import VolumeRow
from danlu.store.tx import Tx

_NAMES = {"groups": ("group", "组"), "users": ("user", "用户"), "nodes": ("node", "节点")}


@dataclass(frozen=True, slots=True)
class Shown:
    """A volume as it is listed. `usable`: the one who asks may mount it."""

    config: VolumeConfig
    path: str
    usable: bool


class Catalogue:
    def __init__(self, rooms: Rooms, changed: Callable[[], None]) -> None:
        self._rooms = rooms
        self._changed = changed

    async def seen(self, asker: Asker) -> list[Shown]:
        """What one may use; an admin sees all others too."""
        person = await self._rooms.identities.person(asker.name)
        usable = self._rooms.volumes.usable(person)
        found = {name: _shown(volume) for name, volume in usable.items()}
        if rules.manages_volumes(asker.who):
            for name, config in self._rooms.volumes.catalogue().items():
                found.setdefault(name, Shown(config, config.target, False))
        return [found[name] for name in sorted(found)]

    async def show(self, asker: Asker, name: str) -> Shown:
        found = next((each for each in await self.seen(asker) if each.config.name == name), None)
        if found is None:
            raise _missing(name)
        return found

    async def add(self, asker: Asker, row: VolumeRow) -> Shown:
        _managed(asker)
        row = self._checked(replace(row, created_at=time.time()))
        await self._check_names({key: getattr(row, key) for key in _NAMES})
        if row.name in self._rooms.volumes.catalogue():
            raise Clash(
                "volume_exists",
                f"There is a volume {row.name} already; change it (danlu volume set {row.name})",
                f"已有存储卷 {row.name}；可修改它（danlu volume set {row.name}）",
            )

        def op(tx: Tx) -> None:
            volume_store.insert_volume(tx, row)
            note(tx, asker, "volume.added", row.name, **_told(row))

        await self._rooms.store.write(op)
        self._rooms.volumes.put(row)
        self._changed()
        return await self.show(asker, row.name)

    async def change(self, asker: Asker, name: str, values: dict[str, Any]) -> Shown:
        await self.show(asker, name)
        _managed(asker)
        before = self._own(name)
        row = self._checked(replace(before, **values))
        # What was named before is not asked again: a group may have gone in the meantime.
        named = {key: set(values.get(key, ())) - set(getattr(before, key)) for key in _NAMES}
        await self._check_names(named)
        told = {key: value for key, value in _told(row).items() if value != _told(before)[key]}

        def op(tx: Tx) -> None:
            if not volume_store.update_volume(tx, row):
                raise _missing(name)
            note(tx, asker, "volume.changed", name, **told)

        await self._rooms.store.write(op)
        self._rooms.volumes.put(row)
        self._changed()
        return await self.show(asker, name)

    async def remove(self, asker: Asker, name: str) -> Shown:
        """The folder stays as it is, and so do tasks that run."""
        found = await self.show(asker, name)
        _managed(asker)
        row = self._own(name)

        def op(tx: Tx) -> None:
            if not volume_store.delete_volume(tx, name):
                raise _missing(name)
            note(tx, asker, "volume.removed", name, **_told(row))

        await self._rooms.store.write(op)
        self._rooms.volumes.remove(name)
        self._changed()
        return found

    def _own(self, name: str) -> VolumeRow:
        """One that was declared by command: only these can be changed here."""
        config = self._rooms.volumes.catalogue().get(name)
        if config is None or config.declared != "command":
            raise Clash(
                "declared_elsewhere",
                f"{name} is built in or declared in danlu.toml: change it there, then restart",
                f"{name} 是内置的或在 danlu.toml 中声明的：请在那里修改，然后重启",
            )
        return row_of(config)

    def _checked(self, row: VolumeRow) -> VolumeRow:
        settings, volumes = self._rooms.settings, self._rooms.volumes
        try:
            check(config_of(row), settings.data, volumes.catalogue())
        except Wrong as error:
            found = error.findings[0]
            key, value = str(found.path[0]) if found.path else "volume", str(found.value)[:80]
            raise Unfit(key, f"{value!r} {found.en}", f"{value!r} {found.zh}") from None
        if not os.path.isdir(row.source):
            raise Unfit(
                "source",
                f"{row.source!r} is no folder of this machine; make it first",
                f"{row.source!r} 不是这台机器上的目录；请先建立",
            )
        row.target = read_target(row.target)
        row.note, row.tier = check_text(row.note, "note"), check_text(row.tier, "tier")
        return row

    async def _check_names(self, named: Mapping[str, Collection[str]]) -> None:
        """A name that is nobody's would shut all out, or leave a job waiting for no node."""

        def query(tx: Tx) -> dict[str, list[str]]:
            here = [row.name for row in groups.list_groups(tx) if row.status == "active"]
            people = [row.name for row in users.list_users(tx) if row.status != "removed"]
            return {"groups": here, "users": people}

        if not any(named.values()):
            return
        known = await self._rooms.store.read(query)
        known["nodes"] = [node.name for node in self._rooms.ledger.nodes()]
        for key, what in _NAMES.items():
            for name in sorted(set(named[key]) - set(known[key])):
                raise Unknown(key, what, name, known[key])


def row_of(config: VolumeConfig) -> VolumeRow:
    return VolumeRow(
        config.name,
        str(config.source),
        config.target,
        config.read_only,
        config.everywhere,
        list(config.groups),
        list(config.users),
        list(config.nodes),
        config.tier,
        config.note,
        0.0,
    )


def _shown(volume: Volume) -> Shown:
    return Shown(volume.config, volume.target, True)


def _told(row: VolumeRow) -> dict[str, Any]:
    values = asdict(row)
    del values["name"], values["created_at"]
    return values


def _managed(asker: Asker) -> None:
    if not rules.manages_volumes(asker.who):
        raise NotAllowed("Only an admin may do this", "只有管理员可以执行")


def _missing(name: str) -> NotThere:
    return NotThere(f"volume {name[:64]}", f"存储卷 {name[:64]}")
