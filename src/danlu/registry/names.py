"""Names in the registry: repositories and whose they are, tags, digests.

| repository | who pushes | who pulls |
|---|---|---|
| `<user>/x` | the user | the user, and those it is shared with |
| `share/<group>/x` | the group's members | the group's members, and those it is shared with |
| `ready/x` | admins | everybody |
| `hub/<host>/x` | nobody: it is a cache of `<host>/x` | everybody |
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
REPOSITORY = re.compile(rf"{PART}(?:/{PART})*")
TAG = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
ALGORITHMS = ("sha256", "sha512")
LONGEST_REPOSITORY = 255
SHARE, READY, HUB = "share", "ready", "hub"
RESERVED = frozenset({SHARE, READY, HUB})
"""First parts of repositories that are no user's."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a repository is, and whose quota it counts against."""

    kind: str  # user, group, ready, hub
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" if self.name else self.kind


def owner_of(repository: str) -> Owner | None:
    """None: no such repository can exist here."""
    if not is_repository(repository):
        return None
    first, _, rest = repository.partition("/")
    second, _, third = rest.partition("/")
    if first == SHARE:
        return Owner("group", second) if second and third else None
    if first in (READY, HUB):
        return Owner(first) if second and (first == READY or third) else None
    return Owner("user", first) if second else None


def is_repository(text: str) -> bool:
    return len(text) <= LONGEST_REPOSITORY and REPOSITORY.fullmatch(text) is not None


def is_tag(text: str) -> bool:
    return TAG.fullmatch(text) is not None


def is_digest(text: str) -> bool:
    return DIGEST.fullmatch(text) is not None


def can_own(name: str) -> bool:
    """Whether a user or group of this name has repositories: `a..b` and `a___b` are no parts."""
    return re.fullmatch(PART, name) is not None and name not in RESERVED


def split_image(image: str) -> tuple[str, str, str] | None:
    """Host, repository, and tag or digest with what it begins with. None: it names no host."""
    host, slash, rest = image.partition("/")
    if not slash or not (set(host) & set(".:[") or host == "localhost"):
        return None
    path, at, digest = rest.partition("@")
    repository, colon, tag = path.partition(":")
    return host, repository, f"{colon}{tag}{at}{digest}"
