"""The scheduling rules in force: from danlu.toml and from admin commands.

Rules in danlu.toml take precedence: commands cannot change them, and a rule set by command is
suspended while the file defines one with the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from danlu.sched.api import DEFAULT_QUEUE, WHOLE, Policy, QueuePolicy, Quota, Quotas
from danlu.store.rows import RuleRow

EVERYBODY = "*"
"""Stands for all users or groups without a quota of their own."""


class Kind(StrEnum):
    QUEUE = "queue"
    MERGED = "merged"  # a queue merged into another; its name still works
    USER = "user"  # quotas
    GROUP = "group"
    DRAINED = "drained"


class Rulebook:
    def __init__(self, policy: Policy, quotas: Quotas) -> None:
        self._file = policy
        self._file_quotas = quotas
        self._rows: dict[tuple[str, str], RuleRow] = {}
        self.policy = policy
        self.quotas = quotas

    def take_over(self, rows: Iterable[RuleRow]) -> None:
        self._rows = {(row.kind, row.name): row for row in rows}
        self._compose()

    def put(self, *rows: RuleRow) -> None:
        for row in rows:
            self._rows[row.kind, row.name] = row
        self._compose()

    def remove(self, *keys: tuple[str, str]) -> None:
        for key in keys:
            self._rows.pop(key, None)
        self._compose()

    def row(self, kind: str, name: str) -> RuleRow | None:
        return self._rows.get((kind, name))

    def in_file(self, kind: str, name: str) -> bool:
        if kind in (Kind.QUEUE, Kind.MERGED):
            return name in self._file.queues
        return _file_quota(self._file_quotas, kind, name) is not None

    def real_queue(self, name: str) -> str:
        """The queue that jobs for this name go to."""
        for _ in range(100):
            row = self._rows.get((Kind.MERGED, name))
            if row is None or name in self.policy.queues:
                return name
            name = str(row.content["into"])
        return name

    @property
    def queues(self) -> dict[str, QueuePolicy]:
        found = {DEFAULT_QUEUE: self.policy.queue(DEFAULT_QUEUE), **self.policy.queues}
        return dict(sorted(found.items()))

    def declared(self, queue: str) -> str:
        if self.in_file(Kind.QUEUE, queue):
            return "file"
        return "command" if (Kind.QUEUE, queue) in self._rows else "built-in"

    @property
    def merged(self) -> dict[str, str]:
        """Merged queue -> its target."""
        gone = (name for kind, name in self._rows if kind == Kind.MERGED)
        return {name: self.real_queue(name) for name in gone if name not in self.policy.queues}

    @property
    def drained(self) -> dict[str, str]:
        """Drained nodes and the admin's reasons."""
        return {
            name: str(row.content.get("reason") or "")
            for (kind, name), row in self._rows.items()
            if kind == Kind.DRAINED
        }

    def _of(self, kind: Kind) -> dict[str, Mapping[str, Any]]:
        """Rules set by command that the file does not define."""
        return {
            name: row.content
            for (of, name), row in self._rows.items()
            if of == kind and not self.in_file(kind, name)
        }

    def _compose(self) -> None:
        file, quotas = self._file, self._file_quotas
        usual = QueuePolicy(file.name, file.place, backfill=file.backfill)
        made = {name: _queue(content, usual) for name, content in self._of(Kind.QUEUE).items()}
        self.policy = replace(file, queues={**made, **file.queues}) if made else file
        users = {name: quota_of(content) for name, content in self._of(Kind.USER).items()}
        groups = {name: quota_of(content) for name, content in self._of(Kind.GROUP).items()}
        user, group = users.pop(EVERYBODY, None), groups.pop(EVERYBODY, None)
        self.quotas = Quotas(
            {**users, **quotas.users},
            {**groups, **quotas.groups},
            quotas.user or user,
            quotas.group or group,
        )


def _file_quota(quotas: Quotas, kind: str, name: str) -> Quota | None:
    if kind == Kind.USER:
        return quotas.user if name == EVERYBODY else quotas.users.get(name)
    if kind == Kind.GROUP:
        return quotas.group if name == EVERYBODY else quotas.groups.get(name)
    return None


def _queue(content: Mapping[str, Any], usual: QueuePolicy) -> QueuePolicy:
    changes = {key: value for key, value in content.items() if value is not None}
    for key in ("nodes", "kinds"):
        if key in changes:
            changes[key] = frozenset(changes[key])
    return replace(usual, **changes)


def quota_of(content: Mapping[str, Any]) -> Quota:
    gpus = content.get("gpus")
    return Quota(
        None if gpus is None else round(gpus * WHOLE),
        {model: round(count * WHOLE) for model, count in (content.get("models") or {}).items()},
        content.get("cpus"),
        content.get("memory"),
        round((content.get("guaranteed") or 0) * WHOLE),
    )
