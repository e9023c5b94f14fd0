"""Prerequisites of OpenPAI v2: images, scripts, data and outputs that roles refer to by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.keys import Keys, as_text_list
from danlu.spec.dialects.openpai_plugins import Plugins
from danlu.spec.errors import Path
from danlu.spec.text import Text

_TYPES = ("dockerimage", "script", "output", "data")
_KEYS = (
    "protocolVersion",
    "name",
    "type",
    "version",
    "contributor",
    "description",
    "uri",
    "auth",
    "plugin",
    "require",
    "callbacks",
    "failurePolicy",
)


class Prerequisites:
    def __init__(self, draft: Draft, keys: Keys) -> None:
        self._draft = draft
        self._plugins: dict[str, tuple[str, Mapping[str, Any], Path]] = {}
        self._before: dict[str, list[str]] = {}  # what a prerequisite itself requires
        self.things: dict[str, dict[str, Mapping[str, Any]]] = {kind: {} for kind in _TYPES}
        for index, values in enumerate(keys.items("prerequisites")):
            place = ("prerequisites", index)
            if isinstance(values, Mapping):
                self._add(Keys(draft, values, place))
            else:
                draft.refuse(place, values, Text("is not a prerequisite", "不是前置项"))

    def _add(self, keys: Keys) -> None:
        draft, path = self._draft, keys.path
        keys.raw("protocolVersion")
        for key in ("version", "contributor", "description"):
            keys.raw(key)
        named = keys.required("name", Text("give it a name", "请命名"))
        name = (keys.text("name") if named else None) or ""
        plugin = keys.text("plugin")
        if plugin is not None:
            self._plugins[name] = (plugin, keys.values, path)
            for key in ("callbacks", "failurePolicy"):
                keys.raw(key)
        self._before[name] = keys.read("require", as_text_list) or []
        kind = keys.text("type") if plugin is None or keys.has("type") else None
        if kind is None and plugin is None:
            draft.missing((*path, "type"), Text(f"use one of: {', '.join(_TYPES)}", "请写类型"))
        elif kind is not None and kind not in _TYPES and plugin is None:
            draft.refuse(
                (*path, "type"),
                kind,
                Text(f"is not one of: {', '.join(_TYPES)}", f"不是以下之一：{'、'.join(_TYPES)}"),
            )
        elif kind in _TYPES:
            self._keep(kind, name, keys, plugin is None)
        keys.raw("uri")
        keys.refuse_rest(_KEYS)

    def _keep(self, kind: str, name: str, keys: Keys, needs_uri: bool) -> None:
        draft, path = self._draft, keys.path
        if name in self.things[kind]:
            draft.refuse(
                (*path, "name"),
                name,
                Text(
                    f"is defined twice with type {kind}; keep one",
                    f"以类型 {kind} 定义了两次；请只保留一个",
                ),
            )
        uri: Any = None
        if kind == "data":
            if keys.has("uri"):
                uri = keys.read("uri", as_text_list)
        elif keys.has("uri") or (
            needs_uri and keys.required("uri", Text("write its address", "请写地址"))
        ):
            uri = keys.line("uri")
        if keys.has("auth"):
            keys.mapping("auth")
            draft.note(
                (*path, "auth"),
                Text(
                    "is not used; registries and their credentials are configured by the admin",
                    "不使用；镜像仓库及其登录由管理员统一设置",
                ),
            )
        version = keys.values.get("version")
        self.things[kind][name] = {"name": name, "uri": uri, "version": version}

    def add_plugins(self, plugins: Plugins, roles: Mapping[str, Any]) -> None:
        """If roles list their prerequisites, each gets those; otherwise all get all."""
        named = {
            name: role["prerequisites"]
            for name, role in roles.items()
            if isinstance(role, Mapping) and role.get("prerequisites") is not None
        }
        for role in roles:
            names = self._chosen(role, named[role]) if role in named else []
            for name in self._in_order(names if named else list(self._before)):
                if name in self._plugins:
                    plugin, values, path = self._plugins[name]
                    plugins.add(plugin, values, path, [role])
        findings = self._draft.findings  # an error in a plugin of two roles is reported once
        findings[:] = [each for at, each in enumerate(findings) if each not in findings[:at]]

    def _chosen(self, role: str, names: Any) -> list[str]:
        key: Path = ("taskRoles", role, "prerequisites")
        found = self._draft.read(as_text_list, names, key) or []
        for name in found:
            if name not in self._before:
                known = ", ".join(self._before) or "none"
                self._draft.refuse(
                    key,
                    name,
                    Text(
                        f"is not a prerequisite; available: {known}", f"不是前置项；现有：{known}"
                    ),
                )
        return found

    def _in_order(self, names: list[str]) -> list[str]:
        """Each after what it requires."""
        found: dict[str, None] = {}
        waiting = list(reversed(names))
        opened: set[str] = set()
        while waiting:
            name = waiting[-1]
            missing = [each for each in self._before.get(name, ()) if each not in opened]
            opened.add(name)
            if missing:
                waiting.extend(reversed(missing))
                opened.update(missing)
                continue
            found.setdefault(waiting.pop())
        return list(found)

    def image(self, name: str, key: Path) -> str | None:
        if not self.check("dockerimage", name, key):
            return None
        uri = self.things["dockerimage"][name]["uri"]
        return uri.strip() if isinstance(uri, str) else None

    def check(self, kind: str, name: str, key: Path) -> bool:
        """Whether a role's reference is valid."""
        if name in self.things[kind]:
            return True
        known = ", ".join(self.things[kind]) or "none"
        self._draft.refuse(
            key,
            name,
            Text(
                f"is not a prerequisite of type {kind}; available: {known}",
                f"不是类型为 {kind} 的前置项；现有：{known}",
            ),
        )
        return False
