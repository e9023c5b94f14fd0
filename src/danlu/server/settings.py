"""danlu.toml: refines what works without it. Every mistake names key, value and what is allowed."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from danlu.control.settings import VolumeConfig
from danlu.engines.local.config import (
    LocalConfig,
    NodeConfig,
    machine_cpus,
    machine_memory,
)
from danlu.server.files import context_path
from danlu.spec.defaults import Defaults
from danlu.spec.errors import Wrong
from danlu.spec.units import parse_duration, parse_size

DEFAULT_PORT = 8080


class ConfigError(Exception):
    """What is wrong with the configuration, in both languages."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.en = en
        self.zh = zh


@dataclass(frozen=True, slots=True)
class Address:
    host: str = "127.0.0.1"
    port: int | None = None  # None: 8080, or the next free one


@dataclass(frozen=True, slots=True)
class ServerConfig:
    data: Path
    listen: tuple[Address, ...] = (Address(),)
    tls_cert: Path | None = None
    tls_key: Path | None = None
    database: str | None = None
    nodes: tuple[NodeConfig, ...] = ()
    volumes: Mapping[str, VolumeConfig] = field(default_factory=dict)
    defaults: Defaults = field(default_factory=Defaults)
    namespaces: Literal["auto", "off"] = "auto"
    cgroups: Literal["auto", "off"] = "auto"
    ports: tuple[int, int] | None = None

    @property
    def database_url(self) -> str:
        return self.database or f"sqlite:///{self.data / 'danlu.db'}"

    def engine(self) -> LocalConfig:
        config = LocalConfig(
            data=self.data,
            nodes=self.nodes,
            userns=self.namespaces,
            cgroups=self.cgroups,
            log_cap=self.defaults.max_log_cap,
            hide=(context_path().parent,),  # it holds the admin's token
        )
        return config if self.ports is None else replace(config, port_range=self.ports)


def default_data() -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/danlu")
    base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return Path(base) / "danlu"


def find_file(named: str | None) -> Path | None:
    """The file the user names, else the usual place if there is one there."""
    named = named or os.environ.get("DANLU_CONFIG")
    if named:
        return Path(named)
    if os.geteuid() == 0:
        usual = Path("/etc/danlu/danlu.toml")
    else:
        base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        usual = Path(base) / "danlu" / "danlu.toml"
    return usual if usual.exists() else None


def load(path: Path | None) -> ServerConfig:
    if path is None:
        return ServerConfig(default_data())
    try:
        text = path.read_bytes().decode()
        values = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}", f"无法读取 {path}：{error.strerror}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path}: not valid TOML: {error}", f"{path}：不是合法的 TOML：{error}"
        ) from None
    return Reader(str(path)).config(values)


