"""The Docker or Podman calls for saving a container, which no keeper needs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from danlu.engines.local.container.daemon import LIBPOD, Daemon, quote
from danlu.engines.local.container.wire import Failed


class SavingDaemon(Daemon):
    def changed_bytes(self, name: str) -> int:
        found = self.wire.call("GET", f"/containers/{quote(name)}/json?size=true")
        return int(found.get("SizeRw") or 0)

    def native_overlay(self) -> bool:
        """Whether a container's upper folder holds all that it has changed."""
        if self.kind == "podman":
            status = (self.wire.call("GET", f"{LIBPOD}/info").get("store") or {}).get("graphStatus")
            return str((status or {}).get("Native Overlay Diff", "")) == "true"
        return ["Native Overlay Diff", "true"] in (self.info().get("DriverStatus") or ())

    def storage(self) -> str:
        """The folder with its images."""
        if self.kind == "podman":
            return str(self.wire.call("GET", f"{LIBPOD}/info")["store"]["graphRoot"])
        return str(self.info()["DockerRootDir"])

    def commit(self, name: str, repository: str, tag: str, config: dict[str, Any]) -> str:
        """An image of a container, without freezing it; returns its id."""
        query = f"container={quote(name)}&repo={quote(repository)}&tag={quote(tag)}"
        if self.kind == "podman":
            changes = "".join(f"&changes={quote(line)}" for line in _changes(config))
            where = f"{LIBPOD}/commit?{query}&pause=false{changes}"
            return str(self.wire.call("POST", where)["Id"])
        # What is not given is the container's, which is ours.
        given = {"Entrypoint": [], "Cmd": [], "User": "0", "WorkingDir": "/"} | config
        given["Env"] = [f"{name}={value}" for name, value in _variables(config).items()]
        return str(self.wire.call("POST", f"/commit?{query}&pause=0", given)["Id"])

    def push(
        self, image: str, repository: str, tag: str, headers: dict[str, str], plain_http: bool
    ) -> Iterator[dict[str, Any]]:
        """Under this name, which the image does not keep."""
        self.wire.close()  # a connection of its own can be broken off: it is not tried again
        if self.kind == "podman":
            verify = "false" if plain_http else "true"
            target = quote(f"{repository}:{tag}")
            where = f"{LIBPOD}/images/{quote(image)}/push?destination={target}&tlsVerify={verify}"
            yield from self.wire.stream("POST", where, None, headers)
            return
        self.wire.call(
            "POST", f"/images/{quote(image)}/tag?repo={quote(repository)}&tag={quote(tag)}"
        )
        self.wire.close()
        try:
            # Docker wants the header even if it is empty.
            also = {"X-Registry-Auth": "e30="} | headers
            where = f"/images/{quote(repository)}/push?tag={quote(tag)}"
            yield from self.wire.stream("POST", where, None, also)
        finally:
            self.remove_image(f"{repository}:{tag}")

    def remove_image(self, name: str) -> None:
        """Only this name if it has others."""
        try:
            self.wire.call("DELETE", f"/images/{quote(name)}")
        except Failed as failure:
            if failure.status not in (404, 409):  # 409: a container uses it
                raise


def _changes(config: dict[str, Any]) -> list[str]:
    """A configuration as lines of a Dockerfile, which is what Podman's commit takes."""
    lines = [
        f"ENTRYPOINT {json.dumps(config.get('Entrypoint') or [])}",
        f"CMD {json.dumps(config.get('Cmd') or [])}",
        f"WORKDIR {config.get('WorkingDir') or '/'}",
        f"USER {config.get('User') or '0'}",
    ]
    lines += [f"ENV {name}={json.dumps(value)}" for name, value in _variables(config).items()]
    labels = config.get("Labels") or {}
    return [*lines, *(f"LABEL {name}={json.dumps(value)}" for name, value in labels.items())]


def _variables(config: dict[str, Any]) -> dict[str, str]:
    """The container has one of ours, which a commit can only overwrite."""
    pairs = (pair.partition("=")[::2] for pair in config.get("Env") or ())
    return {"NVIDIA_VISIBLE_DEVICES": "", **dict(pairs)}
