"""Links in an image that would lead its runtime into a volume.

A runtime makes the mount points that an image lacks, as root, and follows the image's links to
them: with `/run -> /userhome`, folders of root's would stay in a home. So an image is looked
through before its container starts, where no volume is mounted yet.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from danlu.engines.local.container import holder
from danlu.engines.local.container.daemon import Daemon
from danlu.engines.local.container.known import Known
from danlu.engines.local.keeper.folders import RUN

_OURS = (RUN, holder.INSIDE)
_RUNTIMES = (
    *("/proc", "/sys/fs/cgroup", "/dev/pts", "/dev/shm", "/dev/mqueue"),  # noqa: S108
    *("/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/run/.containerenv", "/run/secrets"),
)
_FOR_GPUS = (
    *("/usr/bin/nvidia-smi", f"/usr/lib/{os.uname().machine}-linux-gnu/libcuda.so.1"),
    *("/usr/lib64/libcuda.so.1", "/lib/firmware/nvidia", "/usr/share/nvidia"),
    *("/etc/vulkan/icd.d", "/etc/OpenCL/vendors", "/run/nvidia-persistenced/socket"),
)
_MOST_LINKS = 40  # as in Linux
Lookup = Callable[[str], str | None]
"""What a path that leads through no link is: where a link leads, "" for anything else; None:
nothing is there.
"""


class BadLink(OSError):
    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.zh = zh


def check_links(daemon: Daemon, wanted: dict[str, Any], targets: list[str]) -> None:
    """Raises BadLink if the runtime would make a mount point elsewhere than it was told.

    The container exists, but nothing is mounted. An image never changes under its id, so what has
    been found out is kept.
    """
    name = str(wanted["name"])
    found = daemon.look(name)
    image = str(found["Image"])
    ours = sorted({os.path.normpath(target) for target in (*targets, *_OURS)})
    declared = sorted(found["Config"].get("Volumes") or ())
    others = [*_RUNTIMES, *declared, *(_FOR_GPUS if wanted.get("gpus") else ())]
    text = json.dumps([image, ours, others])
    mark = f"links-{zlib.crc32(text.encode()):08x}"
    known = Known(wanted["checked"])
    if known.has(mark, text):
        return
    root = daemon.mount(name)
    if root is not None and not _is_visible(root):
        return  # without root, what the runtime makes is its only user's
    with _looking(daemon, wanted, image, root) as look:
        _check(_remembered(look), ours, others)
    known.add(mark, text)


def _check(look: Lookup, ours: list[str], others: list[str]) -> None:
    volumes = [path for path in ours if path not in _OURS]
    for path in ours:
        link, _ = _walk(look, path, [each for each in volumes if each != path])
        if link:
            raise BadLink(
                f"mount point {path}: the image's {link} is a symbolic link, which is not allowed "
                f"here; use a path without links, or an image in which {link} is a folder",
                f"挂载点 {path}：镜像中的 {link} 是符号链接，挂载点的路径上不允许有链接；"
                f"请换一个路径，或使用 {link} 为普通目录的镜像",
            )
    for path in others:
        link, end = _walk(look, os.path.normpath(f"/{path}"), volumes)
        if link and (end == "/proc" or _volume(end, volumes)):
            raise BadLink(
                f"the image's {link} is a symbolic link that leads to {end}, where {path} would be "
                f"created; use an image in which {link} is a folder or a file",
                f"镜像中的 {link} 是指向 {end} 的符号链接，{path} 会被创建到那里；"
                f"请使用 {link} 为普通目录或文件的镜像",
            )


def _walk(look: Lookup, path: str, volumes: list[str]) -> tuple[str, str]:
    """The first link on the way, and where the way ends: with the path, at a volume, or at /proc,
    whose links lead anywhere.
    """
    left, here, first, links = path.split("/")[::-1], "/", "", 0
    while left:
        name = left.pop()
        if name in ("", ".", ".."):
            here = os.path.dirname(here) if name == ".." else here
            continue
        here = os.path.join(here, name)
        if _volume(here, volumes) or (first and here == "/proc"):
            break
        target = look(here)
        if target:
            first, links = first or here, links + 1
            if links > _MOST_LINKS:
                raise BadLink(
                    f"the image's {first} is a symbolic link that leads nowhere",
                    f"镜像中的 {first} 是无法解析的符号链接",
                )
            left += target.split("/")[::-1]
            here = "/" if target.startswith("/") else os.path.dirname(here)
    return first, here


def _volume(path: str, volumes: list[str]) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in volumes)


def _remembered(look: Lookup) -> Lookup:
    """Asks about nothing twice, nor about what is below something missing."""
    seen: dict[str, str | None] = {}

    def lookup(path: str) -> str | None:
        if path not in seen:
            above = os.path.dirname(path)
            seen[path] = None if above != "/" and seen.get(above, "") is None else look(path)
        return seen[path]

    return lookup


@contextlib.contextmanager
def _looking(
    daemon: Daemon, wanted: dict[str, Any], image: str, root: str | None
) -> Iterator[Lookup]:
    if root is not None:
        yield lambda path: _kind(f"{os.path.realpath(root)}{path}")
        return
    # Docker mounts the volumes of a container, and makes their mount points, to look into it.
    name = f"{wanted['name']}-bare"
    daemon.create_bare(name, image, wanted["create"]["Labels"])
    try:
        yield lambda path: daemon.link(name, path)
    finally:
        daemon.remove(name)


def _is_visible(root: str) -> bool:
    """A Podman without root mounts it where only its own processes see it."""
    with contextlib.suppress(OSError):
        return bool(os.listdir(root))
    return False


def _kind(path: str) -> str | None:
    try:
        return os.readlink(path) if stat.S_ISLNK(os.lstat(path).st_mode) else ""
    except (FileNotFoundError, NotADirectoryError):
        return None
