"""Queues, quotas and nodes as an admin changes them while the server runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import Clash, NotAllowed, NotThere, Unfit, Unknown
from danlu.access.principal import Asker
from danlu.control.active import Active
from danlu.control.rooms import Rooms, now
from danlu.control.rulebook import EVERYBODY, Kind
from danlu.sched.api import DEFAULT_QUEUE
from danlu.sched.decide import ORDER_NAMES
from danlu.sched.orders import ORDERS as PLACE_NAMES
from danlu.store import events, groups, users
from danlu.store import rules as rule_store
from danlu.store.rows import EventRow, RuleRow
from danlu.store.tx import Tx

_KNOWN = {"order": ORDER_NAMES, "place": PLACE_NAMES}


class Scheduling:
    def __init__(self, rooms: Rooms, changed: Callable[[], None]) -> None:
        self._rooms = rooms
        self._book = rooms.rulebook
        self._changed = changed

    # -- queues -------------------------------------------------------------------------------

    async def set_queue(self, asker: Asker, name: str, changes: Mapping[str, Any]) -> None:
        """Makes it, or changes what is named."""
        self._may(asker, Kind.QUEUE, name)
        self._check_queue(changes)
        before = self._book.row(Kind.QUEUE, name)
        content = {**(before.content if before else {}), **changes}
        row = RuleRow(Kind.QUEUE, name, _without_none(content), now())

        def op(tx: Tx) -> None:
            rule_store.put_rule(tx, row)
            rule_store.delete_rule(tx, Kind.MERGED, name)
            note(tx, asker, "queue.set", name, **changes)

        await self._rooms.store.write(op)
        self._book.remove((Kind.MERGED, name))
        self._book.put(row)
        self._changed()

    async def remove_queue(self, asker: Asker, name: str) -> None:
        self._may(asker, Kind.QUEUE, name)
        kind = Kind.QUEUE if self._book.row(Kind.QUEUE, name) else Kind.MERGED
        if self._book.row(kind, name) is None:
            raise _no_queue(name)
        jobs = self._jobs_of(name)
        if jobs and name != DEFAULT_QUEUE:
            raise Clash(
                "queue_in_use",
                f"{len(jobs)} jobs are in queue {name}; merge it into another one first "
                f"(danlu queue merge {name} default)",
                f"队列 {name} 中有 {len(jobs)} 个任务；请先并入其他队列"
                f"（danlu queue merge {name} default）",
            )

        def op(tx: Tx) -> None:
            rule_store.delete_rule(tx, kind, name)
            note(tx, asker, "queue.removed", name)

        await self._rooms.store.write(op)
        self._book.remove((kind, name))
        self._changed()

    async def merge(self, asker: Asker, name: str, into: str) -> int:
        """Its jobs and nodes become the other's; its name goes on working. Says how many jobs."""
        self._may(asker, Kind.QUEUE, name)
        row = self._book.row(Kind.QUEUE, name)
        if row is None:
            raise _no_queue(name)
        if into not in self._book.queues:
            raise Unknown("into", ("queue", "队列"), into, list(self._book.queues))
        if into == name or name == DEFAULT_QUEUE:
            raise Unfit(
                "into",
                f"queue {name} cannot be merged into {into}",
                f"队列 {name} 不能并入 {into}",
            )
        at = now()
        gone = RuleRow(Kind.MERGED, name, {"into": into}, at)
        wider = self._with_nodes(into, row.content.get("nodes"), at)
        jobs = self._jobs_of(name)
        data = {"from": name, "to": into}
        news = [EventRow(job.id, at, "queue_changed", asker.name, data) for job in jobs]

        def op(tx: Tx) -> None:
            rule_store.delete_rule(tx, Kind.QUEUE, name)
            for rule in filter(None, (gone, wider)):
                rule_store.put_rule(tx, rule)
            rule_store.move_jobs(tx, [job.id for job in jobs], into)
            events.append(tx, news)
            note(tx, asker, "queue.merged", name, into=into, jobs=len(jobs))

        await self._rooms.store.write(op)
        self._book.remove((Kind.QUEUE, name))
        self._book.put(*filter(None, (gone, wider)))
        # Those that came while this was written as well: nothing is left behind.
        for job in self._jobs_of(name):
            job.row.queue = into
            self._rooms.queue.refresh(job)
            self._rooms.bulletin.post(job.id)
        self._changed()
        return len(jobs)

    def _with_nodes(self, into: str, nodes: list[str] | None, at: float) -> RuleRow | None:
        """The other queue with the nodes of this one, where it has only some and may be changed."""
        own = self._book.row(Kind.QUEUE, into)
        if own is None or self._book.in_file(Kind.QUEUE, into) or "nodes" not in own.content:
            return None
        content = {key: value for key, value in own.content.items() if key != "nodes"}
        if nodes is not None:
            content["nodes"] = sorted({*own.content["nodes"], *nodes})
        return RuleRow(Kind.QUEUE, into, content, at)

    def _jobs_of(self, queue: str) -> list[Active]:
        return [job for job in self._rooms.jobs.values() if job.row.queue == queue]

    def _check_queue(self, changes: Mapping[str, Any]) -> None:
        for key, known in _KNOWN.items():
            value = changes.get(key)
            if value is not None and value not in known:
                raise Unknown(key, ("order", "顺序"), value, list(known))
        here = [node.name for node in self._rooms.ledger.nodes()]
        for node in changes.get("nodes") or ():
            if node not in here:
                raise Unknown("nodes", ("node", "节点"), node, here)

    # -- quotas -------------------------------------------------------------------------------

    async def set_quota(
        self, asker: Asker, kind: Kind, name: str, changes: Mapping[str, Any]
    ) -> None:
        self._may(asker, kind, name)
        if kind is Kind.USER and changes.get("guaranteed"):
            raise Unfit(
                "guaranteed",
                "a guaranteed share belongs to a group, not to a user",
                "保障份额属于组，不属于个人",
            )
        await self._exists(kind, name)
        before = self._book.row(kind, name)
        content = {**(before.content if before else {}), **changes}
        row = RuleRow(kind, name, _without_none(content), now())

        def op(tx: Tx) -> None:
            rule_store.put_rule(tx, row)
            note(tx, asker, "quota.set", f"{kind.value} {name}", **changes)

        await self._rooms.store.write(op)
        self._book.put(row)
        self._changed()

    async def remove_quota(self, asker: Asker, kind: Kind, name: str) -> None:
        self._may(asker, kind, name)
        if self._book.row(kind, name) is None:
            raise NotThere(f"quota of {kind.value} {name[:64]}", f"{name[:64]} 的配额")

        def op(tx: Tx) -> None:
            rule_store.delete_rule(tx, kind, name)
            note(tx, asker, "quota.removed", f"{kind.value} {name}")

        await self._rooms.store.write(op)
        self._book.remove((kind, name))
        self._changed()

    async def _exists(self, kind: Kind, name: str) -> None:
        if name == EVERYBODY:
            return
        get: Callable[[Tx, str], object] = users.get_user if kind is Kind.USER else groups.get_group
        if await self._rooms.store.read(lambda tx: get(tx, name)) is None:
            what = ("user", "用户") if kind is Kind.USER else ("group", "组")
            raise NotThere(f"{what[0]} {name[:64]}", f"{what[1]} {name[:64]}")

    # -- nodes --------------------------------------------------------------------------------

    async def drain(self, asker: Asker, name: str, out: bool) -> None:
        """Takes a node out (what runs there goes on), or back in."""
        if not rules.schedules(asker.who):
            raise _only_admins()
        if name not in [node.name for node in self._rooms.ledger.nodes()]:
            raise NotThere(f"node {name[:64]}", f"节点 {name[:64]}")
        row = RuleRow(Kind.DRAINED, name, {}, now())

        def op(tx: Tx) -> None:
            if out:
                rule_store.put_rule(tx, row)
            else:
                rule_store.delete_rule(tx, Kind.DRAINED, name)
            note(tx, asker, "node.drained" if out else "node.resumed", name)

        await self._rooms.store.write(op)
        if out:
            self._book.put(row)
        else:
            self._book.remove((Kind.DRAINED, name))
        self._changed()

    def _may(self, asker: Asker, kind: Kind, name: str) -> None:
        if not rules.schedules(asker.who):
            raise _only_admins()
        if self._book.in_file(kind, name):
            what = name if kind is Kind.QUEUE else f"{kind.value} {name}"
            raise Clash(
                "declared_elsewhere",
                f"{what} is declared in danlu.toml: change it there, then restart",
                f"{what} 在 danlu.toml 中声明：请在那里修改，然后重启",
            )


def _without_none(content: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if value is not None}


def _no_queue(name: str) -> NotThere:
    return NotThere(f"queue {name[:64]} made by command", f"由命令建立的队列 {name[:64]}")


def _only_admins() -> NotAllowed:
    return NotAllowed("Only an admin may do this", "只有管理员可以执行")
