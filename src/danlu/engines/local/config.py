"""What the local engine is told about its machine."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """A declared node. Several may share one machine, to try or teach a cluster on a laptop."""

    name: str
    cpus: float
    memory: int
    gpus: tuple[tuple[str, int], ...] = ()  # (model, how many)
    address: str = "127.0.0.1"
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Registry:
    """A place images come from."""

    host: str  # as images name it: host or host:port
    user: str = ""
    password: str = field(default="", repr=False)
    password_file: str = ""  # read at each pull: a new password needs no restart
    plain_http: bool = False
    mirror_of: tuple[str, ...] = ()  # registries whose images are looked for here first


@dataclass(frozen=True, slots=True)
class ContainerConfig:
    runtime: Literal["auto", "docker", "podman", "off"] = "auto"
    socket: str | None = None  # none: the usual places
    pull: Literal["missing", "always"] = "missing"
    registries: tuple[Registry, ...] = ()


@dataclass(frozen=True, slots=True)
class LocalConfig:
    data: Path
    nodes: tuple[NodeConfig, ...] = ()  # none: one node, this machine as it is
    port_range: tuple[int, int] = (20000, 29999)
    log_cap: int | None = None  # bytes a task may keep at most, whatever it asks
    userns: Literal["auto", "off"] = "auto"
    cgroups: Literal["auto", "off"] = "auto"
    hide: tuple[Path, ...] = ()  # folders tasks must not see, besides `data` (with namespaces)
    reserve: int = 2  # keepers made ahead, for a quick start; each takes 2 MB
    linger: float = 0.5  # seconds a keeper that has done its task waits for another
    path: str | None = None  # PATH of tasks; none: the server's own
    identities: bool = False  # tasks will run as their users
    containers: ContainerConfig = ContainerConfig()


def machine_cpus() -> float:
    return float(len(os.sched_getaffinity(0)))


def machine_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
