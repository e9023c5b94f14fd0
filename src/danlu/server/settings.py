"""danlu.toml: refines what works without it. Every mistake names key, value and what is allowed."""

from __future__ import annotations

import ipaddress
import os
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from danlu.access.identities import Uids
from danlu.access.signup import WAYS
from danlu.control.settings import VolumeConfig
from danlu.engines.local.config import (
    ContainerConfig,
    LocalConfig,
    NodeConfig,
    machine_cpus,
    machine_memory,
)
from danlu.sched.api import Policy, Quotas
from danlu.server.files import context_path
from danlu.server.places import Places
from danlu.server.runtimes import KEYS, Runtimes
from danlu.server.schedules import KEYS as SCHEDULING
from danlu.server.schedules import Schedules
from danlu.server.values import ConfigError, Values
from danlu.spec.defaults import Defaults
from danlu.spec.fields import read_name
from danlu.spec.units import parse_duration, parse_size

__all__ = [
    "Address",
    "ConfigError",
    "Reader",
    "ServerConfig",
    "default_data",
    "find_file",
    "load",
    "usual_file",
]
DEFAULT_PORT = 8080
_ENGINE = ("namespaces", "cgroups", "identities", "ports")
_MOST_CARDS = 4096  # of a model on one node
_SERVER = ("listen", "tls_cert", "tls_key", "circle_of_trust", "sign_up", "proxies")


@dataclass(frozen=True, slots=True)
class Address:
    host: str = "127.0.0.1"
    port: int | None = None  # None: 8080, or the next free one


