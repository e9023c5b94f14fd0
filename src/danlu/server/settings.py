"""danlu.toml: optional settings. Every error names the key, the value and what is allowed."""

from __future__ import annotations

import ipaddress
import os
import re
import stat
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from danlu.access.identities import Uids
from danlu.access.signup import WAYS
from danlu.control.settings import (
    CarrySettings,
    DiskSettings,
    IdleSettings,
    Limits,
    Login,
)
from danlu.engines.local.config import NodeConfig, machine_cpus, machine_memory
from danlu.files.settings import Mirrors, VolumeConfig
from danlu.metrics.archive import LARGEST, SMALLEST
from danlu.sched.api import Policy, Quotas
from danlu.server.engine_tables import EngineTables
from danlu.server.engines import EngineConfig, Surroundings
from danlu.server.mistakes import read_all
from danlu.server.places import Places
from danlu.server.registry_table import RegistryConfig, RegistryTable
from danlu.server.schedules import KEYS as SCHEDULING
from danlu.server.schedules import Schedules
from danlu.server.storage_tables import KEYS as STORAGE
from danlu.server.storage_tables import StorageTables
from danlu.server.values import ConfigError, Values
from danlu.server.web_table import WEB_PORTS, PortRange, Web
from danlu.spec.defaults import Defaults, EnvironmentDefaults
from danlu.spec.fields import read_name
from danlu.spec.text import Text
from danlu.spec.units import format_size, parse_duration, parse_size

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
SSH_PORT = 2222
Networks = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]
_MOST_GPUS = 4096  # GPUs of one model on one node
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?\.?")
_LIMITS = tuple(each.name for each in fields(Limits))
_LOGIN = tuple(each.name for each in fields(Login))
_PASSWORDS = frozenset({"password", "sslpassword"})
_SERVER = (
    "listen",
    "tls_cert",
    "tls_key",
    "circle_of_trust",
    "sign_up",
    "proxies",
    "hosts",
    "names",
    "metrics_from",
    "ssh",
    "web",
    "web_domain",
)
_NAMES = ("all", "group")
_ENVIRONMENTS = ("queue", "time_limit", "idle_limit", "max_idle_limit")
_IDLE = ("idle_warning", "idle_cpus", "idle_gpus", "idle_connections", "idle_kernels")


@dataclass(frozen=True, slots=True)
class Address:
    host: str = "127.0.0.1"
    port: int | None = None  # None: 8080, or the next free one


@dataclass(frozen=True, slots=True)
class ServerConfig:
    data: Path
    file: Path | None = None  # the file it was read from
    listen: tuple[Address, ...] = (Address(),)
    tls_cert: Path | None = None
    tls_key: Path | None = None
    database: str | None = None
    metrics_size: int = LARGEST
    volumes: Mapping[str, VolumeConfig] = field(default_factory=dict)
    defaults: Defaults = field(default_factory=Defaults)
    engines: tuple[EngineConfig, ...] = (EngineConfig(),)  # the first: of queues that name none
    identities: Literal["auto", "off"] = "auto"
    uids: Uids = field(default_factory=Uids)
    circle_of_trust: bool = False  # without root: all users trust each other
    sign_up: str = "request"  # or "invite", "off"
    proxies: frozenset[str] = frozenset()  # proxies whose X-Forwarded-For is trusted
    hosts: tuple[str, ...] = ()  # host names of this server
    metrics_from: Networks = ()  # may read /metrics without signing in
    ssh: Address | Literal["off"] | None = None  # None: where the pages are
    web: PortRange | Literal["off"] | None = None  # None: where the pages are
    web_domain: str = ""  # perhaps with a port
    names: str = "all"  # or "group": names of other groups' jobs are hidden
    policy: Policy = field(default_factory=Policy)
    quotas: Quotas = field(default_factory=Quotas)
    limits: Limits = field(default_factory=Limits)
    login: Login = field(default_factory=Login)
    idle: IdleSettings = field(default_factory=IdleSettings)
    registry: RegistryConfig = field(default_factory=RegistryConfig)
    carry: CarrySettings = field(default_factory=CarrySettings)
    disks: DiskSettings = field(default_factory=DiskSettings)
    mirrors: Mirrors = field(default_factory=Mirrors)

    @property
    def ssh_address(self) -> Address | None:
        """Where SSH clients come in; without a port: 2222 or the next free one. None: nowhere."""
        if self.ssh == "off":
            return None
        return Address(self.listen[0].host) if self.ssh is None else self.ssh

    @property
    def web_ports(self) -> PortRange | None:
        """Where browsers reach what jobs serve. None: nowhere."""
        if self.web == "off":
            return None
        return PortRange(self.listen[0].host, *WEB_PORTS) if self.web is None else self.web

    @property
    def database_url(self) -> str:
        return self.database or f"sqlite:///{self.data / 'danlu.db'}"

    @property
    def nodes(self) -> tuple[NodeConfig, ...]:
        return tuple(node for engine in self.engines for node in engine.nodes)

    def around(self, identities: bool = False) -> Surroundings:
        return Surroundings(self.data, self.defaults.max_log_cap, identities)


