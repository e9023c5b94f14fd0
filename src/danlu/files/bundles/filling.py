"""Writes the files of a list into a folder, and keeps those that are right already."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat

from danlu.files.bundles.trees import NEW_FILE, Bad, Tree, blob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FICLONE = 0x40049409
AT_ONCE = 16 << 20  # bytes copied by one call, which no signal ends


def fill(tree: Tree, store: int, there: frozenset[str] = frozenset()) -> bool | None:
    """Writes below the current folder, which is nobody else's. `there`: paths that are right.

    Returns whether the file system shares blocks between files; None if nothing had to be copied.
    """
    cloning: bool | None = None
    folders = []
    for entry in tree.entries:
        kind, path = entry[0], entry[1]
        if kind == "d":
            folders.append(entry)
        if path in there:
            continue
        if kind == "d":
            os.mkdir(path, 0o700)
        elif kind == "l":
            os.symlink(entry[2], path)
        else:
            cloning = _copy(entry, store, cloning)
    for entry in reversed(folders):
        os.chmod(entry[1], entry[2] & 0o777 | 0o700)
    return cloning


def keep_what_fits(old: Tree, at: int, new: Tree) -> frozenset[str] | None:
    """The current folder was filled with `old` before `at`: removes what is not in `new`.

    Returns the paths that stay. None: somebody else was in it, so nothing of it can be trusted.
    """
    wanted = {entry[1]: entry for entry in new.entries}
    for entry in old.entries:
        if entry[0] == "d" and not _untouched(entry, at):
            return None
    kept = set()
    for entry in reversed(old.entries):  # what is in a folder before the folder
        kind, path = entry[0], entry[1]
        then = wanted.get(path)
        with contextlib.suppress(FileNotFoundError):
            if then is not None and then[0] == kind and _fits(entry, then, at):
                kept.add(path)
            elif kind == "d":
                os.rmdir(path)
            else:
                os.unlink(path)
    return frozenset(kept)


def _untouched(entry: list[Any], at: int) -> bool:
    try:
        found = os.lstat(entry[1])
    except FileNotFoundError:
        return True  # not made yet
    return stat.S_ISDIR(found.st_mode) and found.st_ctime_ns <= at


def _fits(entry: list[Any], then: list[Any], at: int) -> bool:
    """Whether what is there is still what was written, and what is wanted now. Raises
    FileNotFoundError.
    """
    kind, path = entry[0], entry[1]
    found = os.lstat(path)
    if kind == "d":
        return True
    if kind == "l":
        return stat.S_ISLNK(found.st_mode) and os.readlink(path) == then[2]
    written = (
        stat.S_ISREG(found.st_mode)
        and found.st_nlink == 1
        and found.st_ctime_ns <= at
        and (found.st_size, found.st_mtime_ns) == (entry[3], entry[5])
    )
    if not written or entry[3:5] != then[3:5]:
        return False
    if entry[2] != then[2]:
        os.chmod(path, then[2] & 0o777 | 0o600)
    if entry[5] != then[5]:
        os.utime(path, ns=(then[5], then[5]))
    return True


def _copy(entry: list[Any], store: int, cloning: bool | None) -> bool | None:
    """Shares the blocks where the file system can. Returns whether it could."""
    _, path, mode, size, digest, mtime = entry
    try:
        source = os.open(blob(digest), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=store)
    except FileNotFoundError:
        raise Bad("damaged", name=path[:200]) from None
    try:
        if os.fstat(source).st_size != size:
            raise Bad("damaged", name=path[:200])
        file = os.open(path, NEW_FILE, 0o600)
        try:
            if cloning is not False and size:
                try:
                    fcntl.ioctl(file, FICLONE, source)
                    cloning = True
                except OSError:
                    cloning = False
            if size and not cloning:
                _copy_bytes(source, file, size)
            os.fchmod(file, mode & 0o777 | 0o600)
            os.utime(file, ns=(mtime, mtime))
        finally:
            os.close(file)
    finally:
        os.close(source)
    return cloning


def _copy_bytes(source: int, file: int, size: int) -> None:
    done = 0
    while done < size:
        moved = _move(source, file, done, size - done)
        if not moved:
            raise Bad("damaged", name="")
        done += moved


def _move(source: int, file: int, at: int, size: int) -> int:
    """The server of a network disk may copy by itself."""
    try:
        return os.copy_file_range(source, file, min(size, AT_ONCE), at, at)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
    os.lseek(file, at, os.SEEK_SET)
    return os.sendfile(file, source, at, min(size, AT_ONCE))


def clear(name: str, folder: int) -> None:
    import shutil

    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(name, dir_fd=folder)
