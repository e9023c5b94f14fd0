"""What a task sees: a root of its own with the host's folders, its volumes and nothing of ours.

Runs in the keeper, in a fresh mount namespace. A tmpfs becomes the root, so mount points that
the host does not have can be made without touching the host.
"""

from __future__ import annotations

import os
import stat

from danlu.engines.local.keeper import linux

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SKIPPED = frozenset({"proc", "lost+found"})
_FULL = 64 << 10  # less than this left is nothing left


def begin(stage: str) -> None:
    """The part that is the same for all tasks. `stage`: an empty folder of the host to build on."""
    os.umask(0o022)  # folders made for the view are everybody's to pass
    linux.mount("", "/", "", linux.MS_REC | linux.MS_PRIVATE)
    linux.mount("danlu", stage, "tmpfs", 0, "mode=755,size=1m")
    # Else the recursive bind of the folder that holds the stage would copy the stage into itself.
    linux.mount("", stage, "", linux.MS_UNBINDABLE)
    os.chdir(stage)
    _bind_host()
    _mount_proc()


def enter(stage: str, mounts: list[dict[str, Any]], hide: list[str], shm: int) -> None:
    """After begin(): add the task's own and make it the root. `hide`: what it must not see."""
    os.chdir(stage)
    if os.path.isdir("dev/shm"):
        size = f",size={shm}" if shm else ""
        linux.mount("shm", "dev/shm", "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=1777" + size)
    for folder in hide:
        if os.path.isdir("." + folder):
            linux.mount("hidden", "." + folder, "tmpfs", linux.MS_RDONLY, "mode=755,size=4k")
    for mount in sorted(mounts, key=lambda mount: str(mount["target"])):
        _bind_volume(mount)
    linux.make_read_only(".", recursive=False)
    linux.pivot_root(".", ".")
    linux.detach(".")
    os.chdir("/")


def is_unused() -> bool:
    """In a task's root whose processes are gone: is nothing of theirs left in it?"""
    try:
        return not os.listdir("/dev/shm")  # noqa: S108 - a file system of its own
    except OSError:
        return False


def is_shared_memory_full() -> bool:
    """In a task's own view, while it is there: has it no room for another large write?"""
    try:
        found = os.statvfs("/dev/shm")  # noqa: S108 - a file system of its own
    except OSError:
        return False
    return found.f_blocks > 0 and found.f_bavail * found.f_bsize < _FULL


def _bind_host() -> None:
    for entry in os.scandir("/"):
        if entry.name == "mnt" and entry.is_dir(follow_symlinks=False):
            _bind_each("/mnt")
        elif entry.name not in _SKIPPED:
            _bind_entry(entry)
    if os.path.isdir("sys"):
        linux.make_read_only("sys")  # else a task run as root could leave its cgroup


def _bind_each(folder: str) -> None:
    """A folder that most tasks have volumes in: now, while there is time, one of ours."""
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
    elif entry.is_file(follow_symlinks=False):
        os.close(os.open(copy, os.O_CREAT | os.O_CLOEXEC))
    else:
        return
    linux.mount(entry.path, copy, "", linux.MS_BIND | linux.MS_REC)


def _mount_proc() -> None:
    os.mkdir("proc")
    flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
    try:
        linux.mount("proc", "proc", "proc", flags)
    except PermissionError:
        # Inside a container whose own /proc is partly masked the kernel allows no fresh one.
        linux.mount("/proc", "proc", "", linux.MS_BIND | linux.MS_REC)


def _bind_volume(mount: dict[str, Any]) -> None:
    source = str(mount["source"])
    try:
        # Whoever can write above it could otherwise put a link to anything in its place.
        fd = linux.open_without_links(source)
    except OSError as error:
        why = {2: "does not exist on this node", 40: "is, or is below, a symbolic link"}
        what = why.get(error.errno or 0, error.strerror)
        raise OSError(error.errno, f"volume {mount['name']}: {source} {what}") from error
    target = _point(str(mount["target"]), stat.S_ISDIR(os.fstat(fd).st_mode))
    linux.mount(f"/proc/self/fd/{fd}", target, "", linux.MS_BIND | linux.MS_REC)
    os.close(fd)
    if mount["read_only"]:
        linux.make_read_only(target)


def _point(target: str, folder: bool) -> str:
    """The place to mount on, made if need be, but never on the host."""
    parts = [part for part in os.path.normpath(target).split("/") if part]
    path = "."
    links = 0
    while parts:
        name = parts.pop(0)
        step = f"{path}/{name}"
        if os.path.islink(step):
            # Followed by hand: the kernel would resolve it against the host's root.
            links += 1
            if links > 40:
                raise OSError(40, f"mount point {target}: too many symbolic links")
            link = os.readlink(step)
            inside = link if link.startswith("/") else os.path.normpath(f"{path[1:]}/{link}")
            parts = [part for part in inside.split("/") if part] + parts
            path = "."
            continue
        if not os.path.lexists(step):
            if os.stat(path).st_dev != os.stat(".").st_dev:
                _layer(path)
            if parts or folder:
                os.mkdir(step)
            else:
                os.close(os.open(step, os.O_CREAT | os.O_CLOEXEC))
        path = step
    return path


def _layer(path: str) -> None:
    """Replace a folder of the host by one of ours that shows the same and can hold a new name."""
    names = sorted(os.listdir(path))
    store = f"./.layer{len(os.listdir('.'))}"
    linux.mount("", ".", "", linux.MS_PRIVATE)  # bindable again
    os.mkdir(store)
    os.chmod(store, stat.S_IMODE(os.stat(path).st_mode))
    for name in names:
        shown, copy = f"{path}/{name}", f"{store}/{name}"
        if os.path.islink(shown):
            os.symlink(os.readlink(shown), copy)
            continue
        if os.path.isdir(shown):
            os.mkdir(copy)
        else:
            os.close(os.open(copy, os.O_CREAT | os.O_CLOEXEC))
        linux.mount(shown, copy, "", linux.MS_BIND | linux.MS_REC)
    linux.mount(store, path, "", linux.MS_BIND | linux.MS_REC)