class Reader:
    def __init__(self, where: str) -> None:
        self._where = where

    def config(self, values: dict[str, Any]) -> ServerConfig:
        known = ("data", "server", "database", "nodes", "volumes", "defaults", "engine")
        self._known("", values, known)
        server = self._table(values, "server", ("listen", "tls_cert", "tls_key"))
        engine = self._table(values, "engine", ("namespaces", "cgroups", "ports"))
        database = self._table(values, "database", ("url",))
        listen = self._texts("server.listen", server.get("listen", ["127.0.0.1"]))
        cert, key = server.get("tls_cert"), server.get("tls_key")
        if (cert is None) != (key is None):
            raise self._wrong(
                "server.tls_cert", cert, "needs tls_key beside it", "需要同时填写 tls_key"
            )
        return ServerConfig(
            data=Path(self._text("data", values.get("data", str(default_data())))).expanduser(),
            listen=tuple(self._address(text) for text in listen),
            tls_cert=Path(self._text("server.tls_cert", cert)) if cert else None,
            tls_key=Path(self._text("server.tls_key", key)) if key else None,
            database=self._text("database.url", database["url"]) if "url" in database else None,
            nodes=self._nodes(values.get("nodes", [])),
            volumes=self._volumes(values.get("volumes", {})),
            defaults=self._defaults(values.get("defaults", {})),
            namespaces=self._choice("engine.namespaces", engine.get("namespaces", "auto")),
            cgroups=self._choice("engine.cgroups", engine.get("cgroups", "auto")),
            ports=self._ports(engine.get("ports")),
        )

    def _nodes(self, values: Any) -> tuple[NodeConfig, ...]:
        if not isinstance(values, list):
            raise self._wrong("nodes", values, "write [[nodes]] tables", "请写 [[nodes]] 表")
        nodes = []
        for index, node in enumerate(values):
            key = f"nodes.{index}"
            if not isinstance(node, dict):
                raise self._wrong(key, node, "write a [[nodes]] table", "请写 [[nodes]] 表")
            self._known(key, node, ("name", "cpus", "memory", "gpus"))
            name = self._text(f"{key}.name", node.get("name", f"n{index + 1}"))
            memory = node.get("memory", machine_memory())
            nodes.append(
                NodeConfig(
                    name,
                    self._number(f"{key}.cpus", node.get("cpus", machine_cpus())),
                    self._parsed(f"{key}.memory", memory, parse_size),
                    self._gpus(f"{key}.gpus", node["gpus"]) if "gpus" in node else (),
                )
            )
        names = [node.name for node in nodes]
        if len(set(names)) != len(names):
            raise self._wrong("nodes", names, "each node needs its own name", "节点名不能重复")
        return tuple(nodes)

    def _gpus(self, key: str, value: Any) -> tuple[tuple[str, int], ...]:
        """5 of one model as "5:RTX3090", or a list of such."""
        cards = []
        for text in value if isinstance(value, list) else [value]:
            count, _, model = str(text).partition(":")
            if not count.isdigit() or not model.strip():
                raise self._wrong(key, text, 'write "5:RTX3090"', '请写 "5:RTX3090"')
            cards.append((model.strip(), int(count)))
        return tuple(cards)

    def _volumes(self, values: Any) -> dict[str, VolumeConfig]:
        if not isinstance(values, dict):
            raise self._wrong("volumes", values, "write [volumes.NAME]", "请写 [volumes.名称]")
        volumes = {}
        for name, volume in values.items():
            key = f"volumes.{name}"
            if not isinstance(volume, dict) or "source" not in volume:
                raise self._wrong(key, volume, 'needs source = "/folder"', '需要 source = "/目录"')
            self._known(key, volume, ("source", "target", "read_only", "everywhere"))
            source = Path(self._text(f"{key}.source", volume["source"]))
            target = self._text(f"{key}.target", volume.get("target", f"/mnt/{name}"))
            if not source.is_absolute() or not target.startswith("/"):
                raise self._wrong(key, str(source), "needs absolute paths", "需要绝对路径")
            volumes[name] = VolumeConfig(
                name,
                source,
                target,
                self._flag(f"{key}.read_only", volume.get("read_only", False)),
                self._flag(f"{key}.everywhere", volume.get("everywhere", True)),
            )
        return volumes

    def _defaults(self, values: Any) -> Defaults:
        if not isinstance(values, dict):
            raise self._wrong("defaults", values, "write a [defaults] table", "请写 [defaults] 表")
        # `node_*` are learned from the nodes, not set.
        kinds = {e.name: str(e.type) for e in fields(Defaults) if not e.name.startswith("node_")}
        self._known("defaults", values, tuple(kinds))
        changes: dict[str, Any] = {}
        for name, value in values.items():
            key = f"defaults.{name}"
            if "time" in name:
                changes[name] = self._parsed(key, value, parse_duration)
            elif isinstance(value, str):
                changes[name] = self._parsed(key, value, parse_size)
            else:
                number = self._number(key, value)
                changes[name] = int(number) if kinds[name].startswith("int") else number
        return replace(Defaults(), **changes)

    def _address(self, text: str) -> Address:
        host, colon, port = text.rpartition(":")
        if text.startswith("[") and text.endswith("]"):
            return Address(text[1:-1])
        if not colon:
            return Address(text)
        host = host.strip("[]")
        if not port.isdigit() or not 0 <= int(port) < 65536:
            raise self._wrong(
                "server.listen", text, "write host or host:port", "请写 主机 或 主机:端口"
            )
        return Address(host or "0.0.0.0", int(port))  # noqa: S104 - the admin wrote ":8080"

    def _ports(self, value: Any) -> tuple[int, int] | None:
        if value is None:
            return None
        first, _, last = str(value).partition("-")
        if first.isdigit() and last.isdigit() and 1024 <= int(first) < int(last) < 65536:
            return int(first), int(last)
        raise self._wrong("engine.ports", value, 'write "20000-29999"', '请写 "20000-29999"')

    def _table(self, values: dict[str, Any], name: str, known: tuple[str, ...]) -> dict[str, Any]:
        table = values.get(name, {})
        if not isinstance(table, dict):
            raise self._wrong(name, table, f"write a [{name}] table", f"请写 [{name}] 表")
        self._known(name, table, known)
        return table

    def _known(self, place: str, values: dict[str, Any], known: tuple[str, ...]) -> None:
        for name in values:
            if name not in known:
                key = f"{place}.{name}" if place else name
                near = get_close_matches(name, known, 1)
                listed = ", ".join(known)
                en = (
                    f"unknown key; did you mean {near[0]}?"
                    if near
                    else f"unknown key; known: {listed}"
                )
                zh = f"未知的键；是不是 {near[0]}？" if near else f"未知的键；可用：{listed}"
                raise ConfigError(f"{self._where}: {key}: {en}", f"{self._where}：{key}：{zh}")

    def _text(self, key: str, value: Any) -> str:
        if not isinstance(value, str) or not value or "\0" in value:
            raise self._wrong(key, value, "write text in quotes", "请写带引号的文本")
        return value

    def _texts(self, key: str, value: Any) -> list[str]:
        values = value if isinstance(value, list) else [value]
        if not values:
            raise self._wrong(key, value, "name at least one", "至少写一个")
        return [self._text(key, one) for one in values]

    def _flag(self, key: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self._wrong(key, value, "write true or false", "请写 true 或 false")
        return value

    def _number(self, key: str, value: Any) -> float:
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if not good or not 0 < value < 1e18:
            raise self._wrong(key, value, "write a number above 0", "请写大于 0 的数")
        return float(value)

    def _choice(self, key: str, value: Any) -> Literal["auto", "off"]:
        if value == "auto":
            return "auto"
        if value == "off":
            return "off"
        raise self._wrong(key, value, 'write "auto" or "off"', '请写 "auto" 或 "off"')

    def _parsed(self, key: str, value: Any, parse: Callable[[Any], Any]) -> Any:
        try:
            return parse(value)
        except Wrong as error:
            found = error.findings[0]
            raise self._wrong(key, value, found.en, found.zh) from None

    def _wrong(self, key: str, value: Any, en: str, zh: str) -> ConfigError:
        shown = repr(value)[:80]
        return ConfigError(
            f"{self._where}: {key}: {shown}: {en}", f"{self._where}：{key}：{shown}：{zh}"
        )
