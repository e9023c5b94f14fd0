"""Which kinds of engines there are, and how those of danlu.toml are made. Only here are they known.

[engines.lab]
kind = "local"
ports = "30000-30999"

[[nodes]]
name = "n3"
engine = "lab"

[queues.lab]
engine = "lab"

[engines.cluster]
kind = "slurm"
shared = "/gpfs/danlu"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from danlu.engines.api import Engine
from danlu.engines.local.config import (
    PORTS,
    SYSTEM_PATH,
    ContainerConfig,
    LocalConfig,
    NodeConfig,
)
from danlu.engines.local.engine import LocalEngine
from danlu.server.confinement import KEYS as CONFINING
from danlu.server.confinement import Confinement
from danlu.server.files import context_path
from danlu.server.runtimes import KEYS as CONTAINERS
from danlu.server.slurm_table import KEYS as SLURM_KEYS
from danlu.server.slurm_table import slurm_config

LOCAL = "local"
SLURM = "slurm"


@dataclass(frozen=True, slots=True)
class EngineConfig:
    name: str = LOCAL
    kind: str = LOCAL
    nodes: tuple[NodeConfig, ...] = ()
    namespaces: Literal["auto", "off"] = "auto"
    cgroups: Literal["auto", "off"] = "auto"
    ports: tuple[int, int] = PORTS
    path: str = SYSTEM_PATH
    containers: ContainerConfig = field(default_factory=ContainerConfig)
    confinement: Confinement = field(default_factory=Confinement)
    values: Mapping[str, Any] = field(default_factory=dict)  # what its kind alone understands


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What engines need to know of the server."""

    data: Path
    log_cap: int | None = None
    identities: bool = False  # tasks run as their users

    def folder(self, engine: str) -> Path:
        return self.data if engine == LOCAL else self.data / "engines" / engine


@dataclass(frozen=True, slots=True)
class Kind:
    make: Callable[[EngineConfig, Surroundings], Engine]
    keys: tuple[str, ...] = ()  # of its table in danlu.toml, beside `kind`


def local_config(config: EngineConfig, around: Surroundings) -> LocalConfig:
    data = around.folder(config.name)
    found = LocalConfig(
        data=data,
        nodes=config.nodes,
        port_range=config.ports,
        path=config.path,
        userns=config.namespaces,
        cgroups=config.cgroups,
        log_cap=around.log_cap,
        identities=around.identities,
        containers=config.containers,
        pids=config.confinement.pids,
        seccomp=config.confinement.seccomp,
        # The admin's token, and what the server keeps where that is not the engine's own folder.
        hide=(context_path().parent, *(() if data == around.data else (around.data,))),
    )
    devices = config.confinement.devices
    return found if devices is None else replace(found, devices=devices)


def _local(config: EngineConfig, around: Surroundings) -> Engine:
    found = local_config(config, around)
    if found.data != around.data:
        found.data.parent.mkdir(mode=0o711, parents=True, exist_ok=True)
    found.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    return LocalEngine(found, config.name)


def _slurm(config: EngineConfig, around: Surroundings) -> Engine:
    from danlu.engines.slurm.engine import SlurmEngine  # only for those who have a cluster

    folder = around.folder(config.name)
    values = dict(config.values)
    return SlurmEngine(slurm_config(values, folder, around.log_cap, around.identities), config.name)


KINDS: dict[str, Kind] = {
    LOCAL: Kind(_local, ("namespaces", "cgroups", "ports", "path", *CONTAINERS, *CONFINING)),
    SLURM: Kind(_slurm, SLURM_KEYS),
}


def make_engine(config: EngineConfig, around: Surroundings) -> Engine:
    return KINDS[config.kind].make(config, around)


def with_nodes(
    engines: tuple[EngineConfig, ...], nodes: Mapping[str, tuple[NodeConfig, ...]]
) -> tuple[EngineConfig, ...]:
    return tuple(replace(engine, nodes=nodes.get(engine.name, ())) for engine in engines)
