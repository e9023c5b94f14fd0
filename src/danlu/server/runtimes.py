"""The parts of danlu.toml about containers and registries."""

from __future__ import annotations

from typing import Any, Literal, cast

from danlu.engines.local.config import ContainerConfig, Registry
from danlu.engines.local.container.refs import is_host
from danlu.server.values import Values
from danlu.spec.text import Text

KEYS = ("containers", "container_socket", "pull", "images_from")
_REGISTRY = ("user", "password", "password_file", "plain_http", "mirror_of")


class Runtimes(Values):
    def containers(
        self, engine: dict[str, Any], registries: Any, key: str = "engine"
    ) -> ContainerConfig:
        runtime = self._one_of(
            f"{key}.containers", engine.get("containers", "auto"), "auto", "docker", "podman", "off"
        )
        pull = self._one_of(f"{key}.pull", engine.get("pull", "missing"), "missing", "always")
        socket = None
        if "container_socket" in engine:
            socket = self._text(f"{key}.container_socket", engine["container_socket"])
            socket = socket.removeprefix("unix://")
            if not socket.startswith("/"):
                raise self._wrong(
                    f"{key}.container_socket",
                    engine["container_socket"],
                    Text("must be the absolute path of its socket", "请写套接字的绝对路径"),
                )
        return ContainerConfig(
            cast(Literal["auto", "docker", "podman", "off"], runtime),
            socket,
            cast(Literal["missing", "always"], pull),
            self._registries(registries),
            self._images_from(
                f"{key}.images_from", engine.get("images_from", ["configured", "public"])
            ),
        )

    def _images_from(self, key: str, value: Any) -> tuple[str, ...]:
        found = self._texts(key, value)
        for text in found:
            if text not in ("configured", "public") and not is_host(text):
                raise self._wrong(
                    key,
                    text,
                    Text(
                        'write "configured", "public" or registries as images name them',
                        '请写 "configured"、"public" 或仓库地址（与镜像名称中的写法一致）',
                    ),
                )
        return tuple(found)

    def _registries(self, values: Any) -> tuple[Registry, ...]:
        if not isinstance(values, dict):
            raise self._wrong(
                "registries",
                values,
                Text('must be [registries."HOST"] tables', '请写 [registries."主机"]'),
            )
        found = []
        for host, entry in values.items():
            key = f'registries."{host}"'
            if not isinstance(entry, dict) or not is_host(host):
                raise self._wrong(
                    key,
                    host,
                    Text(
                        'must be the host as image names have it ([registries."host:5000"]), '
                        "without http://",
                        '请写 [registries."host:5000"]，与镜像名称中的写法一致，不带 http://',
                    ),
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
        if not isinstance(password, str):  # not repeated in the message
            raise self._wrong(key, "***", Text("must be text in quotes", "密码请加引号"))
        if password and file:
            raise self._wrong(
                key,
                host,
                Text("password and password_file are both set: keep one", "密码只能写一处"),
            )
        if bool(user) != bool(password or file):
            raise self._wrong(
                key,
                host,
                Text(
                    "user and password (or password_file) must both be set",
                    "user 和 password（或 password_file）需要同时填写",
                ),
            )
        mirrored = entry.get("mirror_of") and self._texts(f"{key}.mirror_of", entry["mirror_of"])
        plain = self._flag(f"{key}.plain_http", entry.get("plain_http", False))
        return Registry(host, user, password, file, plain, tuple(mirrored or ()))

    def _one_of(self, key: str, value: Any, *allowed: str) -> str:
        if value not in allowed:
            listed = ", ".join(f'"{one}"' for one in allowed)
            raise self._wrong(key, value, Text(f"must be one of {listed}", f"请写 {listed} 之一"))
        return str(value)
