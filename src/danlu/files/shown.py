"""A volume as it is listed."""

from __future__ import annotations

from dataclasses import dataclass

from danlu.files.settings import VolumeConfig
from danlu.spec.text import EMPTY, Text
from danlu.store.rows import SpeedRow


@dataclass(frozen=True, slots=True)
class Shown:
    """`usable`: whoever asked may mount it."""

    config: VolumeConfig
    path: str
    usable: bool
    warning: Text = EMPTY
    speed: SpeedRow | None = None  # as last measured
