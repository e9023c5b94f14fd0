"""The requests of `scheduling`, awaited. Made by `scripts/docs`: change that instead."""

from __future__ import annotations

from danlu.sdk.calls import BASE, as_json
from danlu.sdk.fastjson import dumps
from danlu.sdk.scheduling import quota_path
from danlu.sdk.wire import segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.sdk import model
    from danlu.sdk.async_calls import AsyncCalls


class AsyncScheduling:
    """Everyone may look; only admins change."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def queues(self) -> list[model.Queue]:
        answer: list[model.Queue] = (await self._do("GET", "/queues"))["queues"]
        return answer

    async def set_queue(self, name: str, **values: Any) -> model.Queue:
        """Creates or changes a queue: engine, nodes, kinds, order, place, backfill, max_wait,
        half_life, lend, reclaim, consolidate, preempt, priority, weight. None resets a rule to the
        default.
        """
        answer: model.Queue = await self._do("PUT", f"/queues/{segment(name)}", values)
        return answer

    async def remove_queue(self, name: str) -> list[model.Queue]:
        """Only without jobs; returns the remaining queues."""
        answer: list[model.Queue] = (await self._do("DELETE", f"/queues/{segment(name)}"))["queues"]
        return answer

    async def merge_queue(self, name: str, into: str) -> model.Merged:
        """Moves its jobs and nodes to the other queue; its name keeps working."""
        answer: model.Merged = await self._do(
            "POST", f"/queues/{segment(name)}/merge", {"into": into}
        )
        return answer

    async def quotas(self) -> list[model.QuotaView]:
        """Your quotas and those of your groups; an admin sees all."""
        answer: list[model.QuotaView] = (await self._do("GET", "/quotas"))["quotas"]
        return answer

    async def set_quota(self, of: str, name: str, **values: Any) -> list[model.QuotaView]:
        """`of`: user or group; `name`: * for everyone without their own. `values`: gpus, models,
        cpus, memory, guaranteed; None removes a limit.
        """
        answer: list[model.QuotaView] = (await self._do("PUT", quota_path(of, name), values))[
            "quotas"
        ]
        return answer

    async def remove_quota(self, of: str, name: str) -> list[model.QuotaView]:
        answer: list[model.QuotaView] = (await self._do("DELETE", quota_path(of, name)))["quotas"]
        return answer

    async def drain(self, node: str, *, out: bool = True, reason: str = "") -> model.Node:
        """Drains a node (running jobs continue), or resumes it. All users see the reason."""
        act, body = ("drain", {"reason": reason}) if out else ("resume", {})
        answer: model.Node = (await self._do("POST", f"/nodes/{segment(node)}/{act}", body))[
            "nodes"
        ][0]
        return answer

    async def snapshot(self) -> model.SnapshotFile:
        """The scheduler's input, for `danlu replay`; for admins."""
        answer: model.SnapshotFile = await self._do("GET", "/snapshot")
        return answer

    async def _do(self, method: str, path: str, values: dict[str, Any] | None = None) -> Any:
        body = None if values is None else dumps(values).encode()
        again = not path.endswith("/merge") and method != "DELETE"
        return as_json(await self._calls._ask(method, BASE + path, body, repeatable=again))
