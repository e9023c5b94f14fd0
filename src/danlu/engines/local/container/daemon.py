"""The Docker or Podman calls used by keepers and the server."""

from __future__ import annotations

import binascii
import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from danlu.engines.local.container.wire import PATIENCE, Failed, Wire

LABEL = "danlu.server"  # on every container of ours: the server's id
ATTEMPT = "danlu.attempt"
LINK = 1 << 27  # of a file's mode, in Go's encoding, used by the runtimes
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:@")
LIBPOD = "/v4.0.0/libpod"
_TRIES, _PAUSE = 10, 0.1
_T = TypeVar("_T")


def quote(text: str) -> str:
    """Like urllib.parse.quote, whose imports would cost memory in every keeper."""
    return "".join(c if c in _PLAIN else "".join(f"%{b:02X}" for b in c.encode()) for c in text)


def link_in_tar(data: bytes) -> str:
    """Where its only entry, a link, leads. tarfile would cost memory in every keeper."""
    at, long = 0, b""
    while data[at + 156 : at + 157] == b"x":  # more about the entry: lines with their lengths
        size = int(data[at + 124 : at + 135], 8)
        left = data[at + 512 : at + 512 + size]
        while left:
            line, left = left[: (end := int(left.partition(b" ")[0]))], left[end:]
            key, _, value = line.partition(b" ")[2].partition(b"=")
            long = value[:-1] if key == b"linkpath" else long
        at += 512 + -(-size // 512) * 512
    found = long or data[at + 157 : at + 257].rstrip(b"\0")
    if data[at + 156 : at + 157] != b"2" or not found:
        raise OSError("the runtime does not say where a link of the image leads")
    return os.fsdecode(found)


class Daemon:
    """Docker's API, which Podman supports too; containers are created with the native one."""

    def __init__(self, kind: str, path: str, patience: float = PATIENCE) -> None:
        self.kind = kind
        self.wire = Wire(path, patience)

    def close(self) -> None:
        self.wire.close()

    # -- containers ---------------------------------------------------------------------------

    def create(self, name: str, body: dict[str, Any]) -> None:
        where = f"/containers/create?name={quote(name)}"
        if self.kind == "podman":
            where, body = f"{LIBPOD}/containers/create", body | {"name": name}
        try:
            self.wire.call("POST", where, body)
        except Failed as failure:
            # The name is ours: the answer to a first try was lost.
            if failure.status != 409 and "already in use" not in str(failure):
                raise

    def create_bare(self, name: str, image: str, labels: dict[str, str]) -> None:
        """Docker: a container to look into, which has nothing but what is in the image."""
        host = {"NetworkMode": "none"}
        body = {"Image": image, "Entrypoint": ["/"], "Labels": labels, "HostConfig": host}
        self.create(name, body)

    def start(self, name: str) -> None:
        self.wire.call("POST", f"/containers/{quote(name)}/start")

    def look(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.wire.call("GET", f"/containers/{quote(name)}/json")
        return found

    def mount(self, name: str) -> str | None:
        """Where on this machine the files of a container that has not started are. Podman only.

        Podman loses count of mounts when several of its processes run, and a container that was
        mounted, unmounted and mounted again may then not start. This one stays mounted.
        """
        if self.kind != "podman":
            return None
        return self.wire.text("POST", f"{LIBPOD}/containers/{quote(name)}/mount").strip()

    def file(self, name: str, path: str) -> dict[str, Any] | None:
        """Stats a path in a container, even before it starts. None: it does not exist."""
        where = f"/containers/{quote(name)}/archive?path={quote(path)}"
        try:
            fields = self._repeated(lambda: self.wire.headers(where, "HEAD"))
        except Failed as failure:
            if failure.status == 404:
                return None
            raise
        found: dict[str, Any] = json.loads(
            binascii.a2b_base64(fields["x-docker-container-path-stat"])
        )
        return found

    def link(self, name: str, path: str) -> str | None:
        """Docker: where a link leads, as it says; "" for anything else. None: it does not exist."""
        found = self.file(name, path)
        if found is None or not int(found["mode"]) & LINK:
            return None if found is None else ""
        text = self.wire.text("GET", f"/containers/{quote(name)}/archive?path={quote(path)}")
        return link_in_tar(text.encode("utf-8", "surrogateescape"))

    def remove(self, name: str) -> bool:
        """Kills and removes a container. False: it does not exist."""
        try:
            self.wire.call("DELETE", f"/containers/{quote(name)}?force=true&v=true")
        except Failed as failure:
            if failure.status in (404, 409):  # 409: already being removed
                return failure.status == 409
            raise
        return True

    def containers(self, tag: str) -> dict[str, str]:
        """Our containers in any state: name -> attempt."""
        filters = quote(f'{{"label": ["{LABEL}={tag}"]}}')
        found = self.wire.call("GET", f"/containers/json?all=true&filters={filters}")
        return {
            str(each["Names"][0]).lstrip("/"): str((each.get("Labels") or {}).get(ATTEMPT, ""))
            for each in found or ()
        }

    def _repeated(self, ask: Callable[[], _T]) -> _T:
        """Podman mounts a container to look into it, which fails while it unmounts another."""
        for _ in range(_TRIES):
            try:
                return ask()
            except Failed as failure:
                if failure.status != 500 or self.kind != "podman":
                    raise
            time.sleep(_PAUSE)
        return ask()

    # -- images -------------------------------------------------------------------------------

    def image(self, name: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self.wire.call("GET", f"/images/{quote(name)}/json")
        except Failed as failure:
            if failure.status == 404:
                return None
            raise
        return found

    def images(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.wire.call("GET", "/images/json")
        return found or []

    def images_in_use(self) -> set[str]:
        """Of all containers, also of stopped ones and of those that are not ours."""
        found = self.wire.call("GET", "/containers/json?all=true") or ()
        return {str(each.get("ImageID", "")) for each in found}

    def remove_image(self, name: str) -> None:
        """A name, or an image with its last name; never one that a container uses."""
        self.wire.call("DELETE", f"/images/{quote(name)}?force=false")

    def pull(self, name: str, tag: str, headers: dict[str, str]) -> Iterator[dict[str, Any]]:
        """Progress reports in Docker's format."""
        where = f"/images/create?fromImage={quote(name)}&tag={quote(tag)}"
        return self.wire.stream("POST", where, None, headers)

    def pull_plainly(self, name: str, headers: dict[str, str]) -> Iterator[dict[str, Any]]:
        """Podman only: plain HTTP, regardless of its configuration."""
        where = f"{LIBPOD}/images/pull?reference={quote(name)}&tlsVerify=false"
        return self.wire.stream("POST", where, None, headers)

    def info(self) -> dict[str, Any]:
        found: dict[str, Any] = self.wire.call("GET", "/info")
        return found

    def ping(self) -> tuple[str, str]:
        """(docker or podman, version). Asking Podman for more takes a second."""
        fields = self.wire.headers("/_ping")
        if "libpod-api-version" in fields:
            return "podman", fields["libpod-api-version"]
        return "docker", fields.get("server", "").partition("/")[2].partition(" ")[0]
