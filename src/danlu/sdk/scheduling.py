"""Queues, quotas, drained nodes and scheduler snapshots: `client.scheduling`.

`async_scheduling` is generated from this file by `scripts/docs`.
"""

from __future__ import annotations

from danlu.sdk.calls import BASE, as_json
from danlu.sdk.fastjson import dumps
from danlu.sdk.wire import segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.sdk import model
    from danlu.sdk.calls import Calls


class Scheduling:
    """Everyone may look; only admins change."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def queues(self) -> list[model.Queue]:
        answer: list[model.Queue] = self._do("GET", "/queues")["queues"]
        return answer

    def set_queue(self, name: str, **values: Any) -> model.Queue:
        """Creates or changes a queue: engine, nodes, kinds, order, place, backfill, max_wait,
        half_life, lend, reclaim, consolidate, preempt, priority, weight. None resets a rule to the
        default.
        """
        answer: model.Queue = self._do("PUT", f"/queues/{segment(name)}", values)
        return answer

    def remove_queue(self, name: str) -> list[model.Queue]:
        """Only without jobs; returns the remaining queues."""
        answer: list[model.Queue] = self._do("DELETE", f"/queues/{segment(name)}")["queues"]
        return answer

    def merge_queue(self, name: str, into: str) -> model.Merged:
        """Moves its jobs and nodes to the other queue; its name keeps working."""
        answer: model.Merged = self._do("POST", f"/queues/{segment(name)}/merge", {"into": into})
        return answer

    def quotas(self) -> list[model.QuotaView]:
        """Your quotas and those of your groups; an admin sees all."""
        answer: list[model.QuotaView] = self._do("GET", "/quotas")["quotas"]
        return answer

    def set_quota(self, of: str, name: str, **values: Any) -> list[model.QuotaView]:
        """`of`: user or group; `name`: * for everyone without their own. `values`: gpus, models,
        cpus, memory, guaranteed; None removes a limit.
        """
        answer: list[model.QuotaView] = self._do("PUT", quota_path(of, name), values)["quotas"]
        return answer

    def remove_quota(self, of: str, name: str) -> list[model.QuotaView]:
        answer: list[model.QuotaView] = self._do("DELETE", quota_path(of, name))["quotas"]
        return answer

    def drain(self, node: str, *, out: bool = True, reason: str = "") -> model.Node:
        """Drains a node (running jobs continue), or resumes it. All users see the reason."""
        act, body = ("drain", {"reason": reason}) if out else ("resume", {})
        answer: model.Node = self._do("POST", f"/nodes/{segment(node)}/{act}", body)["nodes"][0]
        return answer

    def snapshot(self) -> model.SnapshotFile:
        """The scheduler's input, for `danlu replay`; for admins."""
        answer: model.SnapshotFile = self._do("GET", "/snapshot")
        return answer

    # Internals

    def _do(self, method: str, path: str, values: dict[str, Any] | None = None) -> Any:
        body = None if values is None else dumps(values).encode()
        # A merge that is repeated finds nothing the second time.
        again = not path.endswith("/merge") and method != "DELETE"
        return as_json(self._calls._ask(method, BASE + path, body, repeatable=again))


def quota_path(of: str, name: str) -> str:
    return f"/quotas/{segment(of)}/{segment(name)}"
