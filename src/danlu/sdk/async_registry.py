"""The requests of `registry`, awaited. Made by `scripts/docs`: change that instead."""

from __future__ import annotations

from danlu.sdk.calls import as_json
from danlu.sdk.fastjson import dumps
from danlu.sdk.registry import registry_path
from danlu.sdk.wire import target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.sdk import model
    from danlu.sdk.async_calls import AsyncCalls


class AsyncRegistry:
    """Images are pushed and pulled with Docker, Podman or skopeo at `status()["address"]`."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def status(self) -> model.RegistryStatus:
        """Where it is, and how much you and your groups use."""
        answer: model.RegistryStatus = await self._do("GET", "")
        return answer

    async def repositories(self, *, everybody: bool = False) -> list[model.RegistryRepository]:
        """Yours, those of your groups, ready and shared ones; `everybody`: all, for admins."""
        found = await self._do("GET", target("/repositories", {"all": True if everybody else None}))
        answer: list[model.RegistryRepository] = found["repositories"]
        return answer

    async def images(self, repository: str) -> list[model.RegistryImage]:
        found = await self._do("GET", target("/images", {"repository": repository}))
        answer: list[model.RegistryImage] = found["images"]
        return answer

    async def delete(self, repository: str, reference: str = "") -> int:
        """A tag with the image it names, an image by digest, or, without either, all of it."""
        path = target("/images", {"repository": repository, "reference": reference or None})
        answer: int = (await self._do("DELETE", path, None, False))["deleted"]
        return answer

    async def collect(self, grace: float | None = None) -> model.CollectedGarbage:
        """Frees what no image names any more; for admins. `grace`: seconds."""
        answer: model.CollectedGarbage = await self._do("POST", "/collect", {"grace": grace})
        return answer

    async def _do(
        self, method: str, path: str, values: dict[str, Any] | None = None, again: bool = True
    ) -> Any:
        """`again`: whether the request may be repeated after a lost answer."""
        body = None if values is None else dumps(values).encode()
        return as_json(await self._calls._ask(method, registry_path(path), body, repeatable=again))
