"""What Danlu asks of Docker or Podman, for keepers and the server alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from danlu.engines.local.container.wire import PATIENCE, Failed, Wire

LABEL = "danlu.server"  # on every container of ours: which server's
ATTEMPT = "danlu.attempt"
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:@")
_LIBPOD = "/v4.0.0/libpod"


def _quote(text: str) -> str:
    """urllib.parse would do, at the price of its imports in every keeper."""
    return "".join(c if c in _PLAIN else "".join(f"%{b:02X}" for b in c.encode()) for c in text)


class Daemon:
    """Docker's own API, which Podman speaks too; a container is made by the one of its maker."""

    def __init__(self, kind: str, path: str, patience: float = PATIENCE) -> None:
        self.kind = kind
        self.wire = Wire(path, patience)

    def close(self) -> None:
        self.wire.close()

    # -- containers ---------------------------------------------------------------------------

    def create(self, name: str, body: dict[str, Any]) -> None:
        where = f"/containers/create?name={_quote(name)}"
        if self.kind == "podman":
            where, body = f"{_LIBPOD}/containers/create", body | {"name": name}
        try:
            self.wire.call("POST", where, body)
        except Failed as failure:
            # Nobody else uses its name: the answer to the first try was lost.
            if failure.status != 409 and "already in use" not in str(failure):
                raise

    def start(self, name: str) -> None:
        self.wire.call("POST", f"/containers/{_quote(name)}/start")

    def look(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.wire.call("GET", f"/containers/{_quote(name)}/json")
        return found

    def remove(self, name: str) -> bool:
        """With all that runs in it. False: there is none."""
        try:
            self.wire.call("DELETE", f"/containers/{_quote(name)}?force=true&v=true")
        except Failed as failure:
            if failure.status in (404, 409):  # 409: its removal is under way
                return failure.status == 409
            raise
        return True

    def containers(self, tag: str) -> dict[str, str]:
        """Ours, whatever became of them: name -> attempt."""
        filters = _quote(f'{{"label": ["{LABEL}={tag}"]}}')
        found = self.wire.call("GET", f"/containers/json?all=true&filters={filters}")
        return {
            str(each["Names"][0]).lstrip("/"): str((each.get("Labels") or {}).get(ATTEMPT, ""))
            for each in found or ()
        }

    # -- images -------------------------------------------------------------------------------

    def image(self, name: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self.wire.call("GET", f"/images/{_quote(name)}/json")
        except Failed as failure:
            if failure.status == 404:
                return None
            raise
        return found

    def pull(self, name: str, tag: str, headers: dict[str, str]) -> Iterator[dict[str, Any]]:
        """Reports of its progress, as Docker words them."""
        where = f"/images/create?fromImage={_quote(name)}&tag={_quote(tag)}"
        return self.wire.stream("POST", where, None, headers)

    def pull_plainly(self, name: str, headers: dict[str, str]) -> Iterator[dict[str, Any]]:
        """Podman only: over plain HTTP, whatever its own configuration says."""
        where = f"{_LIBPOD}/images/pull?reference={_quote(name)}&tlsVerify=false"
        return self.wire.stream("POST", where, None, headers)

    def info(self) -> dict[str, Any]:
        found: dict[str, Any] = self.wire.call("GET", "/info")
        return found

    def ping(self) -> tuple[str, str]:
        """(docker or podman, version). Podman takes a second to answer more than this."""
        fields = self.wire.headers("/_ping")
        if "libpod-api-version" in fields:
            return "podman", fields["libpod-api-version"]
        return "docker", fields.get("server", "").partition("/")[2].partition(" ")[0]
