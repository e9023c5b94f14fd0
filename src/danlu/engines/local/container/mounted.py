"""Checks a container's mounts before anything in it is used.

An image or a volume may contain a link at a mount point. Runtimes follow it, so a volume could be
mounted over the container's /dev or /proc. The kernel's mount table, read from the host, shows
where each mount really is.
"""

from __future__ import annotations

import os
import re

from danlu.engines.local.keeper import linux
from danlu.engines.local.keeper.folders import RUN
from danlu.engines.local.keeper.sandbox import View

_RUNTIMES_OWN = (("/proc", "proc"), ("/dev", "tmpfs"), ("/dev/pts", "devpts"), (RUN, "tmpfs"))
_ESCAPED = re.compile(rb"\\([0-7]{3})")


def check_mounts(pid: int, targets: list[str], layered: list[str]) -> None:
    """Checks that volumes are at their mount points and /dev and /proc are the runtime's.

    `layered`: where it was asked for empty file systems.
    """
    found = _table(pid)
    for target in [*targets, *layered]:
        if os.path.normpath(target) not in found:
            raise OSError(
                f"mount point {target}: the image or a volume has a symbolic link in this path, "
                "which is not allowed; choose another path"
            )
    ours = [(os.path.normpath(target), "tmpfs") for target in layered]
    for point, kind in [*_RUNTIMES_OWN, *ours]:
        if found.get(point) != (kind, "/"):
            raise OSError(f"the container's {point} is not the runtime's own")


def hand_over_run(uid: int | None, gid: int | None) -> None:
    """Gives the task's own folder, still empty, to its user."""
    named = linux.open_without_links(RUN)
    folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=named)
    if uid is not None and gid is not None:
        os.fchown(folder, uid, gid)
    os.fchmod(folder, 0o700)
    os.close(folder)
    os.close(named)


def view_of_container() -> View:
    """Called after joining the container and checking its /dev."""
    return View(linux.open_without_links("/dev/pts"), linux.open_without_links("/dev/shm"))  # noqa: S108


def _table(pid: int) -> dict[str, tuple[str, str]]:
    """mount point -> (file system type, its root); the topmost mount wins."""
    found: dict[str, tuple[str, str]] = {}
    with open(f"/proc/{pid}/mountinfo", "rb") as file:
        for line in file:
            left, _, right = line.partition(b" - ")
            fields = left.split(b" ")
            found[_plain(fields[4])] = (right.split(b" ")[0].decode(), _plain(fields[3]))
    return found


def _plain(field: bytes) -> str:
    return os.fsdecode(_ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), field))
