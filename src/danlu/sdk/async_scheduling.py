"""The requests of `scheduling`, awaited. Made by `scripts/docs`: change `scheduling` instead."""

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
    """Everybody may look; an admin changes."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def queues(self) -> list[model.Queue]:
        answer: list[model.Queue] = (await self._do("GET", "/queues"))["queues"]
        return answer

    async def set_queue(self, name: str, **values: Any) -> model.Queue:
        """Makes it, or changes what is named: nodes, order, place, backfill, max_wait, half_life,
        lend, reclaim, consolidate. None: as for all queues."""
        answer: model.Queue = await self._do("PUT", f"/queues/{segment(name)}", values)
        return answer

    async def remove_queue(self, name: str) -> list[model.Queue]:
        """Only one without jobs; gives back those that are left."""
        answer: list[model.Queue] = (await self._do("DELETE", f"/queues/{segment(name)}"))["queues"]
        return answer

    async def merge_queue(self, name: str, into: str) -> model.Merged:
        """Its jobs and nodes become the other's; its name goes on working."""
        answer: model.Merged = await self._do(
            "POST", f"/queues/{segment(name)}/merge", {"into": into}
        )
        return answer

    async def quotas(self) -> list[model.QuotaView]:
        """One's own and those of one's groups; an admin sees all."""
        answer: list[model.QuotaView] = (await self._do("GET", "/quotas"))["quotas"]
        return answer

    async def set_quota(self, of: str, name: str, **values: Any) -> list[model.QuotaView]:
        """`of`: user or group; `name`: * for everybody without one. `values`: gpus, models, cpus,
        memory, guaranteed; None takes a limit away."""
        answer: list[model.QuotaView] = (await self._do("PUT", quota_path(of, name), values))[
            "quotas"
        ]
        return answer

    async def remove_quota(self, of: str, name: str) -> list[model.QuotaView]:
        answer: list[model.QuotaView] = (await self._do("DELETE", quota_path(of, name)))["quotas"]
        return answer

    async def drain(self, node: str, *, out: bool = True) -> model.Node:
        """Takes a node out (what runs there goes on), or back in."""
        act = "drain" if out else "resume"
        answer: model.Node = (await self._do("POST", f"/nodes/{segment(node)}/{act}", {}))["nodes"][
            0
        ]
        return answer

    async def snapshot(self) -> model.SnapshotFile:
        """All that the scheduler decides on, for `danlu replay`; for admins."""
        answer: model.SnapshotFile = await self._do("GET", "/snapshot")
        return answer

    async def _do(self, method: str, path: str, values: dict[str, Any] | None = None) -> Any:
        body = None if values is None else dumps(values).encode()
        again = not path.endswith("/merge") and method != "DELETE"
        return as_json(await self._calls._ask(method, BASE + path, body, repeatable=again))
