"""The part of danlu.toml about the image registry: [registry]."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from danlu.engines.local.container.refs import is_host
from danlu.registry.names import PART
from danlu.registry.settings import Mirror, RegistrySettings
from danlu.server.values import Values
from danlu.spec.text import Text
from danlu.spec.units import parse_duration, parse_size

KEYS = (
    "enabled",
    "listen",
    "port",
    "addresses",
    "url",
    "tls",
    "tls_cert",
    "tls_key",
    "folder",
    "quota",
    "group_quota",
    "user_quotas",
    "group_quotas",
    "free",
    "grace",
    "untagged",
    "read_only",
    "cache",
    "mirrors",
)
_MIRROR = ("url", "user", "password", "password_file")
_SMALLEST_GRACE = 60.0


@dataclass(frozen=True, slots=True)
class RegistryConfig:
    enabled: bool = True
    host: str | None = None  # None: where the pages are
    port: int | None = None  # None: 5000, or the next free one
    addresses: tuple[str, ...] = ()  # as names of images have it, the one to show first
    tls: bool | None = None  # None: as the pages
    tls_cert: Path | None = None  # None: that of the pages
    tls_key: Path | None = None
    folder: Path | None = None  # None: in the data folder
    settings: RegistrySettings = field(default_factory=RegistrySettings)


class RegistryTable(Values):
    def registry(self, values: dict[str, Any]) -> RegistryConfig:
        table = self._table(values, "registry", KEYS)
        cert, key = table.get("tls_cert"), table.get("tls_key")
        if (cert is None) != (key is None):
            raise self._wrong(
                "registry.tls_cert", cert, Text("also needs tls_key", "需要同时填写 tls_key")
            )
        return RegistryConfig(
            enabled=self._flag("registry.enabled", table.get("enabled", True)),
            host=self._text("registry.listen", table["listen"]) if "listen" in table else None,
            port=self._port(table.get("port")),
            addresses=self._addresses(table.get("addresses", [])),
            tls=self._flag("registry.tls", table["tls"]) if "tls" in table else None,
            tls_cert=Path(self._text("registry.tls_cert", cert)) if cert else None,
            tls_key=Path(self._text("registry.tls_key", key)) if key else None,
            folder=self._folder(table.get("folder")),
            settings=self._settings(table),
        )

    def _settings(self, table: dict[str, Any]) -> RegistrySettings:
        usual = RegistrySettings()
        untagged: float | None = usual.untagged
        if "untagged" in table:
            untagged = None
            if table["untagged"] != "keep":
                untagged = self._parsed("registry.untagged", table["untagged"], parse_duration)
        return RegistrySettings(
            quota=self._quota("registry.quota", table.get("quota", usual.quota)),
            group_quota=self._quota(
                "registry.group_quota", table.get("group_quota", usual.group_quota)
            ),
            users=self._quotas("registry.user_quotas", table.get("user_quotas", {})),
            groups=self._quotas("registry.group_quotas", table.get("group_quotas", {})),
            hub_size=self._size("registry.cache", table.get("cache", usual.hub_size)),
            free=self._size("registry.free", table.get("free", usual.free)),
            grace=self._grace(table.get("grace", usual.grace)),
            untagged=untagged,
            read_only=self._flag("registry.read_only", table.get("read_only", False)),
            mirrors=self._mirrors(table.get("mirrors", {})),
            public=self._url(table.get("url", "")),
        )

    def _port(self, value: Any) -> int | None:
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 65536:
            return value
        raise self._wrong(
            "registry.port", value, Text("must be a port such as 5000", "请写端口号，例如 5000")
        )

    def _addresses(self, value: Any) -> tuple[str, ...]:
        found = [] if value == [] else self._texts("registry.addresses", value)
        for text in found:
            if not is_host(text) or not set(text) & set(".:["):
                raise self._wrong(
                    "registry.addresses",
                    text,
                    Text(
                        'must be hosts as names of images have them, such as "reg.lab:5000"',
                        '请写镜像名称中的主机，例如 "reg.lab:5000"',
                    ),
                )
        return tuple(text.lower() for text in found)

    def _url(self, value: Any) -> str:
        if value == "":
            return ""
        text = self._text("registry.url", value).rstrip("/")
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.path:
            raise self._wrong(
                "registry.url",
                value,
                Text(
                    'must be an address such as "https://reg.example.org"',
                    '请写 "https://reg.example.org" 这样的地址',
                ),
            )
        return text

    def _folder(self, value: Any) -> Path | None:
        if value is None:
            return None
        text = self._text("registry.folder", value)
        if not text.startswith("/"):
            raise self._wrong(
                "registry.folder", value, Text("must be an absolute path", "请写绝对路径")
            )
        return Path(text)

    def _quota(self, key: str, value: Any) -> int | None:
        return None if value in (None, "unlimited") else self._size(key, value)

    def _quotas(self, key: str, value: Any) -> dict[str, int]:
        if not isinstance(value, dict):
            raise self._wrong(key, value, Text(f"must be a [{key}] table", f"请写 [{key}] 表"))
        return {str(name): self._size(f"{key}.{name}", size) for name, size in value.items()}

    def _size(self, key: str, value: Any) -> int:
        return int(self._parsed(key, value, parse_size))

    def _grace(self, value: Any) -> float:
        seconds = float(self._parsed("registry.grace", value, parse_duration))
        if seconds < _SMALLEST_GRACE:
            raise self._wrong(
                "registry.grace", value, Text("must be at least a minute", "至少一分钟")
            )
        return seconds

    def _mirrors(self, value: Any) -> tuple[Mirror, ...]:
        if not isinstance(value, dict):
            raise self._wrong(
                "registry.mirrors",
                value,
                Text('must be [registry.mirrors."NAME"] tables', '请写 [registry.mirrors."名称"]'),
            )
        return tuple(self._mirror(name, entry) for name, entry in value.items())

    def _mirror(self, name: str, entry: Any) -> Mirror:
        key = f'registry.mirrors."{name}"'
        if not re.fullmatch(PART, name):
            raise self._wrong(
                key,
                name,
                Text(
                    'must be a part of a repository name, such as "docker.io", without a port',
                    '请写可用于镜像名称的名字，例如 "docker.io"，不带端口',
                ),
            )
        if not isinstance(entry, dict):
            raise self._wrong(key, entry, Text(f"must be a [{key}] table", f"请写 [{key}] 表"))
        self._known(key, entry, _MIRROR)
        url = self._text(f"{key}.url", entry.get("url", _USUAL.get(name, f"https://{name}")))
        parts = urlsplit(url.rstrip("/"))
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.path:
            raise self._wrong(
                f"{key}.url",
                url,
                Text(
                    'must be an address such as "https://registry-1.docker.io"',
                    '请写 "https://registry-1.docker.io" 这样的地址',
                ),
            )
        user = self._text(f"{key}.user", entry["user"]) if "user" in entry else ""
        password = entry.get("password", "")
        file = self._text(f"{key}.password_file", entry.get("password_file") or "-")
        file = file if "password_file" in entry else ""
        if not isinstance(password, str) or bool(user) != bool(password or file):
            raise self._wrong(
                key,
                name,
                Text(
                    "user and password (or password_file) must both be set",
                    "user 和 password（或 password_file）需要同时填写",
                ),
            )
        return Mirror(name, url.rstrip("/"), user, password, file)


_USUAL = {"docker.io": "https://registry-1.docker.io"}
