"""The platform's image registry: `client.registry`.

`async_registry` is generated from this file by `scripts/docs`.
"""

from __future__ import annotations

from danlu.sdk.calls import BASE, as_json
from danlu.sdk.fastjson import dumps
from danlu.sdk.wire import target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.sdk import model
    from danlu.sdk.calls import Calls


class Registry:
    """Images are pushed and pulled with Docker, Podman or skopeo at `status()["address"]`."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def status(self) -> model.RegistryStatus:
        """Where it is, and how much you and your groups use."""
        answer: model.RegistryStatus = self._do("GET", "")
        return answer

    def repositories(self, *, everybody: bool = False) -> list[model.RegistryRepository]:
        """Yours, those of your groups, ready and shared ones; `everybody`: all, for admins."""
        found = self._do("GET", target("/repositories", {"all": True if everybody else None}))
        answer: list[model.RegistryRepository] = found["repositories"]
        return answer

    def images(self, repository: str) -> list[model.RegistryImage]:
        found = self._do("GET", target("/images", {"repository": repository}))
        answer: list[model.RegistryImage] = found["images"]
        return answer

    def delete(self, repository: str, reference: str = "") -> int:
        """A tag with the image it names, an image by digest, or, without either, all of it."""
        path = target("/images", {"repository": repository, "reference": reference or None})
        answer: int = self._do("DELETE", path, None, False)["deleted"]
        return answer

    def collect(self, grace: float | None = None) -> model.CollectedGarbage:
        """Frees what no image names any more; for admins. `grace`: seconds."""
        answer: model.CollectedGarbage = self._do("POST", "/collect", {"grace": grace})
        return answer

    # Internals

    def _do(
        self, method: str, path: str, values: dict[str, Any] | None = None, again: bool = True
    ) -> Any:
        """`again`: whether the request may be repeated after a lost answer."""
        body = None if values is None else dumps(values).encode()
        return as_json(self._calls._ask(method, registry_path(path), body, repeatable=again))


def registry_path(path: str) -> str:
    return f"{BASE}/registry{path}"
