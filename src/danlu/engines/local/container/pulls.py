"""Pulls one image: choice of registry, progress, errors."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from danlu.engines.api import ImageProgress, NoImage, Unreachable
from danlu.engines.local.config import Registry
from danlu.engines.local.container.daemon import Daemon
from danlu.engines.local.container.refs import ImageRef, mirrors_of
from danlu.engines.local.container.wire import Away, Failed

Progress = Callable[[ImageProgress], None]

_COMPLETE = frozenset({"Download complete", "Extracting", "Pull complete", "Already exists"})
_PLAIN_HTTP = re.compile(r"HTTP response to HTTPS client", re.IGNORECASE)
_UNVERIFIED = re.compile(r"HTTP response to HTTPS client|x509: |certificate", re.IGNORECASE)
"""Where `plain_http` says not to insist on TLS, as Docker does not on loopback."""
_SIGNS = (
    (
        "image_not_found",
        re.compile(
            r"manifest unknown|name unknown|not found|does not exist(?! or may)|no such image|"
            r"no matching manifest",
            re.IGNORECASE,
        ),
    ),
    (
        "image_denied",
        re.compile(
            r"unauthorized|no basic auth|denied|authentication required|forbidden|"
            r"incorrect username",
            re.IGNORECASE,
        ),
    ),
    (
        "registry_unreachable",
        re.compile(
            r"dial tcp|connection refused|no such host|time-?out|timed out|deadline exceeded|"
            r"handshake|EOF|reset by peer|unreachable|bad gateway|service unavailable|"
            r"too many requests|toomanyrequests|server misbehaving",
            re.IGNORECASE,
        ),
    ),
)


@dataclass(slots=True)
class _Layer:
    done: int = 0
    total: int = 0
    complete: bool = False
    unpacking: bool = False


class Layers:
    """Sums up the progress of all layers."""

    def __init__(self, image: str) -> None:
        self._image = image
        self._layers: dict[str, _Layer] = {}

    def take(self, report: dict[str, Any]) -> None:
        name, status = str(report.get("id") or ""), str(report.get("status") or "")
        numbers = report.get("progressDetail") or {}
        if not name or status.startswith("Pulling from"):
            return
        layer = self._layers.setdefault(name, _Layer())
        layer.total = int(numbers.get("total") or 0) or layer.total
        layer.complete = layer.complete or status in _COMPLETE
        layer.unpacking = status == "Extracting"
        current = int(numbers.get("current") or 0)
        layer.done = layer.total if layer.complete else max(layer.done, current)

    def progress(self) -> ImageProgress:
        layers = self._layers.values()
        complete = sum(layer.complete for layer in layers)
        return ImageProgress(
            self._image,
            sum(layer.done for layer in layers),
            sum(layer.total for layer in layers),
            complete,
            len(layers),
            complete == len(layers) and any(layer.unpacking for layer in layers),
        )


class Pull:
    """Blocking: runs in a thread. `cancel` may be called from another."""

    def __init__(
        self, daemon: Daemon, image: str, ref: ImageRef, mirrors_only: bool = False
    ) -> None:
        self._daemon = daemon
        self._image = image
        self._ref = ref
        self._mirrors_only = mirrors_only
        self._cancelled = False

    def run(self, registries: Sequence[Registry], progress: Progress) -> None:
        """Raises NoImage or Unreachable."""
        known = {registry.host: registry for registry in registries}
        mirrors = mirrors_of(self._ref, registries)
        origin = known.get(self._ref.host, Registry(self._ref.host))
        asked = mirrors if self._mirrors_only else [*mirrors, origin]
        tried: list[str] = []
        for registry in asked:
            if self._cancelled:  # before there was a connection to close
                raise _unwanted()
            try:
                return self._pull(self._ref.at(registry.host), registry, progress)
            except NoImage as trouble:
                if registry is asked[-1] or self._cancelled:
                    raise NoImage(trouble.reason, "; ".join([str(trouble), *tried])) from None
                tried.append(f"{registry.host}: {trouble}")
        return None

    def cancel(self) -> None:
        self._cancelled = True
        self._daemon.wire.break_off()

    def _pull(self, ref: ImageRef, registry: Registry, progress: Progress) -> None:
        layers = Layers(self._image)
        for report in self._reports(ref, registry):
            if self._cancelled:
                raise _unwanted()
            layers.take(report)
            progress(layers.progress())

    def _reports(self, ref: ImageRef, registry: Registry) -> Iterator[dict[str, Any]]:
        headers = _credentials(registry)
        podman = self._daemon.kind == "podman"
        try:
            yield from _checked(self._daemon.pull(ref.repository, ref.version, headers))
            return
        except _Trouble as trouble:
            if not (podman and registry.plain_http and _UNVERIFIED.search(str(trouble))):
                raise self._no_image(str(trouble), registry) from None
        # Podman's own call, the only one that allows this; it reports less progress.
        try:
            yield from _checked(self._daemon.pull_plainly(str(ref), headers))
        except _Trouble as trouble:
            raise self._no_image(str(trouble), registry) from None

    def _no_image(self, message: str, registry: Registry) -> Exception:
        if self._cancelled:
            return _unwanted()
        text = f"{self._image}: {_short(message)}"
        if _PLAIN_HTTP.search(message):
            text += f" ({_plain_advice(self._daemon.kind, registry)})"
            return NoImage("image_failed", text)
        for reason, sign in _SIGNS:
            if sign.search(message):
                return NoImage(reason, text)
        return NoImage("image_failed", text)


def _unwanted() -> Unreachable:
    return Unreachable("no longer needed")


class _Trouble(Exception):
    pass


def _checked(reports: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    try:
        for report in reports:
            if report.get("error"):
                raise _Trouble(str(report["error"]))
            yield report
    except Failed as failure:
        raise _Trouble(str(failure)) from None
    except Away as trouble:
        raise Unreachable(str(trouble)) from None


def _credentials(registry: Registry) -> dict[str, str]:
    if not registry.user:
        return {}
    password = registry.password
    if registry.password_file:
        try:
            with open(registry.password_file, encoding="utf-8") as file:
                password = file.read().strip()
        except OSError as error:
            why = f"{registry.host}: {registry.password_file}: {error.strerror}"
            raise NoImage("image_denied", why) from None
    values = {"username": registry.user, "password": password}
    values["serveraddress"] = registry.host
    return {"X-Registry-Auth": base64.urlsafe_b64encode(json.dumps(values).encode()).decode()}


def _plain_advice(kind: str, registry: Registry) -> str:
    host = registry.host
    if kind == "docker":
        return f'the registry uses plain HTTP: add "{host}" to insecure-registries in daemon.json'
    return f'the registry uses plain HTTP: set plain_http in [registries."{host}"]'


def _short(message: str) -> str:
    text = " ".join(message.split())
    return text if len(text) <= 300 else text[:297] + "..."
