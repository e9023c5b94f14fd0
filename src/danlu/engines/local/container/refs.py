"""Image names: registry, repository, tag or digest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from danlu.engines.local.config import Registry
from danlu.spec.text import Text

DOCKER_HUB = "docker.io"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_PATTERN = re.compile(
    rf"(?P<path>{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[a-z0-9]+:[0-9a-f]{32,128}))?"
)
_HOST = re.compile(r"[A-Za-z0-9.-]+(?::[0-9]+)?|\[[0-9a-fA-F:]+\](?::[0-9]+)?")

_NOT_OF_THE_INTERNET = ("localhost", "localdomain", "local", "internal", "lan", "home", "test")


class BadName(ValueError):
    """An invalid image name."""

    def __init__(self, text: Text) -> None:
        super().__init__(text.en)
        self.text = text


@dataclass(frozen=True, slots=True)
class ImageRef:
    host: str  # docker.io by default
    path: str
    tag: str = "latest"
    digest: str = ""

    @property
    def repository(self) -> str:
        return f"{self.host}/{self.path}"

    @property
    def version(self) -> str:
        """The tag parameter of a pull."""
        return self.digest or self.tag

    def __str__(self) -> str:
        return (
            f"{self.repository}@{self.digest}" if self.digest else f"{self.repository}:{self.tag}"
        )

    @property
    def local(self) -> str:
        """Podman's name for an image built on this machine under this name."""
        path = self.path.removeprefix("library/")
        return f"localhost/{path}:{self.tag}" if self.host == DOCKER_HUB else str(self)

    def at(self, host: str) -> ImageRef:
        """The same image at a mirror."""
        return ImageRef(host, self.path, self.tag, self.digest)


def is_host(text: str) -> bool:
    return _HOST.fullmatch(text) is not None


def parse(text: str) -> ImageRef:
    """Raises BadName."""
    first, slash, rest = text.partition("/")
    host = DOCKER_HUB
    if slash and (set(first) & set(".:[") or first == "localhost"):
        host, text = first, rest
        if not is_host(host):
            raise BadName(
                Text(
                    f"does not start with a valid registry address: {host}",
                    f"开头不是仓库地址：{host}",
                )
            )
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise BadName(
            Text(
                "is not a valid image name; write name:tag or host:port/name:tag, in lower case",
                "不是镜像名称；请写 名称:标签 或 主机:端口/名称:标签，使用小写字母",
            )
        )
    path = match["path"]
    if host in ("index.docker.io", "registry-1.docker.io"):
        host = DOCKER_HUB
    if host == DOCKER_HUB and "/" not in path:
        path = f"library/{path}"
    return ImageRef(host, path, match["tag"] or "latest", match["digest"] or "")


def names_of(image: str, kind: str, registries: Sequence[Registry] = ()) -> list[str]:
    """Names under which a runtime may have it, including those of mirrors."""
    ref = parse(image)
    found = [str(ref)]
    if kind == "podman" and not ref.digest and ref.local not in found:
        found.append(ref.local)
    return [*found, *(str(ref.at(mirror.host)) for mirror in mirrors_of(ref, registries))]


def may_come_from(host: str, allowed: Sequence[str], registries: Sequence[Registry]) -> bool:
    """Whether the admin allows images from this registry.

    A public name is an internet host on the default port, where no task on this machine can
    answer. Docker trusts the machine's own addresses without TLS, and any task could serve
    images on them; they must be listed explicitly.
    """
    if host in allowed:
        return True
    if "configured" in allowed and any(host == registry.host for registry in registries):
        return True
    return "public" in allowed and is_public(host)


def is_public(host: str) -> bool:
    name, _, port = host.partition(":")
    last = name.rpartition(".")[2].lower()
    return (
        port in ("", "443") and "." in name and last.isalpha() and last not in _NOT_OF_THE_INTERNET
    )


def mirrors_of(ref: ImageRef, registries: Sequence[Registry]) -> list[Registry]:
    return [registry for registry in registries if ref.host in registry.mirror_of]
