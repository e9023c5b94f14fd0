"""The parts of danlu.toml about volumes and uids."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from danlu.access.identities import HIGHEST, LOWEST, Mapped, Uids
from danlu.files.declaring import check
from danlu.files.settings import VolumeConfig
from danlu.files.volumes import HOME, SHARE, USER
from danlu.server.values import Values
from danlu.spec.errors import Wrong
from danlu.spec.text import Text

_VOLUME = (
    "source",
    "path",
    "read_only",
    "everywhere",
    "groups",
    "users",
    "nodes",
    "tier",
    "note",
)


class Places(Values):
    def volumes(self, values: Any, data: Path) -> dict[str, VolumeConfig]:
        if not isinstance(values, dict):
            raise self._wrong(
                "volumes", values, Text("must be [volumes.NAME] tables", "请写 [volumes.名称]")
            )
        volumes: dict[str, VolumeConfig] = {}
        for name, given in values.items():
            key = f"volumes.{name}"
            if not isinstance(given, dict) or "source" not in given:
                raise self._wrong(
                    key, given, Text('needs source = "/folder"', '需要 source = "/目录"')
                )
            volume = dict(given)
            if "target" in volume:  # former name of `path`
                volume.setdefault("path", volume.pop("target"))
            self._known(key, volume, _VOLUME)
            volumes[name] = self._volume(name, key, volume)
            self._check(key, volumes[name], data, volumes)
        return volumes

    def check_all(self, volumes: Mapping[str, VolumeConfig], data: Path) -> None:
        """Checked again: the data folder may have been changed at startup."""
        for name, volume in volumes.items():
            self._check(f"volumes.{name}", volume, data, volumes)

    def _volume(self, name: str, key: str, volume: dict[str, Any]) -> VolumeConfig:
        path = volume.get("path", f"/mnt/{name}")
        return VolumeConfig(
            name,
            Path(self._text(f"{key}.source", volume["source"])),
            self._text(f"{key}.path", path),
            self._flag(f"{key}.read_only", volume.get("read_only", False)),
            self._flag(f"{key}.everywhere", volume.get("everywhere", True)),
            self._names(f"{key}.groups", volume),
            self._names(f"{key}.users", volume),
            self._names(f"{key}.nodes", volume),
            self._text(f"{key}.tier", volume["tier"]) if volume.get("tier") else "",
            self._text(f"{key}.note", volume["note"]) if volume.get("note") else "",
        )

    def _names(self, key: str, volume: dict[str, Any]) -> tuple[str, ...]:
        value = volume.get(key.rpartition(".")[2])
        return () if value is None else tuple(self._texts(key, value))

    def _check(
        self, key: str, volume: VolumeConfig, data: Path, others: Mapping[str, VolumeConfig]
    ) -> None:
        name = volume.name
        if name == HOME:
            raise self._wrong(
                key,
                name,
                Text(
                    "is always the user's own folder in the data folder",
                    "始终是数据目录下用户自己的目录",
                ),
            )
        try:
            # `user` and `share` name the parent of the folders of users and groups.
            checked = volume if name not in (USER, SHARE) else _renamed(volume)
            check(checked, data, others)
        except Wrong as error:
            found = error.findings[0]
            where = ".".join([key, *(str(part) for part in found.path)])
            raise self._wrong(where, found.value, found.message) from None

    def uids(self, values: dict[str, Any]) -> Uids:
        table = self._table(values, "uids", ("range", "umask"))
        first, last = self._range(table.get("range", "200000-299999"))
        users: dict[str, Mapped] = {}
        for name, user in self._tables(values, "users").items():
            key = f"users.{name}"
            self._known(key, user, ("uid", "gid", "groups"))
            users[name] = Mapped(
                self._id(f"{key}.uid", user.get("uid")),
                self._id(f"{key}.gid", user["gid"]) if "gid" in user else None,
                tuple(self._id(f"{key}.groups", gid) for gid in user.get("groups", [])),
            )
        groups: dict[str, int] = {}
        for name, group in self._tables(values, "groups").items():
            self._known(f"groups.{name}", group, ("gid",))
            groups[name] = self._id(f"groups.{name}.gid", group.get("gid"))
        given = [user.uid for user in users.values()]
        if len(set(given)) != len(given):
            raise self._wrong(
                "users", given, Text("each user needs a different uid", "uid 不能重复")
            )
        return Uids(first, last, users, groups, self._umask(table.get("umask")))

    def _tables(self, values: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
        tables = values.get(name, {})
        good = isinstance(tables, dict) and all(isinstance(t, dict) for t in tables.values())
        if not good:
            raise self._wrong(
                name, tables, Text(f"must be [{name}.NAME] tables", f"请写 [{name}.名称]")
            )
        found: dict[str, dict[str, Any]] = tables
        return found

    def _id(self, key: str, value: Any) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and LOWEST <= value <= HIGHEST:
            return value
        raise self._wrong(
            key,
            value,
            Text(
                f"must be a number from {LOWEST} to {HIGHEST}; lower ones belong to the system",
                f"请写 {LOWEST} 到 {HIGHEST} 之间的数；更小的属于系统",
            ),
        )

    def _range(self, value: Any) -> tuple[int, int]:
        first, _, last = str(value).partition("-")
        if first.isdigit() and last.isdigit() and LOWEST <= int(first) < int(last) <= HIGHEST:
            return int(first), int(last)
        raise self._wrong(
            "uids.range",
            value,
            Text(
                f'must be a range such as "200000-299999", from {LOWEST} up',
                f'请写 "200000-299999"，最小 {LOWEST}',
            ),
        )

    def _umask(self, value: Any) -> int | None:
        if value is None:
            return None
        if isinstance(value, str) and len(value) == 3 and all(c in "01234567" for c in value):
            return int(value, 8)
        raise self._wrong(
            "uids.umask",
            value,
            Text('must be a umask such as "007" or "022"', '请写 "007" 或 "022"'),
        )


def _renamed(volume: VolumeConfig) -> VolumeConfig:
    return VolumeConfig("root", volume.source, "/root-of-it")
