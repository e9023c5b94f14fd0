"""Folders that people bring along with a job: upload, list, forget."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from danlu.access.errors import Clash, Crowded, NotThere, Unfit
from danlu.access.principal import Asker
from danlu.control.context import Context, now
from danlu.engines.api import Refused
from danlu.files.bundles.stores import Trouble
from danlu.files.bundles.trees import LARGEST_LIST
from danlu.spec.text import Text
from danlu.spec.units import format_size
from danlu.store import bundles, environments
from danlu.store.rows import BundleRow
from danlu.store.tx import Tx

MOST = 1000  # bundles of one person
MOST_UPLOADS = 4  # of one person at once
SILENCE = 60.0  # seconds without a byte after which an upload is given up
Values = dict[str, Any]


class Bundles:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._uploads: Counter[str] = Counter()

    async def offer(self, asks: Asker, body: AsyncIterator[bytes]) -> Values:
        """Takes the list of a folder's files; says which contents are not there yet."""
        ask = {"op": "offer", **self._limits()}
        answer = await self._upload(asks, ask, _bounded(body, LARGEST_LIST))
        return await self._note(asks.name, answer)

    async def put(self, asks: Asker, id: str, body: AsyncIterator[bytes]) -> Values:
        """Takes contents that were missing."""
        context, owner = self._context, asks.name
        stored = await context.store.read(lambda tx: bundles.stored_for(tx, owner))
        room = context.settings.carry.total - stored
        ask = {"op": "put", "id": id, "room": room, **self._limits()}
        answer = await self._upload(asks, ask, body)
        added = int(answer.pop("added"))

        def op(tx: Tx) -> None:
            bundles.set_stored(tx, owner, bundles.stored_for(tx, owner) + added, now())

        if added:
            await context.store.write(op)
        return await self._note(owner, answer)

    async def mine(self, asks: Asker) -> tuple[list[BundleRow], Values]:
        """One's own, and what else may be brought along."""
        carry, owner = self._context.settings.carry, asks.name
        rows, stored = await self._context.store.read(
            lambda tx: (bundles.of_owner(tx, owner), bundles.stored_for(tx, owner))
        )
        left = max(0, carry.total - stored)
        return rows, {"bytes": carry.size, "files": carry.files, "left": left}

    async def forget(self, asks: Asker, id: str) -> BundleRow:
        """Its files are removed with the next cleaning."""
        owner = asks.name
        for job in self._context.jobs.values():
            if job.row.owner == owner and job.spec.bundle is not None and job.spec.bundle.id == id:
                raise _in_use(job.row.ref)

        def op(tx: Tx) -> BundleRow | None:
            for each in environments.seen_by(tx, owner):
                if each.owner == owner and _named(each.request.get("bundle")) == id:
                    raise _in_use(each.name)
            row = bundles.get(tx, owner, id)
            bundles.remove(tx, owner, id)
            return row

        row = await self._context.store.write(op)
        if row is None:
            raise _missing()
        return row

    async def _note(self, owner: str, answer: Values) -> Values:
        """On disk once it is complete."""
        if answer["ready"]:
            at = now()
            row = BundleRow(owner, answer["id"], answer["bytes"], answer["files"], at, at)

            def op(tx: Tx) -> None:
                if bundles.count(tx, owner) >= MOST and bundles.get(tx, owner, row.id) is None:
                    bundles.remove(tx, owner, bundles.of_owner(tx, owner)[0].id)
                bundles.put(tx, row)
                bundles.set_stored(tx, owner, bundles.stored_for(tx, owner), at)

            await self._context.store.write(op)
        return answer

    def _limits(self) -> Values:
        carry = self._context.settings.carry
        return {"most_files": carry.files, "most_bytes": carry.size}

    async def _upload(self, asks: Asker, ask: Values, body: AsyncIterator[bytes]) -> Values:
        context = self._context
        if context.disks.full is not None:
            raise Clash("disk_full", context.disks.full.message)
        person = await context.identities.person(asks.name)
        try:
            with self._counted(asks.name):
                return await context.bundles.upload(person, ask, _audible(body))
        except Refused as refusal:
            raise Clash("no_uid", Text(str(refusal), str(refusal))) from None
        except Trouble as trouble:
            raise _refusal(trouble) from None
        except TimeoutError:
            raise _refusal(Trouble("cut_off", {})) from None

    @contextmanager
    def _counted(self, user: str) -> Iterator[None]:
        if self._uploads[user] >= MOST_UPLOADS:
            raise Crowded(MOST_UPLOADS, Text("uploads under way", "上传正在进行"))
        self._uploads[user] += 1
        try:
            yield
        finally:
            self._uploads[user] -= 1
            if not self._uploads[user]:
                del self._uploads[user]


