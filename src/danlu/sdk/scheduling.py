"""Queues, quotas, nodes taken out, and what the scheduler decides on: `client.scheduling`.

`async_scheduling` is made from this file by `scripts/docs`.
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
    """Everybody may look; an admin changes."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def queues(self) -> list[model.Queue]:
        answer: list[model.Queue] = self._do("GET", "/queues")["queues"]
        return answer

    def set_queue(self, name: str, **values: Any) -> model.Queue:
        """Makes it, or changes what is named: nodes, order, place, backfill, max_wait, half_life,
        lend, reclaim, consolidate. None: as for all queues."""
        answer: model.Queue = self._do("PUT", f"/queues/{segment(name)}", values)
        return answer

    def remove_queue(self, name: str) -> list[model.Queue]:
        """Only one without jobs; gives back those that are left."""
        answer: list[model.Queue] = self._do("DELETE", f"/queues/{segment(name)}")["queues"]
        return answer

    def merge_queue(self, name: str, into: str) -> model.Merged:
        """Its jobs and nodes become the other's; its name goes on working."""
        answer: model.Merged = self._do("POST", f"/queues/{segment(name)}/merge", {"into": into})
        return answer

    def quotas(self) -> list[model.QuotaView]:
        """One's own and those of one's groups; an admin sees all."""
        answer: list[model.QuotaView] = self._do("GET", "/quotas")["quotas"]
        return answer

    def set_quota(self, of: str, name: str, **values: Any) -> list[model.QuotaView]:
        """`of`: user or group; `name`: * for everybody without one. `values`: gpus, models, cpus,
        memory, guaranteed; None takes a limit away."""
        answer: list[model.QuotaView] = self._do("PUT", quota_path(of, name), values)["quotas"]
        return answer

    def remove_quota(self, of: str, name: str) -> list[model.QuotaView]:
        answer: list[model.QuotaView] = self._do("DELETE", quota_path(of, name))["quotas"]
        return answer

    def drain(self, node: str, *, out: bool = True) -> model.Node:
        """Takes a node out (what runs there goes on), or back in."""
        act = "drain" if out else "resume"
        answer: model.Node = self._do("POST", f"/nodes/{segment(node)}/{act}", {})["nodes"][0]
        return answer

    def snapshot(self) -> model.SnapshotFile:
        """All that the scheduler decides on, for `danlu replay`; for admins."""
        answer: model.SnapshotFile = self._do("GET", "/snapshot")
        return answer

    # Beneath

    def _do(self, method: str, path: str, values: dict[str, Any] | None = None) -> Any:
        body = None if values is None else dumps(values).encode()
        # A merge that is asked for twice finds nothing the second time.
        again = not path.endswith("/merge") and method != "DELETE"
        return as_json(self._calls._ask(method, BASE + path, body, repeatable=again))


def quota_path(of: str, name: str) -> str:
    return f"/quotas/{segment(of)}/{segment(name)}"
