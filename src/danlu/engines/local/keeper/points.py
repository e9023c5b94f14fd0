"""Mount points for a task's volumes, in the root being built for it.

Everything is done by descriptors, one path component at a time. The contents of a volume belong to
its user: links there are never followed, and files are only opened with O_PATH. Only the machine's
own links, in its root, in /mnt and in an /etc of the task's own, are followed, and never into
system paths.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from danlu.engines.local.keeper import linux, own_etc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_LINKS = 40
MOST_SHOWN = 4096  # entries in a folder to which a mount point is added
_BIND = linux.MS_BIND | linux.MS_REC


class Kept:
    """System paths, where no user volume is mounted."""

    def __init__(self, below: list[str], open_below: list[str]) -> None:
        self._below = tuple(f"{path}/" for path in below)
        self._open = tuple(open_below)

    def has(self, path: str) -> bool:
        return f"{path}/".startswith(self._below) and not path.startswith(self._open)


class Points:
    """`root`: the folder that becomes the task's root, on our own tmpfs."""

    def __init__(self, root: int, kept: Kept) -> None:
        self._root = root
        self._kept = kept
        self._device = os.fstat(root).st_dev
        self._layered: list[list[str]] = []
        self._machines_own = {_identity(os.fstat(root))}
        for name in ("mnt", "etc"):
            with contextlib.suppress(FileNotFoundError):
                found = os.stat(name, dir_fd=root, follow_symlinks=False)
                self._machines_own.add(_identity(found))

    def bind(self, mount: dict[str, Any]) -> None:
        source = open_source(mount)
        try:
            folder = stat.S_ISDIR(os.fstat(source).st_mode)
            parent, name = self._find(str(mount["target"]), folder)
        except BaseException:
            os.close(source)
            raise
        _mount(source, parent, name)
        os.close(source)
        mounted = linux.name_in(parent, name)
        linux.restrict(mounted, read_only=bool(mount["read_only"]))
        os.close(mounted)
        os.close(parent)

    @property
    def layered(self) -> bool:
        return bool(self._layered)

    def finish(self) -> None:
        """Called last. Makes our folders read-only: files written there would be lost."""
        for path in self._layered:
            here = os.dup(self._root)
            for name in path:
                there = linux.name_in(here, name)
                os.close(here)
                here = there
            linux.restrict(here, read_only=True, recursive=False)
            os.close(here)

    def _find(self, target: str, folder: bool) -> tuple[int, str]:
        """(parent folder, name) of the mount point; created if needed, but never on the host."""
        wanted = _parts(target)
        links = 0
        parts, done, here = list(wanted), list[str](), os.dup(self._root)
        try:
            while True:
                name = parts.pop(0)
                found = self._look(here, name, bool(parts) or folder)
                if found is None:  # its parent was replaced: start over
                    self._layered.append(list(done))
                    parts, done, here = [*done, name, *parts], [], self._again(here)
                    continue
                kind = os.fstat(found).st_mode
                if stat.S_ISLNK(kind):
                    links += 1
                    parts = [*self._follow(here, name, done, target, links), *parts]
                    os.close(found)
                    done, here = [], self._again(here)
                    continue
                if not parts:
                    os.close(found)
                    self._check([*done, name], wanted, target)
                    return here, name
                os.close(here)
                here = found
                if not stat.S_ISDIR(kind):
                    raise _refusal(target, f"/{'/'.join([*done, name])} is not a folder")
                done.append(name)
        except BaseException:
            os.close(here)
            raise

    def _again(self, here: int) -> int:
        os.close(here)
        return os.dup(self._root)

    def _look(self, here: int, name: str, folder: bool) -> int | None:
        try:
            return linux.name_in(here, name)
        except FileNotFoundError:
            pass
        if os.fstat(here).st_dev != self._device:
            self._layer(here)
            return None
        if folder:
            os.mkdir(name, dir_fd=here)
        else:
            _make_file(name, here)
        return linux.name_in(here, name)

    def _follow(self, here: int, name: str, done: list[str], target: str, links: int) -> list[str]:
        """Resolves one of the machine's links; the kernel would start at the host's root."""
        path = "/".join(["", *done, name])
        if _identity(os.fstat(here)) not in self._machines_own:
            raise _refusal(target, f"{path} is a symbolic link, which is not followed there")
        if links > _MOST_LINKS:
            raise _refusal(target, "too many symbolic links")
        led = os.readlink(name, dir_fd=here)
        return _parts(os.path.join("/", *done, led))

    def _check(self, final: list[str], wanted: list[str], target: str) -> None:
        """Checks the target of links; the requested path was checked on submission."""
        final = own_etc.shown(final)
        path = "/" + "/".join(final)
        if final != wanted and self._kept.has(path):
            raise _refusal(target, f"it leads to {path}, which belongs to the system")

    def _layer(self, folder: int) -> None:
        """Replaces a folder with our own that has the same entries and room for a new one."""
        shown = _names(folder)
        store = f".layer{len(_names(self._root))}"
        linux.mount("", linux.by_number(self._root), "", linux.MS_PRIVATE)  # bindable again
        os.mkdir(store, dir_fd=self._root)
        copy = linux.name_in(self._root, store)
        for name in shown:
            try:
                entry = linux.name_in(folder, name)
            except FileNotFoundError:
                continue  # removed since it was listed
            _show(entry, copy, name)
            os.close(entry)
        _look_like(copy, os.fstat(folder))
        linux.mount(linux.by_number(copy), linux.by_number(folder), "", _BIND)
        os.close(copy)