@dataclass(frozen=True, slots=True)
class ServerConfig:
    data: Path
    file: Path | None = None  # where all this was read from
    listen: tuple[Address, ...] = (Address(),)
    tls_cert: Path | None = None
    tls_key: Path | None = None
    database: str | None = None
    nodes: tuple[NodeConfig, ...] = ()
    volumes: Mapping[str, VolumeConfig] = field(default_factory=dict)
    defaults: Defaults = field(default_factory=Defaults)
    namespaces: Literal["auto", "off"] = "auto"
    cgroups: Literal["auto", "off"] = "auto"
    identities: Literal["auto", "off"] = "auto"
    ports: tuple[int, int] | None = None
    containers: ContainerConfig = field(default_factory=ContainerConfig)
    uids: Uids = field(default_factory=Uids)
    circle_of_trust: bool = False  # without root: all who use this server trust each other
    sign_up: str = "request"  # how strangers come in; or "invite", "off"
    proxies: frozenset[str] = frozenset()  # whose X-Forwarded-For is believed
    policy: Policy = field(default_factory=Policy)
    quotas: Quotas = field(default_factory=Quotas)

    @property
    def database_url(self) -> str:
        return self.database or f"sqlite:///{self.data / 'danlu.db'}"

    def engine(self, identities: bool = False) -> LocalConfig:
        config = LocalConfig(
            data=self.data,
            nodes=self.nodes,
            userns=self.namespaces,
            cgroups=self.cgroups,
            log_cap=self.defaults.max_log_cap,
            identities=identities,
            containers=self.containers,
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
    usual = usual_file()
    return usual if usual.exists() else None


def usual_file() -> Path:
    """Where it stands if nobody says otherwise."""
    if os.geteuid() == 0:
        return Path("/etc/danlu/danlu.toml")
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(base) / "danlu" / "danlu.toml"


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
    return replace(Reader(str(path)).config(values), file=path.absolute())


class Reader(Values):
    def config(self, values: dict[str, Any]) -> ServerConfig:
        known = ("data", "server", "database", "nodes", "volumes", "defaults", "engine")
        people = ("uids", "users", "groups", "registries")
        self._known("", values, (*known, *people, *SCHEDULING))
        server = self._table(values, "server", _SERVER)
        engine = self._table(values, "engine", (*_ENGINE, *KEYS))
        database = self._table(values, "database", ("url",))
        listen = self._texts("server.listen", server.get("listen", ["127.0.0.1"]))
        cert, key = server.get("tls_cert"), server.get("tls_key")
        if (cert is None) != (key is None):
            raise self._wrong(
                "server.tls_cert", cert, "needs tls_key beside it", "需要同时填写 tls_key"
            )
        data = Path(self._text("data", values.get("data", str(default_data())))).expanduser()
        places, schedules = Places(self._where), Schedules(self._where)
        policy, nodes = schedules.policy(values), self._nodes(values.get("nodes", []))
        volumes = places.volumes(values.get("volumes", {}), data)
        for name, queue in policy.queues.items():
            self._declared(f"queues.{name}.nodes", queue.nodes or (), nodes)
        for name, volume in volumes.items():
            self._declared(f"volumes.{name}.nodes", volume.nodes or (), nodes)
        return ServerConfig(
            data=data,
            policy=policy,
            quotas=schedules.quotas(values),
            listen=tuple(self._address(text) for text in listen),
            tls_cert=Path(self._text("server.tls_cert", cert)) if cert else None,
            tls_key=Path(self._text("server.tls_key", key)) if key else None,
            database=self._text("database.url", database["url"]) if "url" in database else None,
            nodes=nodes,
            volumes=volumes,
            uids=places.uids(values),
            defaults=self._defaults(values.get("defaults", {})),
            namespaces=self._choice("engine.namespaces", engine.get("namespaces", "auto")),
            cgroups=self._choice("engine.cgroups", engine.get("cgroups", "auto")),
            identities=self._choice("engine.identities", engine.get("identities", "auto")),
            ports=self._ports(engine.get("ports")),
            containers=Runtimes(self._where).containers(engine, values.get("registries", {})),
            circle_of_trust=self._flag(
                "server.circle_of_trust", server.get("circle_of_trust", False)
            ),
            sign_up=self._way(server.get("sign_up", "request")),
            proxies=self._proxies(server.get("proxies", [])),
        )

    def _way(self, value: Any) -> str:
        if value not in WAYS:
            listed = ", ".join(f'"{way}"' for way in WAYS)
            raise self._wrong("server.sign_up", value, f"write one of {listed}", f"请写 {listed}")
        return str(value)

    def _proxies(self, value: Any) -> frozenset[str]:
        if value == []:
            return frozenset()
        found = self._texts("server.proxies", value)
        for text in found:
            try:
                ipaddress.ip_address(text)
            except ValueError:
                raise self._wrong(
                    "server.proxies", text, "write IP addresses", "请写 IP 地址"
                ) from None
        return frozenset(found)

    def _nodes(self, values: Any) -> tuple[NodeConfig, ...]:
        if not isinstance(values, list):
            raise self._wrong("nodes", values, "write [[nodes]] tables", "请写 [[nodes]] 表")
        nodes = []
        for index, node in enumerate(values):
            key = f"nodes.{index}"
            if not isinstance(node, dict):
                raise self._wrong(key, node, "write a [[nodes]] table", "请写 [[nodes]] 表")
            self._known(key, node, ("name", "cpus", "memory", "gpus", "labels"))
            name = self._parsed(f"{key}.name", node.get("name", f"n{index + 1}"), read_name)
            memory = node.get("memory", machine_memory())
            nodes.append(
                NodeConfig(
                    name,
                    self._number(f"{key}.cpus", node.get("cpus", machine_cpus())),
                    self._parsed(f"{key}.memory", memory, parse_size),
                    self._gpus(f"{key}.gpus", node["gpus"]) if "gpus" in node else (),
                    labels=self._labels(f"{key}.labels", node["labels"])
                    if "labels" in node
                    else (),
                )
            )
        names = [node.name for node in nodes]
        if len(set(names)) != len(names):
            raise self._wrong("nodes", names, "each node needs its own name", "节点名不能重复")
        return tuple(nodes)

    def _declared(self, key: str, names: Collection[str], nodes: tuple[NodeConfig, ...]) -> None:
        """Where the file names the nodes, it names no others."""
        known = [node.name for node in nodes]
        for name in sorted(names) if known else ():
            if name not in known:
                listed = ", ".join(known[:20])
                raise self._wrong(
                    key,
                    name,
                    f"is no node; [[nodes]] has: {listed}",
                    f"不是节点；[[nodes]] 中有：{listed}",
                )

    def _labels(self, key: str, value: Any) -> tuple[str, ...]:
        """As jobs can ask for them."""
        if value is None:
            return ()
        return tuple(self._parsed(key, each, read_name) for each in self._texts(key, value))

    def _gpus(self, key: str, value: Any) -> tuple[tuple[str, int], ...]:
        """5 of one model as "5:RTX3090", or a list of such."""
        cards = []
        for text in value if isinstance(value, list) else [value]:
            count, _, model = str(text).partition(":")
            if not count.isdigit() or not model.strip():
                raise self._wrong(key, text, 'write "5:RTX3090"', '请写 "5:RTX3090"')
            if len(count) > 4 or int(count) > _MOST_CARDS:
                most = f"{_MOST_CARDS}"
                raise self._wrong(key, text, f"at most {most} cards", f"最多 {most} 张卡")
            cards.append((model.strip(), int(count)))
        return tuple(cards)

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
