"""Mount points that a read-only volume lacks, as /gdata lacks those of most datasets.

A runtime can make no folder in a volume that is mounted read-only, and nothing may be made in the
volume itself: others would see it. So the folder that lacks one is replaced by an empty file system
in memory, and what was in the folder is mounted into it, entry by entry. Runtimes mount what is
further up first, and can make every mount point in there.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field
from typing import Any

from danlu.engines.local.keeper import linux
from danlu.engines.local.keeper.points import MOST_SHOWN, open_source

_SIZE = 1 << 20  # it holds nothing but mount points and links


@dataclass(slots=True)
class Layer:
    """A folder to replace. `source` and `target`: where it is on the machine, and for the task."""

    source: str
    target: str
    volume: str
    entries: list[str] = field(default_factory=list)  # to be mounted
    links: dict[str, str] = field(default_factory=dict)  # symbolic links, as they are


def layers_of(mounts: list[dict[str, Any]]) -> list[Layer]:
    found: dict[str, Layer] = {}
    for mount in mounts:
        above = _around(mount, mounts)
        if above is not None and above["read_only"]:
            for layer in _layers(above, mount["target"][len(above["target"]) :]):
                found.setdefault(layer.target, layer)
    for layer in found.values():
        _list(layer)
    return list(found.values())


def apply(layers: list[Layer], task: dict[str, Any]) -> None:
    """Changes the mounts of a task, and those of the request that creates its container."""
    replaced = {layer.target for layer in layers}
    kept = [mount for mount in task["mounts"] if mount["target"] not in replaced]
    taken = replaced | {mount["target"] for mount in kept}
    shown = [
        {
            "name": layer.volume,
            "source": f"{layer.source}/{name}",
            "target": f"{layer.target}/{name}",
            "read_only": True,
        }
        for layer in layers
        for name in layer.entries
        if f"{layer.target}/{name}" not in taken
    ]
    task["mounts"] = kept + shown
    wanted = task["container"]
    change = _podman if wanted["kind"] == "podman" else _docker
    change(wanted["create"], replaced, shown)


def _docker(create: dict[str, Any], replaced: set[str], shown: list[dict[str, Any]]) -> None:
    host = create["HostConfig"]
    host["Mounts"] = [
        *(each for each in host["Mounts"] if each["Target"] not in replaced),
        *(
            {
                "Type": "tmpfs",
                "Target": target,
                "TmpfsOptions": {"SizeBytes": _SIZE, "Mode": 0o755},
            }
            for target in sorted(replaced)
        ),
        *(
            {
                "Type": "bind",
                "Source": mount["source"],
                "Target": mount["target"],
                "ReadOnly": True,
                "BindOptions": {"Propagation": "rprivate"},
            }
            for mount in shown
        ),
    ]


def _podman(create: dict[str, Any], replaced: set[str], shown: list[dict[str, Any]]) -> None:
    # Otherwise what the image has there would be copied into it.
    options = ["rw", "nosuid", "nodev", "mode=0755", f"size={_SIZE}", "notmpcopyup"]
    create["mounts"] = [
        *(each for each in create["mounts"] if each["destination"] not in replaced),
        *(
            {"type": "tmpfs", "destination": target, "options": options}
            for target in sorted(replaced)
        ),
        *(
            {
                "type": "bind",
                "source": mount["source"],
                "destination": mount["target"],
                "options": ["rbind", "rprivate", "ro"],
            }
            for mount in shown
        ),
    ]


def finish(layers: list[Layer], numbers: int) -> None:
    """In the container, before anything runs in it. Nobody writes there: it would be lost."""
    for layer in layers:
        folder = linux.open_without_links(layer.target)
        for name, led in layer.links.items():
            try:
                os.symlink(led, name, dir_fd=folder)
            except FileExistsError:
                continue  # a mount of the task is there
        linux.restrict(folder, read_only=True, recursive=False, numbers=numbers)
        os.close(folder)


def _around(mount: dict[str, Any], mounts: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The mount it is inside of."""
    outer = [each for each in mounts if mount["target"].startswith(f"{each['target']}/")]
    return max(outer, key=lambda each: len(each["target"]), default=None)


def _layers(above: dict[str, Any], below: str) -> list[Layer]:
    """The folder that lacks a part of the path, and those it is in: Docker looks at a container
    that has not begun without what is in memory, and could make no folder in a volume then.

    Empty: all is there, or a link, which is refused later.
    """
    here, done = open_source(above), ""
    found: list[Layer] = []
    try:
        for name in [part for part in below.split("/") if part]:
            if not stat.S_ISDIR(os.fstat(here).st_mode):
                return []
            layer = Layer(f"{above['source']}{done}", f"{above['target']}{done}", above["name"])
            found.append(layer)
            try:
                there = linux.name_in(here, name)
            except FileNotFoundError:
                return found
            os.close(here)
            here, done = there, f"{done}/{name}"
        return []
    finally:
        os.close(here)


def _list(layer: Layer) -> None:
    folder = open_source({"name": layer.volume, "source": layer.source})
    try:
        listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        with os.scandir(listed) as entries:
            for number, entry in enumerate(entries):
                if number >= MOST_SHOWN:
                    raise OSError(
                        errno.E2BIG,
                        f"mount point below {layer.target}: {layer.source} has more than "
                        f"{MOST_SHOWN} entries: create the mount point in it",
                    )
                _note(entry, listed, layer)
    finally:
        os.close(listed)


def _note(entry: os.DirEntry[str], folder: int, layer: Layer) -> None:
    try:
        entry.name.encode()
        if entry.is_symlink():
            layer.links[entry.name] = os.readlink(entry.name, dir_fd=folder)
        elif entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False):
            layer.entries.append(entry.name)
    except (UnicodeEncodeError, FileNotFoundError):
        return  # no runtime could be told its name; or removed since it was listed
