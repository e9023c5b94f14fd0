"""Plausible usage, computed from the time alone: the same second always gives the same value."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from danlu.engines.api import GpuUsage
from danlu.server.demo.cast import GPU_MEMORY
from danlu.spec.units import G, M

_WARM_UP = 45.0  # seconds until the first batch is on the GPU
_EPOCH = 1500.0  # seconds between two evaluations
_EVALUATION = 60.0


@dataclass(frozen=True, slots=True)
class Load:
    """What a task does to each of its GPUs, and to the machine."""

    busy: float  # 0 to 1
    memory: int  # bytes on each GPU
    seed: int

    @classmethod
    def of(cls, name: str, env: Mapping[str, str]) -> Load:
        """Of a visitor's own job too: it names no load, so it gets one by its id."""
        seed = zlib.crc32(name.encode())
        busy = _number(env.get("DEMO_BUSY"), 60 + seed % 37, 100)
        memory = _number(env.get("DEMO_MEMORY"), 8 + seed % 14, GPU_MEMORY // G)
        return cls(busy / 100, memory * G, seed)

    def gpu(self, age: float, at: float, index: int = 0) -> tuple[float, int]:
        """Utilisation and memory of one GPU, `age` seconds after the start."""
        if self.busy == 0:
            return 0.0, self.memory
        if age < _WARM_UP:
            return 0.02, int(self.memory * max(0.05, age / _WARM_UP))
        busy = self.busy + 0.03 * wave(self.seed + 997 * index, at)
        if (at + self.seed) % _EPOCH < _EVALUATION:
            busy *= 0.4
        return min(1.0, max(0.01, busy)), int(self.memory * (1 + 0.01 * wave(self.seed, at)))

    def cores(self, at: float) -> float:
        return max(0.05, 6.5 * self.busy + 0.8 * wave(self.seed + 3, at)) if self.busy else 0.02

    def host_memory(self, age: float) -> int:
        return int((4 + 12 * self.busy * min(1.0, age / 600)) * G)

    def disk(self, at: float) -> tuple[float, float]:
        """Bytes read and written in a second."""
        if not self.busy:
            return 0.0, 0.0
        saves = (at + self.seed) % _EPOCH < 20
        return (180 + 90 * wave(self.seed + 5, at)) * M, (240.0 if saves else 1.5) * M


def wave(seed: int, at: float) -> float:
    """Between -1 and 1, without a visible period."""
    shift = seed % 6283 / 1000
    parts = (math.sin(at / period + shift * turn) for period, turn in _WAVES)
    return sum(parts) / len(_WAVES)


_WAVES = ((11.0, 1.0), (37.0, 2.1), (151.0, 3.7))


def gpu_usage(index: int, busy: float, memory: int, at: float) -> GpuUsage:
    warmth = 31 + 42 * busy + 2 * wave(index, at)
    return GpuUsage(index, round(busy, 3), memory, round(warmth), round(24 + 310 * busy))


def resting(index: int, at: float) -> GpuUsage:
    return gpu_usage(index, 0.0, 12 * M, at)


def _number(text: str | None, usual: int, most: int) -> int:
    return min(int(text), most) if text is not None and text.isdigit() and len(text) < 9 else usual
