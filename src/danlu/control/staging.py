"""Copies of datasets on the fast volumes of nodes: made on an admin's word, evicted by last use."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from danlu.control import records
from danlu.control.context import Context, log, now
from danlu.control.live_job import LiveJob
from danlu.engines.api import Storage
from danlu.files import staging
from danlu.files.datasets import STAGE, fast_volumes
from danlu.spec.text import EMPTY, Text
from danlu.spec.units import format_size
from danlu.store import datasets as store
from danlu.store.rows import AttemptRow, CopyRow, DatasetRow
from danlu.store.tx import Tx

_RESERVE = 0.05  # of the disk is left free


class Staging:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._work: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._turn = asyncio.Semaphore(1)

    def places(self) -> dict[str, tuple[str, str]]:
        """Node -> name and folder of its fast volume."""
        nodes = [
            node.name
            for node in self._context.ledger.nodes()
            if isinstance(self._context.engine_at(node.name), Storage)
        ]
        found = fast_volumes(self._context.volumes, nodes)
        return {node: (volume.name, volume.source) for node, volume in found.items()}

    async def begin(self, row: DatasetRow, source: str, nodes: Iterable[str]) -> None:
        """Nodes that share a volume share the copy."""
        places = self.places()
        by_folder: dict[str, list[CopyRow]] = {}
        for node in nodes:
            name, root = places[node]
            folder = f"{root}/{STAGE}/{row.name}@{row.fingerprint}"
            copy = CopyRow(row.name, node, name, folder, "copying", 0, None, "", "")
            by_folder.setdefault(root, []).append(copy)
            await self._put(copy)
        for root, copies in by_folder.items():
            key = (row.name, root)
            if key not in self._work:
                task = asyncio.create_task(self._copy(row, source, root, copies))
                self._work[key] = task
                task.add_done_callback(partial(self._done, key))

    def _done(self, key: tuple[str, str], _: object) -> None:
        self._work.pop(key, None)

    async def _copy(self, row: DatasetRow, source: str, root: str, copies: list[CopyRow]) -> None:
        async with self._turn:
            need = row.bytes or 0
            if not await self._make_room(root, need, row.name):
                free = format_size(need)
                await self._fail(
                    copies,
                    Text(
                        f"no room for {free} on the fast volume; jobs read it from its own volume",
                        f"高速存储卷放不下 {free}；任务从原存储卷读取",
                    ),
                )
                return

            def progress(done: int) -> None:
                for copy in copies:
                    copy.bytes = done
                    self._context.datasets.put_copy(copy)

            try:
                name = f"{row.name}@{row.fingerprint}"
                await staging.copy(source, f"{root}/{STAGE}", name, progress)
            except staging.Trouble as trouble:
                why = Text(f"copying failed: {trouble}", f"复制失败：{trouble}")
                await self._fail(copies, why)
                return
            for copy in copies:
                await self._put(replace(copy, state="ready", bytes=need, used_at=now()))
            self._changed()

    async def remove(self, row: DatasetRow) -> None:
        """All copies; tasks that read them keep what they have open."""
        for copy in self._context.datasets.copies(row.name):
            await self._drop(copy)

    async def _make_room(self, root: str, need: int, but: str) -> bool:
        """Evicts copies nobody uses, unused longest first."""
        engine = next((e for e in self._context.engines.there() if isinstance(e, Storage)), None)
        if engine is None:
            return False
        used = {name for job in self._context.attempts.values() for name in job.spec.datasets}
        copies = [
            copy
            for copy in self._context.datasets.copies()
            if copy.folder.startswith(f"{root}/{STAGE}/") and copy.state == "ready"
        ]
        copies = [copy for copy in copies if copy.dataset not in used | {but}]
        copies.sort(key=lambda copy: copy.used_at or 0.0)
        while True:
            space = (await engine.spaces([root])).get(root)
            if space is None:
                return False
            if space.free - need >= space.size * _RESERVE:
                return True
            if not copies:
                return False
            gone = copies.pop(0)
            same = [copy for copy in copies if copy.folder == gone.folder]
            copies = [copy for copy in copies if copy.folder != gone.folder]
            for copy in (gone, *same):
                await self._drop(copy)

    async def _drop(self, copy: CopyRow) -> None:
        context = self._context
        context.datasets.drop_copy(copy.dataset, copy.node)
        await context.store.write(partial(store.remove_copy, dataset=copy.dataset, node=copy.node))
        self._changed()
        if any(other.folder == copy.folder for other in context.datasets.copies()):
            return
        try:
            await staging.remove(copy.folder)
        except staging.Trouble as trouble:
            log.warning("cannot remove %s: %s", copy.folder, trouble)

    async def _fail(self, copies: list[CopyRow], why: Text) -> None:
        for copy in copies:
            await self._put(replace(copy, state="failed", detail_en=why.en, detail_zh=why.zh))

    async def _put(self, copy: CopyRow) -> None:
        self._context.datasets.put_copy(copy)
        await self._context.store.write(partial(store.put_copy, row=copy))

    def _changed(self) -> None:
        self._context.on_data_changed()


async def note_reading(context: Context, job: LiveJob, attempt: AttemptRow) -> None:
    """Says where a job that asks for datasets reads them from, and that the copies are used."""
    at, told = now(), EMPTY
    used: list[tuple[str, str]] = []
    for name in job.spec.datasets:
        nodes = sorted({place.node for place in attempt.places})
        near = [node for node in nodes if context.datasets.copy_at(name, node) is not None]
        used += [(name, node) for node in near]
        row = context.datasets.get(name)
        volume = row.volume if row is not None else ""
        if len(near) == len(nodes):
            line = Text(f"{name}: a fast copy", f"{name}：高速副本")
        else:
            line = Text(
                f"{name}: volume {volume}, because there is no fast copy here",
                f"{name}：存储卷 {volume}（此处没有高速副本）",
            )
        told = line if told == EMPTY else told + Text(f"; {line.en}", f"；{line.zh}")
    event = records.noted(job.id, "reads", {"en": told.en, "zh": told.zh}, at)

    def op(tx: Tx) -> None:
        event(tx)
        for name, node in used:
            store.copy_used(tx, name, node, at)

    await context.persist(op)
    for name, node in used:
        copy = context.datasets.copy_at(name, node)
        if copy is not None:
            copy.used_at = at