async def _bounded(body: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    seen = 0
    async for piece in body:
        seen += len(piece)
        if seen > most:
            raise _refusal(Trouble("list_too_long", {}))
        yield piece


async def _audible(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A client that went silent does not keep a process waiting."""
    while True:
        try:
            async with asyncio.timeout(SILENCE):
                piece = await anext(body)
        except StopAsyncIteration:
            return
        yield piece


def _refusal(trouble: Trouble) -> Exception:
    get = trouble.values.get
    name, size, most = get("name", ""), int(get("bytes", 0)), int(get("most") or get("room") or 0)
    match trouble.code:
        case "unknown":
            return _missing()
        case "too_large":
            return Unfit(
                "bundle",
                Text(
                    f"is {format_size(size)}; at most {format_size(most)} can be brought along. "
                    "Leave out what is not code with a .danluignore, and put data in /userhome",
                    f"大小为 {format_size(size)}；最多可上传 {format_size(most)}。请用 "
                    ".danluignore 排除不是代码的内容，数据请放在 /userhome",
                ),
            )
        case "too_many_files":
            return Unfit(
                "bundle",
                Text(
                    f"has {get('files')} files; at most {most} can be brought along. Leave out "
                    "what is not code with a .danluignore",
                    f"含 {get('files')} 个文件；最多可上传 {most} 个。"
                    "请用 .danluignore 排除不是代码的内容",
                ),
            )
        case "no_room":
            return Clash(
                "no_room",
                Text(
                    "The folders you brought along have used up the space for them "
                    f"({format_size(max(most, 0))} left). Remove some with danlu bundle remove",
                    f"你上传的目录已用完可用空间（剩余 {format_size(max(most, 0))}）。"
                    "可用 danlu bundle remove 删除一些",
                ),
            )
        case "disk_full":
            return Clash(
                "disk_full",
                Text("The server's disk is full; tell the admin", "服务器磁盘已满；请告知管理员"),
            )
        case "changed":
            return Clash(
                "changed",
                Text("A file changed while it was being sent", "文件在上传过程中发生了变化"),
            )
        case "bad_name" | "link_leads_out":
            words = {
                "bad_name": Text(
                    f"has a name that cannot be used: {name!r}", f"含有无法使用的名称：{name!r}"
                ),
                "link_leads_out": Text(
                    f"has a link that leads out of it: {name!r}",
                    f"含有指向目录之外的链接：{name!r}",
                ),
            }
            return Unfit("bundle", words[trouble.code])
        case "failed":
            detail = str(get("detail", ""))
            return Clash("failed", Text(f"It failed: {detail}", f"失败：{detail}"))
    return Unfit(
        "bundle",
        Text(f"is not valid ({trouble.code})", f"内容不符合要求（{trouble.code}）"),
    )


def _named(bundle: Any) -> str | None:
    """The id in the key of a job file."""
    return bundle.get("id") if isinstance(bundle, dict) else bundle


def _in_use(name: str) -> Clash:
    return Clash("in_use", Text(f"{name} still needs it", f"{name} 还需要它"))


def _missing() -> NotThere:
    return NotThere(Text("folder of yours with this id", "你上传的此编号的目录"))
