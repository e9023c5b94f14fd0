"""Changes to queues, quotas and nodes by an admin while the server runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import Clash, NotAllowed, NotThere, Unfit, Unknown
from danlu.access.principal import Asker
from danlu.control.context import Context, now
from danlu.control.live_job import LiveJob
from danlu.control.rulebook import EVERYBODY, Kind, quota_of
from danlu.sched.api import DEFAULT_QUEUE, PREEMPT
from danlu.sched.decide import ORDER_NAMES
from danlu.sched.place.node_order import ORDERS as PLACE_NAMES
from danlu.sched.quota_checks import contradiction
from danlu.spec.job import Kind as JobKind
from danlu.spec.text import Text, counted
from danlu.store import events, groups, users
from danlu.store import rules as rule_store
from danlu.store.rows import EventRow, RuleRow
from danlu.store.tx import Tx

_KNOWN = {"order": ORDER_NAMES, "place": PLACE_NAMES, "preempt": PREEMPT}


class Scheduling:
    def __init__(self, context: Context, changed: Callable[[], None]) -> None:
        self._context = context
        self._book = context.rulebook
        self._changed = changed

    # -- queues -------------------------------------------------------------------------------

    async def set_queue(self, asker: Asker, name: str, changes: Mapping[str, Any]) -> None:
        """Creates it, or changes the given settings."""
        self._may(asker, Kind.QUEUE, name)
        before = self._book.row(Kind.QUEUE, name)
        content = {**(before.content if before else {}), **changes}
        self._check_queue(changes, content)
        row = RuleRow(Kind.QUEUE, name, _without_none(content), now())

        def op(tx: Tx) -> None:
            rule_store.put_rule(tx, row)
            rule_store.delete_rule(tx, Kind.MERGED, name)
            note(tx, asker, "queue.set", name, **changes)

        await self._context.store.write(op)
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
                Text(
                    f"Queue {name} has {counted(len(jobs), 'job')}; merge it into another one "
                    f"first (danlu queue merge {name} default)",
                    f"队列 {name} 中有 {len(jobs)} 个任务；请先并入其他队列"
                    f"（danlu queue merge {name} default）",
                ),
            )

        def op(tx: Tx) -> None:
            rule_store.delete_rule(tx, kind, name)
            note(tx, asker, "queue.removed", name)

        await self._context.store.write(op)
        self._book.remove((kind, name))
        self._changed()

    async def merge(self, asker: Asker, name: str, into: str) -> int:
        """Moves its jobs and nodes to the other queue and keeps its name as an alias.

        Returns the number of jobs.
        """
        self._may(asker, Kind.QUEUE, name)
        row = self._book.row(Kind.QUEUE, name)
        if row is None:
            raise _no_queue(name)
        if into not in self._book.queues:
            raise Unknown("into", Text("queue", "队列"), into, list(self._book.queues))
        if into == name or name == DEFAULT_QUEUE:
            raise Unfit(
                "into",
                Text(f"queue {name} cannot be merged into {into}", f"队列 {name} 不能并入 {into}"),
            )
        at = now()
        gone = RuleRow(Kind.MERGED, name, {"into": into}, at)
        queues = self._book.queues
        alike = self._engine(queues[into].engine) == self._engine(row.content.get("engine"))
        wider = self._with_nodes(into, row.content.get("nodes"), at) if alike else None
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

        await self._context.store.write(op)
        self._book.remove((Kind.QUEUE, name))
        self._book.put(*filter(None, (gone, wider)))
        # Include jobs that arrived during the write.
        for job in self._jobs_of(name):
            job.row.queue = into
            self._context.queue.refresh(job)
            self._context.notifier.post(job.id)
        self._changed()
        return len(jobs)

    def _with_nodes(self, into: str, nodes: list[str] | None, at: float) -> RuleRow | None:
        """The target queue with the nodes of this one added, if it has a node list of its own."""
        own = self._book.row(Kind.QUEUE, into)
        if own is None or self._book.in_file(Kind.QUEUE, into) or "nodes" not in own.content:
            return None
        content = {key: value for key, value in own.content.items() if key != "nodes"}
        if nodes is not None:
            content["nodes"] = sorted({*own.content["nodes"], *nodes})
        return RuleRow(Kind.QUEUE, into, content, at)

    def _jobs_of(self, queue: str) -> list[LiveJob]:
        return [job for job in self._context.jobs.values() if job.row.queue == queue]

    def _engine(self, name: str | None) -> str:
        return name or self._context.engines.first

    def _check_queue(self, changes: Mapping[str, Any], content: Mapping[str, Any]) -> None:
        """`content`: the whole queue as it is to become."""
        for key, known in _KNOWN.items():
            value = changes.get(key)
            if value is not None and value not in known:
                raise Unknown(key, Text("order", "顺序"), value, list(known))
        for kind in changes.get("kinds") or ():
            if kind not in tuple(JobKind):
                raise Unknown("kinds", Text("kind of job", "任务类型"), kind, list(JobKind))
        if not {"engine", "nodes"} & set(changes):
            return
        context, name = self._context, self._engine(content.get("engine"))
        if name not in context.engines:
            names = [each.name for each in context.engines]
            raise Unknown("engine", Text("configured engine", "引擎"), name, names)
        here = sorted(context.ledger.nodes_of(name))
        for node in content.get("nodes") or ():
            if node not in here:
                what = Text("node", "节点")
                if len(context.engines) > 1:
                    what = Text(f"node of engine {name}", f"引擎 {name} 的节点")
                raise Unknown("nodes", what, node, here)

    # -- quotas -------------------------------------------------------------------------------

    async def set_quota(
        self, asker: Asker, kind: Kind, name: str, changes: Mapping[str, Any]
    ) -> None:
        self._may(asker, kind, name)
        if changes.get("guaranteed") and (kind is Kind.USER or name == EVERYBODY):
            raise Unfit(
                "guaranteed",
                Text(
                    "a guaranteed share belongs to one group, not to a user or to all groups",
                    "保障份额属于某一个组，不属于个人或所有组",
                ),
            )
        await self._exists(kind, name)
        before = self._book.row(kind, name)
        content = {**(before.content if before else {}), **changes}
        row = RuleRow(kind, name, _without_none(content), now())
        wrong = contradiction(quota_of(row.content))
        if wrong is not None:
            raise Unfit("guaranteed", wrong)

        def op(tx: Tx) -> None:
            rule_store.put_rule(tx, row)
            note(tx, asker, "quota.set", f"{kind.value} {name}", **changes)

        await self._context.store.write(op)
        self._book.put(row)
        self._changed()

    async def remove_quota(self, asker: Asker, kind: Kind, name: str) -> None:
        self._may(asker, kind, name)
        if self._book.row(kind, name) is None:
            raise NotThere(Text(f"quota of {kind.value} {name[:64]}", f"{name[:64]} 的配额"))

        def op(tx: Tx) -> None:
            rule_store.delete_rule(tx, kind, name)
            note(tx, asker, "quota.removed", f"{kind.value} {name}")

        await self._context.store.write(op)
        self._book.remove((kind, name))
        self._changed()

    async def _exists(self, kind: Kind, name: str) -> None:
        if name == EVERYBODY:
            return
        get: Callable[[Tx, str], object] = users.get_user if kind is Kind.USER else groups.get_group
        if await self._context.store.read(lambda tx: get(tx, name)) is None:
            what = Text("user ", "用户 ") if kind is Kind.USER else Text("group ", "组 ")
            raise NotThere(what + Text(name[:64], name[:64]))

    # -- nodes --------------------------------------------------------------------------------

    async def drain(self, asker: Asker, name: str, out: bool, reason: str = "") -> None:
        """Drains or resumes a node; running jobs continue."""
        if not rules.schedules(asker.who):
            raise _only_admins()
        if name not in [node.name for node in self._context.ledger.nodes()]:
            raise NotThere(Text(f"node {name[:64]}", f"节点 {name[:64]}"))
        reason = reason or self._book.drained.get(name, "")  # said before
        why = {"reason": reason} if reason and out else {}
        row = RuleRow(Kind.DRAINED, name, why, now())

        def op(tx: Tx) -> None:
            if out:
                rule_store.put_rule(tx, row)
            else:
                rule_store.delete_rule(tx, Kind.DRAINED, name)
            note(tx, asker, "node.drained" if out else "node.resumed", name, **why)

        await self._context.store.write(op)
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
                Text(
                    f"{what} is declared in danlu.toml: change it there, then restart",
                    f"{what} 在 danlu.toml 中声明：请在那里修改，然后重启",
                ),
            )


def _without_none(content: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if value is not None}


def _no_queue(name: str) -> NotThere:
    return NotThere(Text(f"queue {name[:64]} made by command", f"由命令建立的队列 {name[:64]}"))


def _only_admins() -> NotAllowed:
    return NotAllowed(Text("Only an admin may do this", "只有管理员可以执行"))
