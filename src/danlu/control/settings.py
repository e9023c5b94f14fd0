"""What the admin decides about running jobs. The server fills it from danlu.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from danlu.spec.defaults import Defaults


@dataclass(frozen=True, slots=True)
class VolumeConfig:
    """A folder of the machine that tasks may see, at `target` unless the job says otherwise."""

    name: str
    source: Path
    target: str
    read_only: bool = False
    everywhere: bool = False  # mounted in every task


@dataclass(frozen=True, slots=True)
class Settings:
    data: Path
    defaults: Defaults
    volumes: Mapping[str, VolumeConfig] = field(default_factory=dict)
    sweep_every: float = 60.0
    inventory_every: float = 15.0
    min_free_bytes: int = 32 * 2**20  # below this, new work is refused

    def home_of(self, user: str) -> Path:
        return self.data / "home" / user
