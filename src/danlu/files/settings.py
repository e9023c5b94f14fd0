"""Which folders the admin gives to the platform and its users. The server fills it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


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
class Mirrors:
    """Where tasks get packages from; empty: from where their image says."""

    pip: str = ""
    pip_extra: tuple[str, ...] = ()
    conda: str = ""
    apt: str = ""

    @property
    def files(self) -> bool:
        """Whether tasks see files with settings."""
        return bool(self.pip or self.pip_extra or self.conda)


@dataclass(frozen=True, slots=True)
class FileSettings:
    data: Path
    volumes: Mapping[str, VolumeConfig] = field(default_factory=dict)
    config_file: Path | None = None  # for backups

    @property
    def metrics(self) -> Path:
        return self.data / "metrics.db"

    def home_of(self, user: str) -> Path:
        return self.data / "home" / user
