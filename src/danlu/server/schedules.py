"""The parts of danlu.toml about scheduling: orders, queues, quotas, kinds of work.

[scheduler]
order = "fifo"
place = "learned"

[queues.vision]
nodes = ["n1", "n2"]
place = "spread"

[quotas.users.alice]
gpus = 8
models = { A100 = 2 }

[kinds.environment]
models = ["T4"]
"""

from __future__ import annotations

from typing import Any

from danlu.sched.api import PREEMPT, WHOLE, Policy, QueuePolicy, Quota, Quotas
from danlu.sched.decide import ORDER_NAMES
from danlu.sched.place.node_order import ORDERS as PLACE_NAMES
from danlu.sched.quota_checks import contradiction
from danlu.server.values import Values
from danlu.spec.job import Kind
from danlu.spec.text import Text
from danlu.spec.units import parse_duration, parse_size

_SCHEDULER = ("order", "place", "backfill")
_TIMES = ("max_wait", "half_life")
_FLAGS = ("backfill", "lend", "reclaim", "consolidate")
_QUEUE = (
    "engine",
    "order",
    "place",
    "nodes",
    "kinds",
    *_FLAGS,
    *_TIMES,
    "preempt",
    "priority",
    "weight",
    "settings",
)
_SETTINGS = ("patience", "worth", "moves")
_QUOTA = ("gpus", "models", "cpus", "memory")
_GROUP_QUOTA = (*_QUOTA, "guaranteed")  # only groups can have a guaranteed share
KEYS = ("scheduler", "queues", "quotas", "kinds")


