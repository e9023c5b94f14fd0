"""Who and what takes room: homes and shares are counted once a day, the rest is known."""

from __future__ import annotations

import asyncio
from functools import partial

from danlu.control.context import Context, log, now
from danlu.control.disk_levels import DiskLevels
from danlu.engines.api import Unreachable
from danlu.files.counting import Uncountable
from danlu.files.volumes import real_path
from danlu.store import bundles, disks, groups, users
from danlu.store.errors import StoreError
from danlu.store.rows import SizeRow
from danlu.store.tx import Tx

_SOON = 120.0  # seconds after the start
_PAUSE = 1.0  # between two folders
_LOOK_EVERY = 600.0


class DiskUses:
    def __init__(self, context: Context, levels: DiskLevels) -> None:
        self._context = context
        self._levels = levels
        self._tried: dict[tuple[str, str], float] = {}  # many people have no folder yet

    async def run(self) -> None:
        await asyncio.sleep(_SOON)
        while True:
            try:
                await self._due()
            except StoreError as trouble:
                log.warning("cannot note the sizes of folders: %s", trouble)
            await asyncio.sleep(_LOOK_EVERY)

    async def _due(self) -> None:
        """Counts folders whose number is old, the oldest first."""
        before = now() - self._context.settings.disks.count_every
        known = {(row.kind, row.name): row for row in await self.sizes()}
        folders = await self._folders()
        for kind, name in known.keys() - folders.keys():
            await self._context.store.write(partial(disks.forget_size, kind=kind, name=name))
        for key, path in folders.items():
            row = known.get(key)
            if max(row.counted_at if row else 0.0, self._tried.get(key, 0.0)) < before:
                self._tried[key] = now()
                await self.count(*key, path)
                await asyncio.sleep(_PAUSE)

    async def count(self, kind: str, name: str, path: str) -> SizeRow | None:
        try:
            # The folders above it are the admin's, who may have put links there.
            real = await asyncio.to_thread(real_path, path)
            found = await self._context.counting.count(real)
        except Uncountable:
            await self._context.store.write(partial(disks.forget_size, kind=kind, name=name))
            return None
        row = SizeRow(kind, name, found.blocks, found.files, now())
        await self._context.store.write(partial(disks.put_size, row=row))
        return row

    async def sizes(self) -> list[SizeRow]:
        return await self._context.store.read(disks.sizes)

    async def _folders(self) -> dict[tuple[str, str], str]:
        """What is worth counting, by kind and name."""
        context = self._context

        def query(tx: Tx) -> tuple[list[str], list[str]]:
            people = [row.name for row in users.list_users(tx)]
            return people, [row.name for row in groups.list_groups(tx)]

        people, teams = await context.store.read(query)
        files, volumes = context.settings.files, context.volumes
        found = {("home", name): str(files.home_of(name)) for name in people}
        found |= {("share", name): f"{volumes.share_root}/{name}" for name in teams}
        if volumes.user_root is not None:
            found |= {("user", name): f"{volumes.user_root}/{name}" for name in people}
        found |= {
            ("logs", "logs"): f"{files.data}/logs",
            ("registry", "registry"): f"{files.data}/registry",
        }
        return found

    async def of_disks(self) -> dict[str, list[SizeRow]]:
        """By disk, largest first."""
        context, levels = self._context, self._levels
        data = levels.of(str(context.settings.files.data))
        homes = {
            "share": levels.of(context.volumes.share_root) or data,
            "user": levels.of(context.volumes.user_root or "") or data,
        }
        rows = await self.sizes()
        stored = await context.store.read(bundles.stored)
        rows += [SizeRow("bundles", owner, size, 0, at) for owner, (size, at) in stored.items()]
        found: dict[str, list[SizeRow]] = {}
        for row in rows:
            disk = homes.get(row.kind, data)
            if disk is not None:
                found.setdefault(disk.id, []).append(row)
        await self._add_images(found)
        for uses in found.values():
            uses.sort(key=lambda row: -row.bytes)
        return found

    async def _add_images(self, found: dict[str, list[SizeRow]]) -> None:
        engine = self._levels.engine()
        if engine is None:
            return
        try:
            folders = await engine.container_folders()
            images = await engine.stored_images()
        except Unreachable:
            return
        for kind, path in folders.items():
            disk = self._levels.of(path)
            if disk is not None and images:
                total = sum(image.size for image in images)
                row = SizeRow("images", kind, total, len(images), now())
                found.setdefault(disk.id, []).append(row)