def default_data() -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/danlu")
    base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return Path(base) / "danlu"


def find_file(named: str | None) -> Path | None:
    """The file given by the user, else the default one if it exists."""
    named = named or os.environ.get("DANLU_CONFIG")
    if named:
        return Path(named)
    usual = usual_file()
    return usual if usual.exists() else None


def usual_file() -> Path:
    """The default location."""
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
            Text(f"Cannot read {path}: {error.strerror}", f"无法读取 {path}：{error.strerror}")
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            Text(f"{path} is not valid TOML: {error}", f"{path} 不是合法的 TOML：{error}")
        ) from None
    config = read_all(str(path), text, values, Reader(str(path)).config)
    _check_private(path, config)
    return replace(config, file=path.absolute())


def _check_private(path: Path, config: ServerConfig) -> None:
    """A password that everybody on the machine can read is none."""
    registries = [each for engine in config.engines for each in engine.containers.registries]
    secret = [f"registries.{each.host}" for each in registries if each.password]
    mirrors = [each for each in config.registry.settings.mirrors if not each.password_file]
    secret += [f"registry.mirrors.{each.name}" for each in mirrors if each.password]
    if config.database and _has_password(config.database):
        secret.insert(0, "database.url")
    if secret and path.stat().st_mode & stat.S_IROTH:
        raise ConfigError(
            Text(
                f"{path} contains a password ({secret[0]}) and is readable by every user of the "
                f"machine. Run: chmod 600 {path}",
                f"{path} 中有密码（{secret[0]}），而本机所有用户都能读取。请执行：chmod 600 {path}",
            )
        )


def _has_password(url: str) -> bool:
    """PostgreSQL takes it in the query too, and one for the key of a client certificate."""
    parts = urlsplit(url)
    return bool(parts.password) or not _PASSWORDS.isdisjoint(parse_qs(parts.query))