def open_source(mount: dict[str, Any]) -> int:
    source = str(mount["source"])
    try:
        # Otherwise anyone with write access above it could replace it with a link.
        return linux.open_without_links(source)
    except OSError as error:
        why = {
            errno.ENOENT: "does not exist on this node",
            errno.ELOOP: "is, or is below, a symbolic link",
        }
        what = why.get(error.errno or 0, error.strerror)
        raise OSError(error.errno, f"volume {mount['name']}: {source} {what}") from error


def _show(entry: int, copy: int, name: str) -> None:
    kind = os.fstat(entry).st_mode
    if stat.S_ISLNK(kind):
        os.symlink(os.readlink("", dir_fd=entry), name, dir_fd=copy)
        return
    if stat.S_ISDIR(kind):
        os.mkdir(name, dir_fd=copy)
    else:
        _make_file(name, copy)
    _mount(entry, copy, name)


def _look_like(copy: int, shown: os.stat_result) -> None:
    path = linux.by_number(copy)
    with contextlib.suppress(OSError):  # the owner is not mapped in the user namespace
        os.chown(path, shown.st_uid, shown.st_gid)
    os.chmod(path, stat.S_IMODE(shown.st_mode))


def _mount(source: int, folder: int, name: str) -> None:
    point = linux.name_in(folder, name)
    try:
        linux.mount(linux.by_number(source), linux.by_number(point), "", _BIND)
    finally:
        os.close(point)


def _make_file(name: str, folder: int) -> None:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    os.close(os.open(name, flags, 0o644, dir_fd=folder))


def _names(folder: int) -> list[str]:
    listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    found: list[str] = []
    try:
        with os.scandir(listed) as entries:
            for entry in entries:
                found.append(entry.name)
                if len(found) > MOST_SHOWN:
                    raise OSError(
                        errno.E2BIG,
                        f"its folder has more than {MOST_SHOWN} entries: create the mount point "
                        "before the job starts",
                    )
    finally:
        os.close(listed)
    return sorted(found)


def _parts(path: str) -> list[str]:
    return [part for part in os.path.normpath(path).split("/") if part]


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _refusal(target: str, why: str) -> OSError:
    return OSError(errno.EPERM, f"mount point {target}: {why}")
