"""The requests of `images`, awaited. Made by `scripts/docs`: change that instead."""

from __future__ import annotations

from danlu.sdk.calls import BASE, as_json
from danlu.sdk.fastjson import dumps
from danlu.sdk.images import _job, image_path
from danlu.sdk.wire import segment, target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.sdk import model
    from danlu.sdk.async_calls import AsyncCalls


class AsyncImages:
    """The catalogue of images, and containers saved as images."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def all(self, which: str = "all") -> list[model.Image]:
        """`which`: all, own, ready, shared or proposed."""
        found = await self._do("GET", target("/images", {"which": which}))
        answer: list[model.Image] = found["images"]
        return answer

    async def show(self, image: str) -> model.ImageDetail:
        """By name or id."""
        answer: model.ImageDetail = await self._do("GET", image_path(image))
        return answer

    async def add(
        self, name: str, description: str = "", *, ready: bool = False
    ) -> model.ImageDetail:
        """To your list, or as an admin to the ready ones."""
        order = {"name": name, "description": description, "ready": ready}
        answer: model.ImageDetail = await self._do("POST", "/images", order, False)
        return answer

    async def describe(self, image: str, description: str) -> model.ImageDetail:
        answer: model.ImageDetail = await self._do(
            "PATCH", image_path(image), {"description": description}
        )
        return answer

    async def remove(self, image: str) -> model.ImageDetail:
        """From the catalogue; the registry and the nodes keep what they have."""
        answer: model.ImageDetail = await self._do("DELETE", image_path(image), None, False)
        return answer

    async def share(self, image: str, kind: str, name: str = "") -> model.ImageDetail:
        """`kind`: user, group or everybody; `name`: its name or id."""
        return await self._act(image, "share", {"kind": kind, "name": name})

    async def unshare(self, image: str, kind: str, name: str = "") -> model.ImageDetail:
        return await self._act(image, "unshare", {"kind": kind, "name": name}, False)

    async def propose(self, image: str, note: str = "") -> model.ImageDetail:
        """As a ready image."""
        return await self._act(image, "propose", {"note": note})

    async def accept(self, image: str, note: str = "") -> model.ImageDetail:
        return await self._act(image, "accept", {"note": note}, False)

    async def reject(self, image: str, note: str = "") -> model.ImageDetail:
        return await self._act(image, "reject", {"note": note}, False)

    async def pull(self, image: str, nodes: list[str] | None = None) -> model.ImageDetail:
        """To these nodes, or all; `show` says how far it is."""
        return await self._act(image, "pull", {"nodes": nodes or []})

    async def verify(
        self, image: str, *, gpus: int = 0, queue: str | None = None
    ) -> model.ImageDetail:
        """Tries JupyterLab, VS Code, SSH and, with `gpus`, a GPU in it, as a job of yours."""
        return await self._act(image, "verify", {"gpus": gpus, "queue": queue}, False)

    async def build(self, name: str, base: str, **parts: Any) -> model.BuildAnswer:
        """`parts`: lists of packages (apt, pip, conda), description, queue."""
        answer: model.BuildAnswer = await self._do(
            "POST", "/images/build", {"name": name, "base": base, **parts}, False
        )
        return answer

    async def save_estimate(
        self, job: str, image: str = "", *, task: int = 0
    ) -> model.SaveEstimate:
        """What saving the container of a job or environment would take."""
        query = {"image": image or None, "task": task or None}
        answer: model.SaveEstimate = await self._do("GET", target(f"{_job(job)}/save", query))
        return answer

    async def save(
        self,
        job: str,
        image: str,
        *,
        task: int = 0,
        stop: bool = False,
        description: str = "",
        id: str | None = None,
    ) -> model.Save:
        """Returns at once; `saved` says how far it is. `stop`: end its command first. With an `id`
        (`danlu.sdk.uuid7()`) the request can be repeated after a lost answer.
        """
        order = {"image": image, "task": task, "stop": stop, "description": description, "id": id}
        answer: model.Save = await self._do("POST", f"{_job(job)}/save", order, id is not None)
        return answer

    async def saves(self, *, everybody: bool = False) -> list[model.Save]:
        found = await self._do("GET", target("/saves", {"all": True if everybody else None}))
        answer: list[model.Save] = found["saves"]
        return answer

    async def saved(self, id: str) -> model.Save:
        answer: model.Save = await self._do("GET", f"/saves/{segment(id)}")
        return answer

    async def cancel_save(self, id: str) -> model.Save:
        answer: model.Save = await self._do("DELETE", f"/saves/{segment(id)}")
        return answer

    async def _act(
        self, image: str, verb: str, values: dict[str, Any], again: bool = True
    ) -> model.ImageDetail:
        answer: model.ImageDetail = await self._do(
            "POST", f"{image_path(image)}/{verb}", values, again
        )
        return answer

    async def _do(
        self, method: str, path: str, values: dict[str, Any] | None = None, again: bool = True
    ) -> Any:
        """`again`: whether the request may be repeated after a lost answer."""
        body = None if values is None else dumps(values).encode()
        return as_json(await self._calls._ask(method, BASE + path, body, repeatable=again))
