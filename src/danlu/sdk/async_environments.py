"""The requests of `environments`, awaited. Made by `scripts/docs`: change that instead."""

from __future__ import annotations

from danlu.sdk.calls import BASE, as_json
from danlu.sdk.environments import environment_path
from danlu.sdk.fastjson import dumps
from danlu.sdk.wire import segment, target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.sdk import model
    from danlu.sdk.async_calls import AsyncCalls


class AsyncEnvironments:
    """Requests kept under a name. Another person's is `owner/name`."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def all(self, *, everybody: bool = False) -> list[model.EnvironmentView]:
        """Yours and those shared with you; `everybody`: all that you may see."""
        found = await self._do("GET", target("/environments", {"all": True if everybody else None}))
        answer: list[model.EnvironmentView] = found["environments"]
        return answer

    async def show(self, name: str) -> model.EnvironmentView:
        answer: model.EnvironmentView = await self._do("GET", environment_path(name))
        return answer

    async def create(
        self, name: str, *, start: bool = True, dry_run: bool = False, **keys: Any
    ) -> model.CreatedEnvironment:
        """`keys`: of a job file, such as image, gpus, time_limit. With an `id`
        (`danlu.sdk.uuid7()`) the request can be repeated after a lost answer.
        """
        path = target("/environments", {"dry_run": True if dry_run else None})
        order = {"name": name, "start": start, **keys}
        answer: model.CreatedEnvironment = await self._do("POST", path, order, "id" in keys)
        return answer

    async def change(
        self, name: str, *, restart: bool = False, **keys: Any
    ) -> model.ChangedEnvironment:
        """`keys`: as for `create`; None resets one to its default. `restart`: also if it has to be
        stopped and started again for it.
        """
        order = {"restart": restart, **keys}
        answer: model.ChangedEnvironment = await self._do("PATCH", environment_path(name), order)
        return answer

    async def delete(self, name: str) -> model.EnvironmentView:
        """Files in its owner's folders stay."""
        answer: model.EnvironmentView = await self._do(
            "DELETE", environment_path(name), None, False
        )
        return answer

    async def start(self, name: str) -> model.EnvironmentView:
        """Has no effect on one that is running or waiting."""
        answer: model.EnvironmentView = await self._do(
            "POST", f"{environment_path(name)}/start", {}
        )
        return answer

    async def stop(self, name: str) -> model.EnvironmentView:
        answer: model.EnvironmentView = await self._do("POST", f"{environment_path(name)}/stop", {})
        return answer

    async def extend(self, name: str, by: float | str | None = None) -> model.EnvironmentView:
        """Moves the end of a running one; without `by`: its usual time, from now on."""
        path = f"{environment_path(name)}/extend"
        answer: model.EnvironmentView = await self._do("POST", path, {"by": by}, False)
        return answer

    async def share(self, name: str, user: str) -> model.EnvironmentView:
        """They may enter it as you do, but not stop, change or delete it."""
        path = f"{environment_path(name)}/shares/{segment(user)}"
        answer: model.EnvironmentView = await self._do("PUT", path, {})
        return answer

    async def unshare(self, name: str, user: str) -> model.EnvironmentView:
        """Takes effect at once, also for somebody who is inside. Anyone may leave."""
        path = f"{environment_path(name)}/shares/{segment(user)}"
        answer: model.EnvironmentView = await self._do("DELETE", path, None, False)
        return answer

    async def _do(
        self, method: str, path: str, values: dict[str, Any] | None = None, again: bool = True
    ) -> Any:
        """`again`: whether the request may be repeated after a lost answer."""
        body = None if values is None else dumps(values).encode()
        return as_json(await self._calls._ask(method, BASE + path, body, repeatable=again))
