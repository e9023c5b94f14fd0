"""Resolves a path as a task would see it, following links inside its volumes."""

from __future__ import annotations

import os
from collections.abc import Mapping

MOST_LINKS = 40  # as in the kernel


def lead(path: str, volumes: Mapping[str, str]) -> str:
    """The path a task ends up at. `volumes`: mount points and their folders on the host.

    Only paths in a volume are resolved: the rest may come from an image.
    """
    here = ""
    left = path.split("/")[::-1]
    links = 0
    while left:
        name = left.pop()
        if name == "..":
            here = here.rpartition("/")[0]
        elif name and name != ".":
            link = _link(f"{here}/{name}", volumes) if links < MOST_LINKS else None
            if link is None:
                here = f"{here}/{name}"
                continue
            links += 1
            here = "" if link.startswith("/") else here
            left.extend(link.split("/")[::-1])
    return here or "/"


def _link(path: str, volumes: Mapping[str, str]) -> str | None:
    target = max((t for t in volumes if path.startswith(f"{t}/")), key=len, default=None)
    if target is None:
        return None
    try:
        return os.readlink(volumes[target] + path[len(target) :])
    except OSError:
        return None
