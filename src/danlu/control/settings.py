"""What the admin decides about running jobs. The server fills it from danlu.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from danlu.access.identities import Uids
from danlu.sched.api import Policy, Quotas
from danlu.spec.defaults import Defaults


@dataclass(frozen=True, slots=True)
class VolumeConfig:
    """A folder of the machine that tasks may see, at `target` unless the job says otherwise."""

    name: str
    source: Path
    target: str
    read_only: bool = False
    everywhere: bool = False  # mounted in every task of those who may
    groups: tuple[str, ...] = ()  # who may, with `users`; neither: everybody
    users: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()  # where it exists; none: on all
    tier: str = ""  # fast, large, ...: what people choose by
    note: str = ""
    declared: str = "file"  # or command: who may change it


@dataclass(frozen=True, slots=True)
class Settings:
    data: Path
    defaults: Defaults
    volumes: Mapping[str, VolumeConfig] = field(default_factory=dict)
    sweep_every: float = 60.0
    inventory_every: float = 15.0
    min_free_bytes: int = 32 * 2**20  # below this, new work is refused
    uids: Uids | None = None  # None: all tasks share the server's uid
    config_file: Path | None = None  # for backups
    policy: Policy = field(default_factory=Policy)
    quotas: Quotas = field(default_factory=Quotas)

    def home_of(self, user: str) -> Path:
        return self.data / "home" / user
