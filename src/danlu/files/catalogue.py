"""Volumes an admin declares, changes and removes while the server runs."""

from __future__ import annotations

import asyncio
import contextlib
import stat
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import Clash, NotAllowed, NotThere, Unfit, Unknown
from danlu.access.identities import Identities, Uids
from danlu.access.names import check_text
from danlu.access.principal import Asker
from danlu.engines.api import Engine, Unreachable
from danlu.files import staging
from danlu.files.declaring import check
from danlu.files.settings import FileSettings, VolumeConfig
from danlu.files.shown import Shown
from danlu.files.volumes import Volume, Volumes, config_of, real_path
from danlu.spec.errors import Wrong
from danlu.spec.text import Text
from danlu.spec.ties import read_target
from danlu.store import datasets, groups, users
from danlu.store import volumes as volume_store
from danlu.store.rows import SpeedRow, VolumeRow
from danlu.store.store import Store
from danlu.store.tx import Tx

_NAMES = {
    "groups": Text("group", "组"),
    "users": Text("user", "用户"),
    "nodes": Text("node", "节点"),
}


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes as the control loop knows them."""

    names: Callable[[], list[str]]
    engine_at: Callable[[str], Engine]


class Catalogue:
    def __init__(
        self,
        store: Store,
        identities: Identities,
        volumes: Volumes,
        settings: FileSettings,
        uids: Uids | None,
        nodes: Nodes,
        changed: Callable[[], None],
    ) -> None:
        self._store = store
        self._identities = identities
        self._volumes = volumes
        self._settings = settings
        self._uids = uids
        self._nodes = nodes
        self._changed = changed
        self._measuring = asyncio.Lock()

    async def seen(self, asker: Asker) -> list[Shown]:
        """The volumes a principal may use; admins see all."""
        person = await self._identities.person(asker.name)
        usable = self._volumes.usable(person)
        found = {name: _shown(volume) for name, volume in usable.items()}
        if rules.manages_volumes(asker.who):
            for name, config in self._volumes.catalogue().items():
                found.setdefault(name, Shown(config, config.target, False))
        speeds = await self._store.read(datasets.speeds)
        return [replace(found[name], speed=speeds.get(name)) for name in sorted(found)]

    async def show(self, asker: Asker, name: str) -> Shown:
        found = next((each for each in await self.seen(asker) if each.config.name == name), None)
        if found is None:
            raise _missing(name)
        return found

    async def add(self, asker: Asker, row: VolumeRow) -> Shown:
        _managed(asker)
        row = self._checked(replace(row, created_at=time.time()))
        await self._check_names({key: getattr(row, key) for key in _NAMES})
        await self._check_folder(row)
        if row.name in self._volumes.catalogue():
            raise Clash(
                "volume_exists",
                Text(
                    f"Volume {row.name} already exists; change it with danlu volume set {row.name}",
                    f"已有存储卷 {row.name}；可修改它（danlu volume set {row.name}）",
                ),
            )

        def op(tx: Tx) -> None:
            volume_store.insert_volume(tx, row)
            note(tx, asker, "volume.added", row.name, **_told(row))

        await self._store.write(op)
        self._volumes.put(row)
        self._changed()
        return await self._warned(asker, row)

    async def change(self, asker: Asker, name: str, values: dict[str, Any]) -> Shown:
        await self.show(asker, name)
        _managed(asker)
        before = self._own(name)
        row = self._checked(replace(before, **values))
        # Names set earlier are not checked again: a group may have been removed since.
        named = {key: set(values.get(key, ())) - set(getattr(before, key)) for key in _NAMES}
        await self._check_names(named)
        await self._check_folder(row)
        told = {key: value for key, value in _told(row).items() if value != _told(before)[key]}

        def op(tx: Tx) -> None:
            if not volume_store.update_volume(tx, row):
                raise _missing(name)
            note(tx, asker, "volume.changed", name, **told)

        await self._store.write(op)
        self._volumes.put(row)
        self._changed()
        return await self._warned(asker, row)

    async def measure(self, asker: Asker, name: str) -> Shown:
        """How fast it is, on the server's machine: writes and reads half a gigabyte."""
        shown = await self.show(asker, name)
        _managed(asker)
        async with self._measuring:
            try:
                found = await staging.measure(str(real_path(shown.config.source)))
            except staging.Trouble as trouble:
                raise Clash(
                    "not_measured",
                    Text(
                        f"{name} cannot be measured here: {trouble}",
                        f"无法在此测量 {name}：{trouble}",
                    ),
                ) from None
        row = SpeedRow(name, float(found["read"]), float(found["write"]), "", time.time())

        def op(tx: Tx) -> None:
            datasets.put_speed(tx, row)
            note(tx, asker, "volume.measured", name, read=row.read, write=row.write)

        await self._store.write(op)
        return replace(shown, speed=row)

    async def _warned(self, asker: Asker, row: VolumeRow) -> Shown:
        """With a warning if tasks, which run as their users, cannot enter the folder."""
        shown = await self.show(asker, row.name)
        if self._uids is None:
            return shown
        closed = await asyncio.to_thread(_closed, Path(row.source))
        if closed is None:
            return shown
        return replace(
            shown,
            warning=Text(
                f"Tasks run as their users, who may not be able to enter {closed}: only its owner "
                f"and group can. If so: chmod o+rx {closed}",
                f"任务以各自用户的身份运行，可能无法进入 {closed}：只有其所有者和组可以。"
                f"如有需要：chmod o+rx {closed}",
            ),
        )

    async def remove(self, asker: Asker, name: str) -> Shown:
        """The folder and running tasks are not touched."""
        found = await self.show(asker, name)
        _managed(asker)
        row = self._own(name)

        def op(tx: Tx) -> None:
            if not volume_store.delete_volume(tx, name):
                raise _missing(name)
            note(tx, asker, "volume.removed", name, **_told(row))

        await self._store.write(op)
        self._volumes.remove(name)
        self._changed()
        return found

    def _own(self, name: str) -> VolumeRow:
        """Only volumes declared by command can be changed here."""
        config = self._volumes.catalogue().get(name)
        if config is None or config.declared != "command":
            raise Clash(
                "declared_elsewhere",
                Text(
                    f"{name} is built in or declared in danlu.toml: change it there and restart",
                    f"{name} 是内置的或在 danlu.toml 中声明的：请在那里修改，然后重启",
                ),
            )
        return row_of(config)

    def _checked(self, row: VolumeRow) -> VolumeRow:
        try:
            check(config_of(row), self._settings.data, self._volumes.catalogue())
        except Wrong as error:
            found = error.findings[0]
            key, value = str(found.path[0]) if found.path else "volume", str(found.value)[:80]
            shown = f"{value!r} "
            raise Unfit(key, Text(shown, shown) + found.message) from None
        row.target = read_target(row.target)
        row.note, row.tier = check_text(row.note, "note"), check_text(row.tier, "tier")
        return row

    async def _check_folder(self, row: VolumeRow) -> None:
        """A node whose engine does not answer is not known to lack it."""
        nodes = row.nodes or self._nodes.names()
        lacking = []
        for node in nodes:
            with contextlib.suppress(Unreachable):
                if await self._nodes.engine_at(node).missing_folders(node, (row.source,)):
                    lacking.append(node)
        if lacking:
            shown = ", ".join(lacking[:5]) + (", ..." if len(lacking) > 5 else "")
            raise Unfit(
                "source",
                Text(
                    f"{row.source!r} is not a folder on {shown}; create it there first",
                    f"{row.source!r} 在 {shown} 上不是目录；请先建立",
                ),
            )

    async def _check_names(self, named: Mapping[str, Collection[str]]) -> None:
        """A wrong name would lock everyone out, or leave a job waiting for a missing node."""

        def query(tx: Tx) -> dict[str, list[str]]:
            here = [row.name for row in groups.list_groups(tx) if row.status == "active"]
            people = [row.name for row in users.list_users(tx) if row.status != "removed"]
            return {"groups": here, "users": people}

        if not any(named.values()):
            return
        known = await self._store.read(query)
        known["nodes"] = self._nodes.names()
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
        raise NotAllowed(Text("Only an admin may do this", "只有管理员可以执行"))


def _missing(name: str) -> NotThere:
    return NotThere(Text(f"volume {name[:64]}", f"存储卷 {name[:64]}"))


def _closed(folder: Path) -> Path | None:
    """The outermost folder on the way that only its owner and group may enter."""
    for part in (*reversed(folder.parents), folder):
        try:
            if not part.stat().st_mode & stat.S_IXOTH:
                return part
        except OSError:
            return None
    return None
