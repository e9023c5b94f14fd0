"""A task's file system: its own root with the host's folders and its volumes, without our data.

Runs in the keeper, in a new mount namespace. A tmpfs becomes the root, so missing mount points can
be created without touching the host. Once volumes are mounted the keeper opens no path in it: what
it needs was opened before, in `View`.
"""

from __future__ import annotations

import contextlib
import os
import stat

from danlu.engines.local.keeper import devices, linux, own_etc
from danlu.engines.local.keeper.folders import RUN, RUN_SIZE
from danlu.engines.local.keeper.points import Kept, Points, open_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SKIPPED = frozenset({"dev", "proc", "lost+found"})
_FULL = 64 << 10  # counts as full with less than this left
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class View:
    """Descriptors the keeper itself uses in a task's file system."""

    def __init__(self, terminals: int = -1, shared_memory: int = -1) -> None:
        self.terminals = terminals  # folder descriptors; -1: not its own
        self.shared_memory = shared_memory
        self.run = -1
        self.layered = False  # whether a folder was copied to make room for a mount point

    def is_unused(self) -> bool:
        """Whether it is empty after the task's processes are gone."""
        folders = (self.shared_memory, self.run)
        return min(folders) >= 0 and not any(map(os.listdir, folders))

    def is_shared_memory_full(self) -> bool:
        """Whether it has no room for another large write."""
        if self.shared_memory < 0:
            return False
        found = os.fstatvfs(self.shared_memory)
        return found.f_blocks > 0 and found.f_bavail * found.f_bsize < _FULL


def begin(stage: str, nodes: list[str]) -> View:
    """The part shared by all tasks. `stage`: an empty folder on the host to build on."""
    os.umask(0o022)  # other users must be able to traverse these folders
    linux.mount("", "/", "", linux.MS_REC | linux.MS_PRIVATE)
    linux.mount("danlu", stage, "tmpfs", 0, "mode=755,size=1m")
    # Otherwise the recursive bind of the folder with the stage would copy the stage into itself.
    linux.mount("", stage, "", linux.MS_UNBINDABLE)
    os.chdir(stage)
    _bind_host()
    _mount_proc()
    view = View(devices.make())
    for path in nodes:
        devices.add(path)
    return view


def enter(
    stage: str, view: View, task: dict[str, Any], hide: list[str], kept: Kept, links: str = ""
) -> None:
    """After begin(): adds the task's mounts and makes it the root. `hide`: paths to hide."""
    os.chdir(stage)
    for path in task["devices"]:
        devices.add(path)
    devices.close()
    size = f",size={task['shm']}" if task["shm"] else ""
    linux.mount("shm", "dev/shm", "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=1777" + size)
    view.shared_memory = os.open("dev/shm", _FOLDER)
    own = "" if task.get("uid") is None else f",uid={task['uid']},gid={task['gid']}"
    linux.mount(
        "run", RUN[1:], "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, f"mode=700,size={RUN_SIZE}{own}"
    )
    view.run = os.open(RUN[1:], _FOLDER)
    for folder in hide:
        if os.path.isdir("." + folder):
            linux.mount("hidden", "." + folder, "tmpfs", linux.MS_RDONLY, "mode=755,size=4k")
    _name_user(task["mounts"], links)
    root = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    points = Points(root, kept)
    for mount in sorted(task["mounts"], key=lambda mount: str(mount["target"])):
        if not own_etc.is_in(mount):
            points.bind(mount)
    points.finish()
    view.layered = points.layered
    linux.restrict(root, read_only=True, recursive=False)
    os.close(root)
    linux.pivot_root(".", ".")
    linux.detach(".")
    os.chdir("/")


def _name_user(mounts: list[dict[str, Any]], links: str) -> None:
    """After what is to be hidden in /etc is hidden."""
    files = {
        os.path.basename(str(mount["target"])): open_source(mount)
        for mount in mounts
        if own_etc.is_in(mount)
    }
    if files:
        own_etc.make("" if own_etc.has_more_below(mounts) else links, files)


def _bind_host() -> None:
    for entry in os.scandir("/"):
        if entry.name == "mnt" and entry.is_dir(follow_symlinks=False):
            _bind_each("/mnt")
        elif entry.name == "run":
            _bind_run(entry)
        elif entry.name not in _SKIPPED:
            _bind_entry(entry)
    if os.path.isdir("sys"):
        _make_read_only("sys")  # otherwise a task run as root could leave its cgroup
    if not os.path.lexists("run"):
        os.makedirs(RUN[1:])


def make_run_point() -> None:
    """Once, if we may: then the machine's /run needs no copy in every view."""
    with contextlib.suppress(OSError):
        os.mkdir(RUN, 0o755)


def _bind_run(entry: os.DirEntry[str]) -> None:
    if entry.is_dir(follow_symlinks=False) and os.path.isdir(RUN):
        _bind_entry(entry)
        return
    _bind_each("/run")
    os.mkdir(RUN[1:], 0o755)


def _make_read_only(path: str) -> None:
    folder = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    linux.restrict(folder, read_only=True)
    os.close(folder)


def _bind_each(folder: str) -> None:
    """Replaces a folder most tasks have volumes in ahead of time."""
    try:
        entries = list(os.scandir(folder))
        mode = stat.S_IMODE(os.stat(folder).st_mode)
    except PermissionError:
        entries, mode = [], 0o755
    os.mkdir("." + folder, mode)
    for entry in entries:
        _bind_entry(entry)


def _bind_entry(entry: os.DirEntry[str]) -> None:
    copy = "." + entry.path
    if entry.is_symlink():
        os.symlink(os.readlink(entry.path), copy)
        return
    if entry.is_dir(follow_symlinks=False):
        os.mkdir(copy)
    elif entry.is_file(follow_symlinks=False) or _is_socket(entry):
        os.close(os.open(copy, os.O_CREAT | os.O_CLOEXEC))
    else:
        return
    linux.mount(entry.path, copy, "", linux.MS_BIND | linux.MS_REC)


def _is_socket(entry: os.DirEntry[str]) -> bool:
    return stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)


def _mount_proc() -> None:
    os.mkdir("proc")
    flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
    try:
        linux.mount("proc", "proc", "proc", flags)
    except PermissionError:
        # In a container with a partly masked /proc the kernel refuses to mount a new one.
        linux.mount("/proc", "proc", "", linux.MS_BIND | linux.MS_REC)