class Schedules(Values):
    def policy(self, values: dict[str, Any]) -> Policy:
        table = self._table(values, "scheduler", _SCHEDULER)
        order = self._one_of("scheduler.order", table.get("order", "fifo"), ORDER_NAMES)
        place = self._one_of("scheduler.place", table.get("place", Policy().place), PLACE_NAMES)
        backfill = self._flag("scheduler.backfill", table.get("backfill", True))
        usual = QueuePolicy(order, place, backfill=backfill)
        queues = {
            name: self._queue(f"queues.{name}", queue, usual)
            for name, queue in self._tables("queues", values.get("queues", {})).items()
        }
        kinds = {
            self._one_of("kinds", name, tuple(Kind)): self._models(f"kinds.{name}", kind)
            for name, kind in self._tables("kinds", values.get("kinds", {})).items()
        }
        return Policy(order, place, backfill, queues, kinds)

    def quotas(self, values: dict[str, Any]) -> Quotas:
        table = self._table(values, "quotas", ("users", "groups", "user", "group"))
        return Quotas(
            self._each("quotas.users", table.get("users", {})),
            self._each("quotas.groups", table.get("groups", {})),
            self._quota("quotas.user", table["user"]) if "user" in table else None,
            self._quota("quotas.group", table["group"]) if "group" in table else None,
        )

    def _each(self, key: str, tables: Any) -> dict[str, Quota]:
        found = self._tables(key, tables)
        known = _GROUP_QUOTA if key == "quotas.groups" else _QUOTA
        return {name: self._quota(f"{key}.{name}", quota, known) for name, quota in found.items()}

    def _queue(self, key: str, table: dict[str, Any], usual: QueuePolicy) -> QueuePolicy:
        self._known(key, table, _QUEUE)
        changes: dict[str, Any] = {
            "order": self._one_of(f"{key}.order", table.get("order", usual.order), ORDER_NAMES),
            "place": self._one_of(f"{key}.place", table.get("place", usual.place), PLACE_NAMES),
            "backfill": usual.backfill,
        }
        if "engine" in table:
            changes["engine"] = self._text(f"{key}.engine", table["engine"])
        if "nodes" in table:
            changes["nodes"] = frozenset(self._texts(f"{key}.nodes", table["nodes"]))
        if "kinds" in table:
            kinds = self._texts(f"{key}.kinds", table["kinds"])
            changes["kinds"] = frozenset(
                self._one_of(f"{key}.kinds", kind, tuple(Kind)) for kind in kinds
            )
        for name in _FLAGS:
            if name in table:
                changes[name] = self._flag(f"{key}.{name}", table[name])
        for name in _TIMES:
            if name in table:
                changes[name] = self._parsed(f"{key}.{name}", table[name], parse_duration)
        if "preempt" in table:
            changes["preempt"] = self._one_of(f"{key}.preempt", table["preempt"], PREEMPT)
        if "priority" in table:
            changes["priority"] = self._rank(f"{key}.priority", table["priority"])
        if "weight" in table:
            changes["weight"] = self._number(f"{key}.weight", table["weight"])
        settings = table.get("settings", {})
        if not isinstance(settings, dict):
            raise self._wrong(f"{key}.settings", settings, Text("must be a table", "请写一个表"))
        self._known(f"{key}.settings", settings, _SETTINGS)
        changes["settings"] = {
            name: self._setting(f"{key}.settings.{name}", name, value)
            for name, value in settings.items()
        }
        return QueuePolicy(**changes)

    def _rank(self, key: str, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not -1000 <= value <= 1000:
            raise self._wrong(
                key, value, Text("write a whole number, -1000 to 1000", "请写 -1000 到 1000 的整数")
            )
        return value

    def _setting(self, key: str, name: str, value: Any) -> float:
        """Zero patience is valid: short work first, however long others wait."""
        if name == "patience" and value == 0 and not isinstance(value, bool):
            return 0.0
        return self._number(key, value)

    def _quota(self, key: str, table: Any, known: tuple[str, ...] = _QUOTA) -> Quota:
        if not isinstance(table, dict):
            raise self._wrong(key, table, Text(f"must be a [{key}] table", f"请写 [{key}] 表"))
        self._known(key, table, known)
        models = table.get("models", {})
        if not isinstance(models, dict):
            raise self._wrong(
                f"{key}.models",
                models,
                Text("must be a table such as { A100 = 2 }", "请写 { A100 = 2 }"),
            )
        quota = Quota(
            self._gpus(f"{key}.gpus", table["gpus"]) if "gpus" in table else None,
            {name: self._gpus(f"{key}.models.{name}", n) for name, n in models.items()},
            self._limit(f"{key}.cpus", table["cpus"]) if "cpus" in table else None,
            self._parsed(f"{key}.memory", table["memory"], parse_size)
            if "memory" in table
            else None,
            self._gpus(f"{key}.guaranteed", table.get("guaranteed", 0)),
        )
        wrong = contradiction(quota)
        if wrong is not None:
            raise self._wrong(f"{key}.guaranteed", table["guaranteed"], wrong)
        return quota

    def _gpus(self, key: str, value: Any) -> int:
        return round(self._limit(key, value) * WHOLE)

    def _limit(self, key: str, value: Any) -> float:
        """Zero is a valid quota: nothing is allowed."""
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if not good or not 0 <= value < 1e18:
            raise self._wrong(
                key,
                value,
                Text(
                    "must be a number, 0 or more (0 allows none)",
                    "请写不小于 0 的数（0 表示不允许使用）",
                ),
            )
        return float(value)

    def _models(self, key: str, table: dict[str, Any]) -> frozenset[str]:
        self._known(key, table, ("models",))
        return frozenset(self._texts(f"{key}.models", table.get("models", [])))

    def _tables(self, key: str, tables: Any) -> dict[str, dict[str, Any]]:
        good = isinstance(tables, dict) and all(isinstance(t, dict) for t in tables.values())
        if not good:
            raise self._wrong(
                key, tables, Text(f"must be [{key}.NAME] tables", f"请写 [{key}.名称]")
            )
        found: dict[str, dict[str, Any]] = tables
        return found

    def _one_of(self, key: str, value: Any, known: tuple[str, ...]) -> str:
        if value not in known:
            listed = ", ".join(f'"{name}"' for name in known)
            raise self._wrong(key, value, Text(f"must be one of {listed}", f"请写 {listed}"))
        return str(value)
