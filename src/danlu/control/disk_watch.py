"""Watches the disks of the engines, so that a full one is known before anybody runs into it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from math import inf

from danlu.control.engines import Engines
from danlu.control.settings import Limits
from danlu.engines.api import Disk, Engine, Unreachable
from danlu.spec.text import Text

EVERY = 2.0  # seconds
_FRESH = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class Low:
    """A disk with less free space than homes should leave."""

    since: float
    free: int  # bytes
    where: str


@dataclass(frozen=True, slots=True)
class Full(Low):
    """A disk with so little free space that new jobs are refused."""

    @property
    def message(self) -> Text:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.since))
        free = f"{self.free >> 20} MiB"
        return Text(
            f"New jobs are refused: the disk of {self.where} has been full since {since} ({free} "
            "left). Free space there, then submit again",
            f"暂不接受新任务：{self.where} 所在磁盘自 {since} 起已满（剩余 {free}）。清理后再提交",
        )


class DiskWatch:
    def __init__(self, engines: Engines, limits: Limits) -> None:
        self._engines = engines
        self._limits = limits
        self._full: dict[str, Full] = {}  # by engine
        self._low: dict[str, Low] = {}  # also those that are full
        self._looked: dict[str, float] = {}

    @property
    def full(self) -> Full | None:
        """The disk that has been full for the longest time."""
        return min(self._full.values(), key=lambda full: full.since, default=None)

    @property
    def low(self) -> Low | None:
        """The disk that has been almost full, or full, for the longest time."""
        return min(self._low.values(), key=lambda low: low.since, default=None)

    def low_at(self, engine: str) -> Low | None:
        return self._low.get(engine)

    async def run(self) -> None:
        while True:
            for engine in self._engines.there():
                await self.check(engine)
            await asyncio.sleep(EVERY)

    async def check(self, engine: Engine) -> Full | None:
        """Looks at most once a second. An engine that does not answer tells nothing new."""
        at = time.monotonic()
        if at - self._looked.get(engine.name, -inf) < _FRESH:
            return self._full.get(engine.name)
        with contextlib.suppress(Unreachable):
            self._note(engine.name, await engine.disk())
            self._looked[engine.name] = at
        return self._full.get(engine.name)

    def _note(self, engine: str, disk: Disk | None) -> None:
        full, low = self._full.pop(engine, None), self._low.pop(engine, None)
        if disk is None:
            return
        now = time.time()
        if disk.free < left_by_homes(disk, self._limits):
            self._low[engine] = Low(low.since if low else now, disk.free, disk.where)
        if disk.free < required(disk, self._limits.free):
            self._full[engine] = Full(full.since if full else now, disk.free, disk.where)


def left_by_homes(disk: Disk, limits: Limits) -> int:
    """The free bytes below which everybody is warned; new work is never refused sooner."""
    wanted = limits.homes_free
    wanted = min(10 * 2**30, disk.size // 10) if wanted is None else wanted
    return max(wanted, required(disk, limits.free))


def required(disk: Disk, wanted: int | None) -> int:
    """The free bytes below which no new work is accepted."""
    return min(2**30, disk.size // 20) if wanted is None else wanted
