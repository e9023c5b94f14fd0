"""How full every disk is that the platform uses, since when, and when it will be full."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from danlu.control.context import Context, log, now
from danlu.control.settings import DiskSettings
from danlu.engines.api import Space, Storage
from danlu.spec.units import format_size
from danlu.store import audit
from danlu.store.errors import StoreError
from danlu.store.rows import SizeRow

EVERY = 60.0  # seconds
_REMEMBERED = 360  # looks: six hours
_FEWEST = 10
_LARGEST = 5  # users of a disk that an alert names
_FAR = 90 * 86400.0  # seconds; nobody plans for later
LEVELS = ("ok", "warning", "high", "critical")


@dataclass(frozen=True, slots=True)
class DiskPlace:
    kind: str  # data, docker, podman, registry, volume
    name: str
    path: str


@dataclass(slots=True)
class DiskState:
    id: str
    places: list[DiskPlace]
    space: Space
    level: str = "ok"
    since: float | None = None
    looks: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    @property
    def used_percent(self) -> float:
        size = self.space.size
        return round(100 * (size - self.space.free) / size, 1) if size else 0.0

    @property
    def full_at(self) -> float | None:
        """At the pace of the last hours."""
        if len(self.looks) < _FEWEST:
            return None
        (first, before), (last, left) = self.looks[0], self.looks[-1]
        pace = (before - left) / max(last - first, 1.0)
        if pace <= 0 or left / pace > _FAR:
            return None
        return last + left / pace


class DiskLevels:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[str, DiskState] = {}
        self.unseen: list[DiskPlace] = []  # do not answer
        self.uses: Callable[[], Awaitable[dict[str, list[SizeRow]]]] = _unknown

    @property
    def disks(self) -> list[DiskState]:
        """The fullest first."""
        return sorted(self._known.values(), key=lambda disk: -disk.used_percent)

    def of(self, path: str) -> DiskState | None:
        for disk in self._known.values():
            if any(place.path == path for place in disk.places):
                return disk
        return None

    async def run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(EVERY)

    async def look(self) -> None:
        engine = self.engine()
        if engine is None:
            return
        places = await self._places(engine)
        spaces = await engine.spaces([place.path for place in places])
        by_disk: dict[str, list[DiskPlace]] = {}
        found: dict[str, Space] = {}
        for place in places:
            space = spaces.get(place.path)
            if space is not None:
                by_disk.setdefault(space.id, []).append(place)
                found[space.id] = space
        self.unseen = [place for place in places if place.path not in spaces]
        before, self._known = self._known, {}
        for id, space in found.items():
            disk = before.get(id) or DiskState(id, [], space)
            disk.places, disk.space = by_disk[id], space
            disk.looks.append((now(), space.free))
            self._known[id] = disk
            await self._judge(disk)

    def engine(self) -> Storage | None:
        """The one on the server's machine."""
        for engine in self._context.engines.there():
            if isinstance(engine, Storage):
                return engine
        return None

    async def _places(self, engine: Storage) -> list[DiskPlace]:
        context = self._context
        data = str(context.settings.files.data)
        places = [DiskPlace("data", "data", data)]
        for kind, path in (await engine.container_folders()).items():
            places.append(DiskPlace(kind, kind, path))
        volumes = context.volumes
        for name, root in (("share", volumes.share_root), ("user", volumes.user_root)):
            if root is not None and not root.startswith(f"{data}/"):
                places.append(DiskPlace("volume", name, root))
        for name, config in sorted(volumes.catalogue().items()):
            if not str(config.source).startswith(f"{data}/"):
                places.append(DiskPlace("volume", name, str(config.source)))
        return places

    async def _judge(self, disk: DiskState) -> None:
        level = level_of(disk, self._context.settings.disks)
        if level == disk.level:
            return
        worse = LEVELS.index(level) > LEVELS.index(disk.level)
        disk.level, disk.since = level, None if level == "ok" else now()
        if worse:
            await self._alert(disk)

    async def _alert(self, disk: DiskState) -> None:
        """In the log of the server, and where admins look: the audit log."""
        name = ", ".join(place.path for place in disk.places[:3])
        try:
            found = (await self.uses()).get(disk.id, [])
        except StoreError:
            found = []
        largest = [f"{use.kind} {use.name} {format_size(use.bytes)}" for use in found[:_LARGEST]]
        shown = ", ".join(largest) or "-"
        log.warning("the disk of %s is %g %% full; most: %s", name, disk.used_percent, shown)
        data = {
            "percent": disk.used_percent,
            "free": disk.space.free,
            "level": disk.level,
            "largest": shown,
        }
        try:
            await self._context.store.write(
                lambda tx: audit.append(tx, time.time(), "danlu", "disk.filling", name, data, "")
            )
        except StoreError as trouble:
            log.warning("cannot note that a disk fills up: %s", trouble)


async def _unknown() -> dict[str, list[SizeRow]]:
    return {}


def level_of(disk: DiskState, settings: DiskSettings) -> str:
    if settings.free is not None and disk.space.free < settings.free:
        return "critical"
    for level in ("critical", "high", "warning"):
        if disk.used_percent >= getattr(settings, level):
            return level
    return "ok"