class Reader(Values):
    def config(self, values: dict[str, Any]) -> ServerConfig:
        known = ("data", "server", "database", "metrics", "limits", "nodes", "volumes", "defaults")
        people = ("environments", "uids", "users", "groups", "registries", "registry", "login")
        self._known("", values, (*known, *people, "engine", "engines", *SCHEDULING, *STORAGE))
        server = self._table(values, "server", _SERVER)
        database = self._table(values, "database", ("url",))
        metrics = self._table(values, "metrics", ("size",))
        listen = self._texts("server.listen", server.get("listen", ["127.0.0.1"]))
        cert, key = server.get("tls_cert"), server.get("tls_key")
        if (cert is None) != (key is None):
            raise self._wrong(
                "server.tls_cert", cert, Text("also needs tls_key", "需要同时填写 tls_key")
            )
        data = Path(self._text("data", values.get("data", str(default_data())))).expanduser()
        places, schedules, web = Places(self._where), Schedules(self._where), Web(self._where)
        storage = StorageTables(self._where)
        policy = schedules.policy(values)
        engines = EngineTables(self._where).engines(values, self._nodes(values.get("nodes", [])))
        nodes = tuple(node for engine in engines for node in engine.nodes)
        volumes = places.volumes(values.get("volumes", {}), data)
        for name, queue in policy.queues.items():
            engine = self._engine_of(f"queues.{name}.engine", queue.engine, engines)
            named = engine.nodes if len(engines) > 1 else nodes
            self._declared(f"queues.{name}.nodes", queue.nodes or (), named)
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
            metrics_size=self._metrics_size(metrics.get("size")),
            engines=engines,
            volumes=volumes,
            uids=places.uids(values),
            defaults=replace(
                self._defaults(values.get("defaults", {})),
                environment=self._environment_defaults(values),
            ),
            identities=self._choice(
                "engine.identities", values.get("engine", {}).get("identities", "auto")
            ),
            circle_of_trust=self._flag(
                "server.circle_of_trust", server.get("circle_of_trust", False)
            ),
            sign_up=self._one_of("server.sign_up", server.get("sign_up", "request"), WAYS),
            names=self._one_of("server.names", server.get("names", "all"), _NAMES),
            idle=self._idle(values),
            carry=storage.carry(values),
            disks=storage.disks(values),
            mirrors=storage.mirrors(values),
            limits=self._limits(self._table(values, "limits", _LIMITS)),
            registry=RegistryTable(self._where).registry(values),
            login=self._login(self._table(values, "login", _LOGIN)),
            proxies=self._proxies(server.get("proxies", [])),
            hosts=self._hosts(server.get("hosts", [])),
            ssh=self._ssh(server.get("ssh")),
            web=web.ports(server.get("web")),
            web_domain=web.domain(server.get("web_domain", "")),
            metrics_from=self._networks("server.metrics_from", server.get("metrics_from", [])),
        )

    def _ssh(self, value: Any) -> Address | Literal["off"] | None:
        if value is None:
            return None
        if value == "off":
            return "off"
        return self._address(self._text("server.ssh", value), "server.ssh")

    def _metrics_size(self, value: Any) -> int:
        if value is None:
            return LARGEST
        size = int(self._parsed("metrics.size", value, parse_size))
        if size < SMALLEST:
            least = format_size(SMALLEST)
            raise self._wrong("metrics.size", value, Text(f"at least {least}", f"至少 {least}"))
        return size

    def _one_of(self, key: str, value: Any, allowed: Collection[str]) -> str:
        if value not in allowed:
            listed = ", ".join(f'"{each}"' for each in allowed)
            raise self._wrong(key, value, Text(f"must be one of {listed}", f"请写 {listed}"))
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
                    "server.proxies", text, Text("must be IP addresses", "请写 IP 地址")
                ) from None
        return frozenset(found)

    def _networks(self, key: str, value: Any) -> Networks:
        found: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
        for text in [] if value == [] else self._texts(key, value):
            try:
                found.append(ipaddress.ip_network(text))
            except ValueError:
                raise self._wrong(
                    key,
                    text,
                    Text(
                        'must be addresses or networks such as "10.0.0.0/24"',
                        '请写地址或网段，例如 "10.0.0.0/24"',
                    ),
                ) from None
        return tuple(found)

    def _login(self, table: dict[str, Any]) -> Login:
        usual = Login()
        return Login(
            enabled=self._flag("login.enabled", table.get("enabled", True)),
            cpus=self._number("login.cpus", table.get("cpus", usual.cpus)),
            memory=int(self._parsed("login.memory", table.get("memory", usual.memory), parse_size)),
            processes=int(self._number("login.processes", table.get("processes", usual.processes))),
            idle=self._parsed("login.idle", table.get("idle", usual.idle), parse_duration),
        )

    def _limits(self, table: dict[str, Any]) -> Limits:
        changes = {}
        for name, value in table.items():
            if name in ("free", "homes_free"):
                changes[name] = int(self._parsed(f"limits.{name}", value, parse_size))
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**31:
                raise self._wrong(
                    f"limits.{name}",
                    value,
                    Text("write a whole number above 0", "请写大于 0 的整数"),
                )
            changes[name] = value
        return replace(Limits(), **changes)

    def _hosts(self, value: Any) -> tuple[str, ...]:
        if value == []:
            return ()
        found = self._texts("server.hosts", value)
        for text in found:
            if not _HOST.fullmatch(text):
                raise self._wrong(
                    "server.hosts",
                    text,
                    Text(
                        'write names such as "gpu.example.org", without scheme and port',
                        '请写 "gpu.example.org" 这样的域名，不带协议和端口',
                    ),
                )
        return tuple(found)

    def _engine_of(self, key: str, name: str, engines: tuple[EngineConfig, ...]) -> EngineConfig:
        for engine in engines:
            if engine.name == (name or engines[0].name):
                return engine
        listed = ", ".join(engine.name for engine in engines)
        raise self._wrong(
            key,
            name,
            Text(f"is not an engine here; available: {listed}", f"不是引擎；现有：{listed}"),
        )

    def _nodes(self, values: Any) -> list[tuple[str, NodeConfig]]:
        """Each with the name of its engine; none: the first."""
        if not isinstance(values, list):
            raise self._wrong(
                "nodes", values, Text("must be [[nodes]] tables", "请写 [[nodes]] 表")
            )
        nodes = []
        for index, node in enumerate(values):
            key = f"nodes.{index}"
            if not isinstance(node, dict):
                raise self._wrong(key, node, Text("must be a [[nodes]] table", "请写 [[nodes]] 表"))
            self._known(key, node, ("name", "cpus", "memory", "gpus", "labels", "engine"))
            name = self._parsed(f"{key}.name", node.get("name", f"n{index + 1}"), read_name)
            memory = node.get("memory", machine_memory())
            engine = self._text(f"{key}.engine", node["engine"]) if "engine" in node else ""
            found = NodeConfig(
                name,
                self._number(f"{key}.cpus", node.get("cpus", machine_cpus())),
                self._parsed(f"{key}.memory", memory, parse_size),
                self._gpus(f"{key}.gpus", node["gpus"]) if "gpus" in node else (),
                labels=self._labels(f"{key}.labels", node["labels"]) if "labels" in node else (),
            )
            nodes.append((engine, found))
        names = [node.name for _, node in nodes]
        if len(set(names)) != len(names):
            raise self._wrong(
                "nodes", names, Text("each node needs its own name", "节点名不能重复")
            )
        return nodes

    def _declared(self, key: str, names: Collection[str], nodes: tuple[NodeConfig, ...]) -> None:
        """If the file declares nodes, only those can be named."""
        known = [node.name for node in nodes]
        for name in sorted(names) if known else ():
            if name not in known:
                listed = ", ".join(known[:20])
                raise self._wrong(
                    key,
                    name,
                    Text(
                        f"is not a node; [[nodes]] has: {listed}",
                        f"不是节点；[[nodes]] 中有：{listed}",
                    ),
                )

    def _labels(self, key: str, value: Any) -> tuple[str, ...]:
        """Labels in the form jobs can ask for."""
        if value is None:
            return ()
        return tuple(self._parsed(key, each, read_name) for each in self._texts(key, value))

    def _gpus(self, key: str, value: Any) -> tuple[tuple[str, int], ...]:
        """ "5:RTX3090" (five of one model), or a list of such."""
        gpus = []
        for text in value if isinstance(value, list) else [value]:
            count, _, model = str(text).partition(":")
            if not count.isdigit() or not model.strip():
                raise self._wrong(key, text, Text('must be like "5:RTX3090"', '请写 "5:RTX3090"'))
            if len(count) > 4 or int(count) > _MOST_GPUS:
                most = f"{_MOST_GPUS}"
                raise self._wrong(key, text, Text(f"at most {most} GPUs", f"最多 {most} 张卡"))
            gpus.append((model.strip(), int(count)))
        return tuple(gpus)

    def _defaults(self, values: Any) -> Defaults:
        if not isinstance(values, dict):
            raise self._wrong(
                "defaults", values, Text("must be a [defaults] table", "请写 [defaults] 表")
            )
        # `node_*` come from the nodes, not from the file.
        own = [e for e in fields(Defaults) if not e.name.startswith(("node_", "environment"))]
        kinds = {e.name: str(e.type) for e in own}
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

    def _environment_defaults(self, values: dict[str, Any]) -> EnvironmentDefaults:
        table = self._table(values, "environments", (*_ENVIRONMENTS, *_IDLE))
        changes: dict[str, Any] = {}
        for name in _ENVIRONMENTS:
            if name in table:
                parse = read_name if name == "queue" else parse_duration
                changes[name] = self._parsed(f"environments.{name}", table[name], parse)
        return EnvironmentDefaults(**changes)

    def _idle(self, values: dict[str, Any]) -> IdleSettings:
        """When an environment counts as used."""
        table = self._table(values, "environments", (*_ENVIRONMENTS, *_IDLE))
        found: dict[str, Any] = {}
        for name in _IDLE:
            if name not in table:
                continue
            key, value = f"environments.{name}", table[name]
            if name == "idle_warning":
                value = self._parsed(key, value, parse_duration)
            elif name in ("idle_cpus", "idle_gpus"):
                value = self._number(key, value) if value != 0 else 0.0
            else:
                value = self._flag(key, value)
            found[name.removeprefix("idle_")] = value
        return IdleSettings(**found)

    def _address(self, text: str, key: str = "server.listen") -> Address:
        host, colon, port = text.rpartition(":")
        if text.startswith("[") and text.endswith("]"):
            return Address(text[1:-1])
        if not colon:
            return Address(text)
        host = host.strip("[]")
        if not port.isdigit() or not 0 <= int(port) < 65536:
            raise self._wrong(
                key, text, Text("must be host or host:port", "请写 主机 或 主机:端口")
            )
        return Address(host or "0.0.0.0", int(port))  # noqa: S104 - the admin wrote ":8080"
