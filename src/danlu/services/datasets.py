"""The catalogue of datasets: proposed by anybody, decided by admins, read at /gdata/NAME."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from danlu.access.audit import note
from danlu.access.errors import Clash, Crowded, NotAllowed, NotThere, Unfit, Unknown
from danlu.access.identities import Person
from danlu.access.names import check_text
from danlu.access.principal import Asker
from danlu.control.context import now
from danlu.control.controller import Controller
from danlu.engines.api import Unreachable
from danlu.files.as_person import as_person
from danlu.files.counting import Uncountable
from danlu.files.datasets import source_of
from danlu.files.volumes import HOME, Volume, real_path
from danlu.spec.errors import Wrong
from danlu.spec.text import EMPTY, Text
from danlu.spec.ties import read_folder
from danlu.store import datasets as store
from danlu.store import users
from danlu.store.rows import CopyRow, DatasetRow
from danlu.store.tx import Tx

MOST = 2000
MOST_PROPOSALS = 20  # of one person
_PLACE = ("volume", "folder", "everywhere")


@dataclass(frozen=True, slots=True)
class Words:
    """What is said about a dataset; None: as it was, or as usual."""

    volume: str | None = None
    folder: str | None = None
    everywhere: bool | None = None
    title: str | None = None
    licence: str | None = None
    how: str | None = None
    keeper: str | None = None

    def given(self) -> dict[str, Any]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Found:
    row: DatasetRow
    usable: bool
    copies: list[CopyRow]
    nodes: tuple[str, ...]
    measuring: bool
    warning: Text = EMPTY


class DatasetCatalogue:
    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._context = controller.context
        self._counting: dict[str, asyncio.Task[None]] = {}

    async def seen(self, asks: Asker) -> list[Found]:
        found = [await self._found(asks, row) for row in self._context.datasets.all()]
        return [each for each in found if self._sees(asks, each)]

    async def show(self, asks: Asker, name: str) -> Found:
        row = self._context.datasets.get(name)
        found = None if row is None else await self._found(asks, row)
        if found is None or not self._sees(asks, found):
            raise _missing(name)
        return found

    def _sees(self, asks: Asker, found: Found) -> bool:
        own = asks.name in (found.row.proposed_by, found.row.keeper)
        return asks.who.admin or found.usable or own

    async def add(self, asks: Asker, name: str, words: Words) -> Found:
        admin = asks.who.admin
        at = now()
        before = self._context.datasets.get(name)
        mine = before is not None and before.state != "ready" and before.proposed_by == asks.name
        if before is not None and mine:
            # Proposed again, perhaps after it was rejected: what is not said anew stays.
            words = Words(
                **{
                    each.name: getattr(words, each.name)
                    if getattr(words, each.name) is not None
                    else getattr(before, each.name)
                    for each in fields(Words)
                }
            )
        row = DatasetRow(
            name=name,
            volume=words.volume or "gdata",
            folder=name if words.folder is None else words.folder,
            everywhere=words.everywhere is not False,
            title=words.title or "",
            licence=words.licence or "",
            how=words.how or "",
            keeper=words.keeper or asks.name,
            state="ready" if admin else "proposed",
            bytes=None,
            files=None,
            fingerprint="",
            measured_at=None,
            proposed_by="" if admin else asks.name,
            created_at=at,
            decided_by=asks.name if admin else "",
            reason="",
        )
        await self._check(asks, row)
        if before is not None and not mine:
            raise Clash(
                "dataset_exists",
                Text(
                    f"A dataset or proposal {name} exists already; choose another name",
                    f"已有名为 {name} 的数据集或提议；请换一个名称",
                ),
            )
        self._check_count(asks, before)
        act = "dataset.added" if admin else "dataset.proposed"

        def op(tx: Tx) -> None:
            if mine:
                store.remove(tx, name)
            store.add(tx, row)
            note(tx, asks, act, name, volume=row.volume, folder=row.folder)

        await self._context.store.write(op)
        self._context.datasets.put(row)
        if admin:
            self._begin_counting(row)
        self._context.on_data_changed()
        return await self._found(asks, row)

    def _check_count(self, asks: Asker, before: DatasetRow | None) -> None:
        rows = self._context.datasets.all()
        mine = [row for row in rows if row.proposed_by == asks.name and row.state != "ready"]
        if before is None and not asks.who.admin and len(mine) >= MOST_PROPOSALS:
            raise Crowded(MOST_PROPOSALS, Text("proposals", "提议"))
        if before is None and len(rows) >= MOST:
            raise Crowded(MOST, Text("datasets", "数据集"))

    async def change(self, asks: Asker, name: str, words: Words) -> Found:
        before = (await self.show(asks, name)).row
        given = words.given()
        if not asks.who.admin:
            if asks.name != before.keeper:
                raise _not_allowed()
            placed = [key for key in (*_PLACE, "keeper") if key in given]
            if placed and before.state == "ready":
                raise NotAllowed(
                    Text(
                        f"Only an admin may change {', '.join(placed)}",
                        f"只有管理员可以修改 {'、'.join(placed)}",
                    )
                )
        row = replace(before, **given)
        moved = (row.volume, row.folder) != (before.volume, before.folder)
        if moved:
            row = replace(row, bytes=None, files=None, fingerprint="", measured_at=None)
        await self._check(asks, row)
        await self._put(asks, row, "dataset.changed")
        if moved and row.state == "ready":
            self._begin_counting(row)
        return await self._found(asks, row)

    async def remove(self, asks: Asker, name: str) -> Found:
        found = await self.show(asks, name)
        row = found.row
        mine = row.proposed_by == asks.name and row.state != "ready"
        if not asks.who.admin and not mine:
            raise _not_allowed()
        await self._controller.staging.remove(row)

        def op(tx: Tx) -> None:
            store.remove(tx, name)
            note(tx, asks, "dataset.removed", name, volume=row.volume, folder=row.folder)

        await self._context.store.write(op)
        self._context.datasets.remove(name)
        self._context.on_data_changed()
        return found

    async def decide(self, asks: Asker, name: str, state: str, reason: str = "") -> Found:
        row = (await self.show(asks, name)).row
        _only_admins(asks)
        if row.state == state:
            return await self._found(asks, row)
        if row.state == "ready":
            raise Clash(
                "not_a_proposal",
                Text(
                    f"{name} is already accepted; to remove it: danlu dataset remove {name}",
                    f"{name} 已被接受；可用 danlu dataset remove {name} 移除",
                ),
            )
        row = replace(row, state=state, decided_by=asks.name, reason=check_text(reason, "reason"))
        row = replace(row, decided_at=now())
        if state == "ready":
            await self._check(asks, row)
        act = "dataset.accepted" if state == "ready" else "dataset.rejected"
        await self._put(asks, row, act)
        if state == "ready":
            self._begin_counting(row)
        return await self._found(asks, row)

    async def measure(self, asks: Asker, name: str) -> Found:
        row = (await self.show(asks, name)).row
        if not asks.who.admin and asks.name != row.keeper:
            raise _not_allowed()
        if row.state != "ready":
            raise _not_ready(name)
        self._begin_counting(row)
        return await self._found(asks, row)

    async def stage(self, asks: Asker, name: str, nodes: Sequence[str]) -> Found:
        row = (await self.show(asks, name)).row
        _only_admins(asks)
        places = self._controller.staging.places()
        if not places:
            raise Clash(
                "no_fast_volume",
                Text(
                    "There is no fast volume; declare one: danlu volume add fast FOLDER --tier "
                    "fast",
                    "没有高速存储卷；请先声明：danlu volume add fast 目录 --tier fast",
                ),
            )
        for node in nodes:
            if node not in places:
                raise Unknown("nodes", Text("node with a fast volume", "节点"), node, list(places))
        if row.state != "ready" or not row.fingerprint:
            raise _not_ready(name)
        source = self._source(row)
        if source is None:
            raise _leads_out(row)
        await self._controller.staging.begin(row, source, nodes or list(places))
        await self._context.store.write(lambda tx: note(tx, asks, "dataset.staged", name))
        return await self._found(asks, row)

    async def unstage(self, asks: Asker, name: str) -> Found:
        row = (await self.show(asks, name)).row
        _only_admins(asks)
        await self._controller.staging.remove(row)
        await self._context.store.write(lambda tx: note(tx, asks, "dataset.unstaged", name))
        return await self._found(asks, row)

    # -- inside -------------------------------------------------------------------------------

    async def _found(self, asks: Asker, row: DatasetRow) -> Found:
        context = self._context
        person = await context.identities.person(asks.name)
        return Found(
            row,
            context.datasets.readable(row, person),
            context.datasets.copies(row.name),
            context.datasets.nodes_of(row),
            row.name in self._counting,
        )

    async def _check(self, asks: Asker, row: DatasetRow) -> None:
        """Who proposes one can mount its volume anyway: nobody gives away what is not theirs."""
        row.title, row.licence = check_text(row.title, "title"), check_text(row.licence, "licence")
        if row.volume in (HOME, "user") or row.volume.startswith("share."):
            raise Unfit(
                "volume",
                Text(
                    f"{row.volume} is a private folder; ask an admin to put the data on a volume",
                    f"{row.volume} 是私有目录；请让管理员把数据放到存储卷上",
                ),
            )
        person = await self._context.identities.person(asks.name)
        usable = self._context.volumes.find(row.volume, person)
        known = self._context.volumes.catalogue()
        if (usable is None and not asks.who.admin) or row.volume not in known:
            names = sorted(known if asks.who.admin else self._context.volumes.usable(person))
            raise Unknown("volume", Text("volume", "存储卷"), row.volume, names)
        if row.folder:
            try:
                row.folder = read_folder(row.folder)
            except Wrong as error:
                found = error.findings[0]
                raise Unfit("folder", found.message.after(repr(row.folder))) from None
        source = self._source(row)
        if source is None:
            raise _leads_out(row)
        if row.state == "ready" or (row.state == "proposed" and asks.who.admin):
            await self._check_folder(row, source)
        elif row.state == "proposed" and usable is not None:
            await self._check_proposed(row, source, usable.source, person)
        await self._check_keeper(row.keeper)

    async def _check_proposed(
        self, row: DatasetRow, source: str, volume: str, person: Person
    ) -> None:
        """With the proposer's permissions: what others keep to themselves is not found out."""

        def seen() -> bool | None:
            with as_person(person):
                return os.path.isdir(source) if os.path.isdir(volume) else None

        found = await asyncio.to_thread(seen)
        if found is None:  # the volume is on the nodes only
            await self._check_folder(row, source)
        elif not found:
            raise Unfit(
                "folder",
                Text(
                    f"There is no folder {row.folder!r} in volume {row.volume} that you can read; "
                    "copy the data there first",
                    f"存储卷 {row.volume} 中没有你可以读取的目录 {row.folder!r}；请先放入数据",
                ),
            )

    async def _check_folder(self, row: DatasetRow, source: str) -> None:
        nodes = self._context.datasets.nodes_of(row) or [
            node.name for node in self._context.ledger.nodes()
        ]
        for node in nodes:
            with contextlib.suppress(Unreachable):
                if await self._context.engine_at(node).missing_folders(node, (source,)):
                    raise Unfit(
                        "folder",
                        Text(
                            f"{row.folder!r} is not a folder of volume {row.volume} on {node}",
                            f"{row.folder!r} 在 {node} 的存储卷 {row.volume} 中不是目录",
                        ),
                    )

    async def _check_keeper(self, name: str) -> None:
        def query(tx: Tx) -> list[str]:
            return [row.name for row in users.list_users(tx) if row.status != "removed"]

        known = await self._context.store.read(query)
        if name not in known:
            raise Unknown("keeper", Text("user", "用户"), name, known)

    def _source(self, row: DatasetRow) -> str | None:
        config = self._context.volumes.catalogue().get(row.volume)
        if config is None:
            return None
        return source_of(row, Volume(config, real_path(config.source), config.target))

    async def _put(self, asks: Asker, row: DatasetRow, act: str) -> None:
        def op(tx: Tx) -> None:
            store.put(tx, row)
            note(tx, asks, act, row.name, volume=row.volume, folder=row.folder)

        await self._context.store.write(op)
        self._context.datasets.put(row)
        self._context.on_data_changed()

    def _begin_counting(self, row: DatasetRow) -> None:
        if row.name not in self._counting:
            task = asyncio.create_task(self._count(row.name))
            self._counting[row.name] = task
            task.add_done_callback(lambda _: self._counting.pop(row.name, None))

    async def _count(self, name: str) -> None:
        row = self._context.datasets.get(name)
        source = self._source(row) if row is not None else None
        if source is None:
            return
        try:
            counted = await self._context.counting.count(source)
        except Uncountable:
            return
        row = self._context.datasets.get(name)
        if row is None or self._source(row) != source:
            return
        row = replace(
            row,
            bytes=counted.bytes,
            files=counted.files,
            fingerprint=counted.fingerprint,
            measured_at=now(),
        )
        await self._context.store.write(partial(store.put, row=row))
        self._context.datasets.put(row)


def _only_admins(asks: Asker) -> None:
    if not asks.who.admin:
        raise _not_allowed()


def _not_allowed() -> NotAllowed:
    return NotAllowed(Text("Only an admin may do this", "只有管理员可以执行"))


def _missing(name: str) -> NotThere:
    return NotThere(Text(f"dataset {name[:64]}", f"数据集 {name[:64]}"))


def _not_ready(name: str) -> Clash:
    return Clash(
        "not_measured",
        Text(
            f"{name} has not been accepted and measured yet; danlu dataset measure {name}",
            f"{name} 尚未被接受或测量；可用 danlu dataset measure {name}",
        ),
    )


def _leads_out(row: DatasetRow) -> Unfit:
    return Unfit(
        "folder",
        Text(
            f"{row.folder!r} leads out of volume {row.volume}",
            f"{row.folder!r} 指向存储卷 {row.volume} 之外",
        ),
    )
