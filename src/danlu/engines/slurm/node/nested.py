"""Mounts inside a volume that has no folder for them, as /gdata has none for most datasets.

A runtime can make no folder in a volume that is mounted read-only, and nothing may be made in the
volume itself: others would see it. So what is in the volume is mounted instead, entry by entry; the
folder around them is the container's own.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Mount = dict[str, Any]

MOST = 4096  # entries; each is mounted by itself
_UNTOLD = frozenset(',:"\n\r')  # no runtime's command line could be told such a name


class TooMany(Exception):
    """A folder with so many entries needs the mount points itself."""


def spread(mounts: list[Mount]) -> list[Mount]:
    """The mounts to ask a runtime for. Raises TooMany."""
    found: list[Mount] = []
    for mount in mounts:
        prefix = mount["target"].rstrip("/") + "/"
        inside = [
            each["target"][len(prefix) :] for each in mounts if each["target"].startswith(prefix)
        ]
        found += _parts(mount, inside) if inside and mount["read_only"] else [mount]
    return found


def _parts(mount: Mount, inside: list[str]) -> list[Mount]:
    source, target = mount["source"], mount["target"].rstrip("/")
    if all(os.path.isdir(f"{source}/{path}") for path in inside):
        return [mount]
    found: list[Mount] = []
    try:
        names = sorted(os.listdir(source))
    except OSError:
        return [mount]  # its user may not list it; the runtime says what is wrong
    if len(names) > MOST:
        raise TooMany(f"{source} has more than {MOST} entries, and no folder {min(inside)}")
    for name in names:
        deeper = [path[len(name) + 1 :] for path in inside if path.startswith(f"{name}/")]
        real = os.path.realpath(f"{source}/{name}")  # a link would lead out of what is mounted
        if name in inside or set(name + real) & _UNTOLD or not os.path.exists(real):
            continue
        entry = {**mount, "source": real, "target": f"{target}/{name}"}
        found += _parts(entry, deeper) if deeper else [entry]
    return found
