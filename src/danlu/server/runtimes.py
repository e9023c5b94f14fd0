"""The parts of danlu.toml about containers: which runtime, and where images come from."""

from __future__ import annotations

from typing import Any, Literal, cast

from danlu.engines.local.config import ContainerConfig, Registry
from danlu.engines.local.container.refs import is_host
from danlu.server.values import Values

KEYS = ("containers", "container_socket", "pull")
_REGISTRY = ("user", "password", "password_file", "plain_http", "mirror_of")


class Runtimes(Values):
    def containers(self, engine: dict[str, Any], registries: Any) -> ContainerConfig:
        runtime = self._one_of(
            "engine.containers", engine.get("containers", "auto"), "auto", "docker", "podman", "off"
        )
        pull = self._one_of("engine.pull", engine.get("pull", "missing"), "missing", "always")
        socket = None
        if "container_socket" in engine:
            socket = self._text("engine.container_socket", engine["container_socket"])
            socket = socket.removeprefix("unix://")
            if not socket.startswith("/"):
                raise self._wrong(
                    "engine.container_socket",
                    engine["container_socket"],
                    "write the absolute path of its socket",
                    "请写套接字的绝对路径",
                )
        return ContainerConfig(
            cast(Literal["auto", "docker", "podman", "off"], runtime),
            socket,
            cast(Literal["missing", "always"], pull),
            self._registries(registries),
        )

    def _registries(self, values: Any) -> tuple[Registry, ...]:
        if not isinstance(values, dict):
            raise self._wrong(
                "registries", values, 'write [registries."HOST"]', '请写 [registries."主机"]'
            )
        found = []
        for host, entry in values.items():
            key = f'registries."{host}"'
            if not isinstance(entry, dict) or not is_host(host):
                raise self._wrong(
                    key,
                    host,
                    'write [registries."host:5000"] as images name it, without http://',
                    '请写 [registries."host:5000"]，与镜像名称中的写法一致，不带 http://',
                )
            self._known(key, entry, _REGISTRY)
            found.append(self._registry(host, key, entry))
        return tuple(found)

    def _registry(self, host: str, key: str, entry: dict[str, Any]) -> Registry:
        user, file = (
            self._text(f"{key}.{name}", entry[name]) if name in entry else ""
            for name in ("user", "password_file")
        )
        password = entry.get("password", "")
        if not isinstance(password, str):  # and it is not shown
            raise self._wrong(key, "***", "write the password in quotes", "密码请加引号")
        if password and file:
            raise self._wrong(
                key, host, "has password and password_file: keep one", "密码只能写一处"
            )
        if bool(user) != bool(password or file):
            raise self._wrong(
                key,
                host,
                "user and password (or password_file) go together",
                "user 和 password（或 password_file）需要同时填写",
            )
        mirrored = entry.get("mirror_of") and self._texts(f"{key}.mirror_of", entry["mirror_of"])
        plain = self._flag(f"{key}.plain_http", entry.get("plain_http", False))
        return Registry(host, user, password, file, plain, tuple(mirrored or ()))

    def _one_of(self, key: str, value: Any, *allowed: str) -> str:
        if value not in allowed:
            listed = ", ".join(f'"{one}"' for one in allowed)
            raise self._wrong(key, value, f"write one of {listed}", f"请写 {listed} 之一")
        return str(value)
