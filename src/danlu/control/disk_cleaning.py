"""Removes what can be had again: unused images, old logs, bundles nobody needs.

Never homes, volumes, containers of others, images that a job that has not ended needs, or the only
copy of a saved one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from functools import partial

from danlu.control.bundles import BundleCare
from danlu.control.context import Context, log, now
from danlu.control.disk_levels import DiskLevels, DiskState
from danlu.engines.api import Storage, StoredImage, Unreachable
from danlu.spec.units import format_duration
from danlu.store import disks, environments
from danlu.store.errors import StoreError
from danlu.store.meta import get_meta, put_meta

RULES = ("bundles", "images", "logs")
MOST_ITEMS = 1000
_LAST = "disks.cleaning"


@dataclass(frozen=True, slots=True)
class Item:
    rule: str
    name: str
    bytes: int
    used_at: float | None
    disk: str
    removed: bool = False
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Cleaned:
    at: float
    dry_run: bool
    by: str
    bytes: int
    items: list[Item]


class DiskCleaning:
    def __init__(self, context: Context, levels: DiskLevels, care: BundleCare) -> None:
        self._context = context
        self._levels = levels
        self._care = care
        self._turn = asyncio.Lock()
        self.next_at: float | None = None

    async def run(self) -> None:
        """By its timetable: old logs always, images where a disk is too full."""
        settings = self._context.settings.disks
        while settings.clean:
            self.next_at = now() + settings.every
            await asyncio.sleep(settings.every)
            try:
                await self.clean("", dry_run=False)
            except (Unreachable, StoreError) as trouble:
                log.warning("disks were not cleaned: %s", trouble)
        await asyncio.Event().wait()

    async def clean(self, by: str, dry_run: bool, rules: Collection[str] = RULES) -> Cleaned:
        """`by` an admin: whatever the rules allow; by its timetable: no more than is needed."""
        async with self._turn:
            items: list[Item] = []
            engine = self._levels.engine()
            if engine is not None and "images" in rules:
                items += await self._images(engine, dry_run, everywhere=bool(by))
            if engine is not None and "logs" in rules:
                items += await self._logs(engine, dry_run)
            if "bundles" in rules and not dry_run and by:
                freed = await self._care.tidy()
                items += [Item("bundles", "bundles", freed, None, self._data(), True)] * bool(freed)
            done = [item for item in items if dry_run or item.removed]
            items.sort(key=lambda item: -item.bytes)
            total = sum(item.bytes for item in done)
            cleaned = Cleaned(now(), dry_run, by, total, items[:MOST_ITEMS])
            if not dry_run and (by or items):
                await self._note(cleaned)
        return cleaned

    async def last(self) -> Cleaned | None:
        text = await self._context.store.read(lambda tx: get_meta(tx, _LAST))
        if text is None:
            return None
        values = json.loads(text)
        return Cleaned(**{**values, "items": [Item(**item) for item in values["items"]]})

    async def _note(self, cleaned: Cleaned) -> None:
        kept = replace(cleaned, items=cleaned.items[:100])
        text = json.dumps(asdict(kept))
        await self._context.store.write(lambda tx: put_meta(tx, _LAST, text))
        if cleaned.bytes:
            log.info("cleaned disks: %d bytes freed", cleaned.bytes)

    def _data(self) -> str:
        disk = self._levels.of(str(self._context.settings.files.data))
        return disk.id if disk is not None else ""

    # -- images -------------------------------------------------------------------------------

    async def _images(self, engine: Storage, dry_run: bool, everywhere: bool) -> list[Item]:
        context, settings = self._context, self._context.settings.disks
        disk = await self._image_disk(engine)
        if disk is None or not (everywhere or disk.used_percent >= settings.clean_from):
            return []
        name = getattr(engine, "name", "")
        uses = await context.store.read(partial(disks.uses, engine=name))
        needed = await self._needed(engine)
        before = now() - settings.images
        to_free = disk.space.size * (disk.used_percent - settings.clean_to) / 100
        items: list[Item] = []
        for used_at, asked, image in self._unused(engine, await engine.stored_images(), uses):
            if used_at >= before or (not everywhere and to_free <= 0):
                break
            ours = [each for each in image.names if each in engine.image_names(asked)]
            if image.busy or needed & set(image.names):
                continue
            item = Item("images", asked, image.size, used_at, disk.id)
            if not dry_run:
                item = await self._remove(engine, item, image, ours, name)
            if dry_run or item.removed:
                to_free -= image.size
            items.append(item)
        return items

    async def _image_disk(self, engine: Storage) -> DiskState | None:
        await self._levels.look()
        for path in (await engine.container_folders()).values():
            return self._levels.of(path)
        return None

    def _unused(
        self, engine: Storage, images: Collection[StoredImage], uses: dict[str, float]
    ) -> list[tuple[float, str, StoredImage]]:
        """Only images that jobs used: others are not ours to judge. Used longest ago first."""
        by_name = {name: image for image in images for name in image.names}
        found = []
        for asked, used_at in uses.items():
            for name in engine.image_names(asked):
                if name in by_name:
                    found.append((used_at, asked, by_name[name]))
                    break
        return sorted(found, key=lambda each: each[:2])

    async def _needed(self, engine: Storage) -> set[str]:
        """Names of images of jobs that have not ended, and of saved environments."""
        context = self._context
        asked = {role.image for job in context.jobs.values() for role in job.spec.roles}
        kept = await context.store.read(environments.every)
        asked |= {row.saved_image for row in kept} | {row.request.get("image") for row in kept}
        return {name for image in asked if image for name in engine.image_names(str(image))}

    async def _remove(
        self, engine: Storage, item: Item, image: StoredImage, names: list[str], runtime: str
    ) -> Item:
        # A job may have been submitted since.
        if await self._needed(engine) & set(image.names):
            return replace(item, detail="a job needs it again")
        why = await engine.remove_image(image, names)
        if why:
            return replace(item, detail=why)
        await self._context.store.write(
            partial(disks.forget_image, engine=runtime, image=item.name)
        )
        return replace(item, removed=True)

    # -- logs ---------------------------------------------------------------------------------

    async def _logs(self, engine: Storage, dry_run: bool) -> list[Item]:
        """Of jobs that ended long enough ago, if the admin set a time."""
        context, age = self._context, self._context.settings.disks.logs
        if not age:
            return []
        live = frozenset(context.jobs)
        size, count = await engine.old_logs(now() - age, live.__contains__, not dry_run)
        if not count:
            return []
        name = f"{count} > {format_duration(age)}"
        return [Item("logs", name, size, None, self._data(), not dry_run)]
