"""Configuration of the local engine."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

PORTS = (20000, 29999)  # default range for leases
_MOST_PIDS = 32_768
_LEAST_PIDS = 1_024


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """A declared node. Several can share one machine, e.g. to try a cluster on a laptop."""

    name: str
    cpus: float
    memory: int
    gpus: tuple[tuple[str, int], ...] = ()  # (model, count)
    address: str = "127.0.0.1"
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Registry:
    """A container registry."""

    host: str  # as in image names: host or host:port
    user: str = ""
    password: str = field(default="", repr=False)
    password_file: str = ""  # read on each pull: a new password needs no restart
    plain_http: bool = False
    mirror_of: tuple[str, ...] = ()  # registries this one is tried before


@dataclass(frozen=True, slots=True)
class ContainerConfig:
    runtime: Literal["auto", "docker", "podman", "off"] = "auto"
    socket: str | None = None  # None: the default paths
    pull: Literal["missing", "always"] = "missing"
    registries: tuple[Registry, ...] = ()
    images_from: tuple[str, ...] = ("configured", "public")  # or registry hosts


SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Never the server's own: it may begin with Danlu's virtual environment, and its `pip`."""


@dataclass(frozen=True, slots=True)
class LocalConfig:
    data: Path
    nodes: tuple[NodeConfig, ...] = ()  # empty: one node, this whole machine
    port_range: tuple[int, int] = PORTS
    log_cap: int | None = None  # upper limit in bytes for every task
    userns: Literal["auto", "off"] = "auto"
    cgroups: Literal["auto", "off"] = "auto"
    hide: tuple[Path, ...] = ()  # folders tasks must not see, besides `data` (with namespaces)
    reserve: int = 2  # keepers started ahead of time for a fast launch; 2 MB each
    linger: float = 0.5  # seconds an idle keeper waits for another task
    path: str = SYSTEM_PATH  # PATH of tasks
    identities: bool = False  # tasks run as their users
    containers: ContainerConfig = ContainerConfig()
    pids: int = 0  # limit of processes and threads per task; 0: usual_pids()
    seccomp: Literal["auto", "off"] = "auto"  # syscall filter for tasks
    devices: tuple[str, ...] = ("/dev/infiniband",)  # visible to every task, besides its GPUs


def usual_pids() -> int:
    """A quarter of the machine's limit, so that a runaway task leaves room for others."""
    found = []
    for name in ("pid_max", "threads-max"):
        try:
            found.append(int(Path(f"/proc/sys/kernel/{name}").read_text()))
        except (OSError, ValueError):
            continue
    return min(_MOST_PIDS, max(_LEAST_PIDS, min(found, default=_MOST_PIDS) // 4))


def machine_cpus() -> float:
    return float(len(os.sched_getaffinity(0)))


def machine_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
