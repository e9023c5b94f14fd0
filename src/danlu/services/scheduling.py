"""Queues and quotas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from danlu.access import rules
from danlu.access.errors import NotThere, Unfit
from danlu.access.principal import Asker, Principal
from danlu.control.controller import Controller
from danlu.control.rulebook import EVERYBODY, Kind
from danlu.control.scheduling import Scheduling
from danlu.sched.api import QueuePolicy, Quota
from danlu.sched.quota import Held
from danlu.sched.quota_checks import warnings
from danlu.spec.errors import Wrong
from danlu.spec.text import Text
from danlu.spec.units import parse_duration, parse_size

Values = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class QueueState:
    name: str
    rules: QueuePolicy
    engine: str
    declared: str  # built-in, file or command
    merged: tuple[str, ...]  # queues merged into it
    waiting: int
    running: int


@dataclass(frozen=True, slots=True)
class QuotaState:
    kind: Kind
    name: str
    quota: Quota
    in_file: bool
    held: Held
    warnings: tuple[Text, ...]  # what the present cluster cannot give


class QueuesAndQuotas:
    def __init__(self, controller: Controller) -> None:
        self._planner = controller.planner
        self._context = controller.context
        self._scheduling = Scheduling(controller.context, controller.rules_changed)

    # -- queues -------------------------------------------------------------------------------

    def queues(self, who: Principal) -> list[QueueState]:
        context = self._context
        book = context.rulebook
        waiting = Counter(job.row.queue for job in context.jobs.values() if job.waiting is not None)
        running = Counter(job.row.queue for job in context.attempts.values())
        return [
            QueueState(
                name,
                queue,
                queue.engine or context.engines.first,
                book.declared(name),
                tuple(sorted(old for old, new in book.merged.items() if new == name)),
                waiting[name],
                running[name],
            )
            for name, queue in book.queues.items()
        ]

    async def set_queue(self, asks: Asker, name: str, changes: Values) -> QueueState:
        """Creates a queue or changes the given settings, which apply to waiting jobs too."""
        for key in ("max_wait", "half_life"):
            if changes.get(key) is not None:
                changes = {**changes, key: _parsed(key, changes[key], parse_duration)}
        await self._scheduling.set_queue(asks, name, changes)
        return self._queue(asks.who, name)

    async def remove_queue(self, asks: Asker, name: str) -> list[QueueState]:
        """Only without jobs. Returns the remaining queues."""
        await self._scheduling.remove_queue(asks, name)
        return self.queues(asks.who)

    async def merge(self, asks: Asker, name: str, into: str) -> tuple[int, QueueState]:
        """Moves its jobs and nodes to the other queue; returns the number of jobs."""
        moved = await self._scheduling.merge(asks, name, into)
        return moved, self._queue(asks.who, into)

    def _queue(self, who: Principal, name: str) -> QueueState:
        found = next((queue for queue in self.queues(who) if queue.name == name), None)
        if found is None:
            raise NotThere(Text(f"queue {name[:64]}", f"队列 {name[:64]}"))
        return found

    # -- quotas -------------------------------------------------------------------------------

    def quotas(self, who: Principal) -> list[QuotaState]:
        """The user's quotas and those of their groups, with usage; admins see all."""
        quotas = self._context.rulebook.quotas
        users, groups = self._planner.held()
        users_of = {**quotas.users, **({EVERYBODY: quotas.user} if quotas.user else {})}
        groups_of = {**quotas.groups, **({EVERYBODY: quotas.group} if quotas.group else {})}
        if quotas.group is not None:
            # For members, the common quota is shown with what their own group uses of it.
            groups_of |= {name: quotas.group for name in who.groups if name not in groups_of}
        found = [
            self._quota(Kind.USER, name, quota, users.get(name))
            for name, quota in sorted(users_of.items())
            if name == EVERYBODY or rules.sees_quota(who, name, None)
        ]
        return found + [
            self._quota(Kind.GROUP, name, quota, groups.get(name))
            for name, quota in sorted(groups_of.items())
            if name == EVERYBODY or rules.sees_quota(who, None, name)
        ]

    async def set_quota(
        self, asks: Asker, kind: Kind, name: str, changes: Values
    ) -> list[QuotaState]:
        """Applies to new starts; running jobs above the quota continue."""
        if changes.get("memory") is not None:
            memory = _parsed("memory", changes["memory"], parse_size)
            changes = {**changes, "memory": memory}
        await self._scheduling.set_quota(asks, kind, name, changes)
        return self.quotas(asks.who)

    async def remove_quota(self, asks: Asker, kind: Kind, name: str) -> list[QuotaState]:
        await self._scheduling.remove_quota(asks, kind, name)
        return self.quotas(asks.who)

    def _quota(self, kind: Kind, name: str, quota: Quota, held: Held | None) -> QuotaState:
        in_file = self._context.rulebook.in_file(kind, name)
        told = warnings(quota, self._context.rulebook.quotas, self._context.ledger.states())
        return QuotaState(kind, name, quota, in_file, held or Held(), tuple(told))


def _parsed(key: str, value: object, parse: Callable[[object], T]) -> T:
    """Parses a size or duration."""
    try:
        return parse(value)
    except Wrong as error:
        found = error.findings[0]
        shown = f"{str(value)[:80]!r} "
        raise Unfit(key, Text(shown, shown) + found.message) from None
