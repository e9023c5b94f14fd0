"""Opening what is beneath a volume's root, and nothing else, whatever changes meanwhile.

Everything is found as an O_PATH descriptor with openat2(BENEATH | NO_MAGICLINKS), which reads
nothing and wakes no device, then looked at, and only then opened for reading. What is made, moved
or removed is named by the descriptor of its folder and one name without a slash.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from danlu.files.helper.faults import Fault
from danlu.files.helper.names import split, to_text

_NR = 437  # openat2, on every architecture
_RENAMEAT2_NOREPLACE = 1
NO_MAGICLINKS, NO_SYMLINKS, BENEATH = 0x02, 0x04, 0x08
_TRIES = 20
MOST_LINKS = 40
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PATH = os.O_PATH | os.O_CLOEXEC

_libc = ctypes.CDLL(None, use_errno=True)


class _How(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


@dataclass(slots=True)
class Root:
    """A volume's folder. The server has opened it, since its parents may be closed to the user."""

    fd: int
    path: str  # as tasks see it
    volume: str
    read_only: bool

    def shown(self, parts: list[bytes]) -> str:
        return "/".join([self.path, *map(to_text, parts)])


@dataclass(slots=True)
class Place:
    """A path: a volume and names below its root."""

    root: Root
    parts: list[bytes]

    @property
    def shown(self) -> str:
        return self.root.shown(self.parts)

    @property
    def name(self) -> bytes:
        return self.parts[-1]

    def below(self, *names: bytes) -> Place:
        return Place(self.root, [*self.parts, *names])

    def parent(self) -> Place:
        if not self.parts:
            raise Fault("is_a_volume", self.shown)
        return Place(self.root, self.parts[:-1])


def place(root: Root, below: str) -> Place:
    try:
        return Place(root, split(below))
    except ValueError:
        raise Fault("bad_name", f"{root.path}/{below}") from None


def locate(root: int, parts: list[bytes], *, links: bool = True, last: bool = True) -> int:
    """An O_PATH descriptor. `links`: follow those that stay beneath; `last`: also the last name."""
    path = b"/".join(parts) or b"."
    flags = PATH if last and links else PATH | os.O_NOFOLLOW
    if not HAS_OPENAT2:
        return _walk(root, parts, links, last)
    # With NO_SYMLINKS a link as the last name would be an error; it is wanted as itself.
    resolve = BENEATH | NO_MAGICLINKS | (0 if links else NO_SYMLINKS)
    if not links and not last and len(parts) > 1:
        folder = openat2(root, b"/".join(parts[:-1]), PATH, resolve)
        try:
            return os.open(parts[-1], PATH | os.O_NOFOLLOW, dir_fd=folder)
        finally:
            os.close(folder)
    if not links and not last:
        return os.open(path, PATH | os.O_NOFOLLOW, dir_fd=root)
    return openat2(root, path, flags, resolve)


def openat2(folder: int, path: bytes, flags: int, resolve: int) -> int:
    how = _How(flags, 0, resolve)
    for _ in range(_TRIES):
        fd = int(_libc.syscall(_NR, folder, path, ctypes.byref(how), ctypes.sizeof(how)))
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):  # EAGAIN: something was renamed on the way
            break
    raise OSError(code, os.strerror(code))


def _walk(root: int, parts: list[bytes], links: bool, last: bool) -> int:
    """The same without openat2: one name at a time, `..` of a link by the way back."""
    way = [os.dup(root)]
    left = parts[::-1]
    seen = 0
    try:
        while left:
            name = left.pop()
            if name in (b"", b"."):
                continue
            if name == b"..":
                if len(way) == 1:
                    raise OSError(errno.EXDEV, "leads out")
                os.close(way.pop())
                continue
            fd = os.open(name, PATH | os.O_NOFOLLOW, dir_fd=way[-1])
            way.append(fd)
            if not stat.S_ISLNK(os.fstat(fd).st_mode) or (not left and not last):
                continue
            seen += 1
            target = os.readlink(b"", dir_fd=fd)
            os.close(way.pop())
            if not links or seen > MOST_LINKS:
                raise OSError(errno.ELOOP, "a link")
            if target.startswith(b"/"):
                raise OSError(errno.EXDEV, "leads out")
            left.extend(target.split(b"/")[::-1])
        return way.pop()
    finally:
        for fd in way:
            os.close(fd)


def _has_openat2() -> bool:
    try:
        os.close(openat2(os.open("/", PATH), b".", PATH, BENEATH))
    except OSError:
        return False
    return True


HAS_OPENAT2 = _has_openat2()


@contextlib.contextmanager
def located(
    where: Place, *, links: bool = True, last: bool = True
) -> Iterator[tuple[int, os.stat_result]]:
    fd = locate(where.root.fd, where.parts, links=links, last=last)
    try:
        yield fd, os.fstat(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def folder_at(where: Place, *, links: bool = True) -> Iterator[int]:
    """A folder, opened for reading its names."""
    with located(where, links=links) as (fd, found):
        if not stat.S_ISDIR(found.st_mode):
            raise Fault("not_a_folder", where.shown)
        folder = os.open(b".", FOLDER, dir_fd=fd)
    try:
        yield folder
    finally:
        os.close(folder)


@contextlib.contextmanager
def parent_of(where: Place, *, write: bool = True) -> Iterator[tuple[int, bytes]]:
    """The folder something is in, and its name there. `write`: refused in a read-only volume."""
    above = where.parent()
    if write:
        writable(where)
    with located(above) as (fd, found):
        if not stat.S_ISDIR(found.st_mode):
            raise Fault("not_a_folder", above.shown)
        yield fd, where.name


def writable(where: Place) -> None:
    if where.root.read_only:
        raise Fault("read_only_volume", where.shown)


def open_file(where: Place) -> int:
    """A regular file for reading; nothing else is ever opened."""
    with located(where) as (fd, found):
        if stat.S_ISDIR(found.st_mode):
            raise Fault("is_a_folder", where.shown)
        if not stat.S_ISREG(found.st_mode):
            raise Fault("not_a_file", where.shown)
        return reopen(fd)


def reopen(fd: int, flags: int = os.O_RDONLY) -> int:
    """What an O_PATH descriptor names, and not what its name has become since."""
    return os.open(f"/proc/self/fd/{fd}", flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)


def open_regular(folder: int, name: bytes) -> int:
    """A regular file in a folder, through no link."""
    fd = os.open(name, PATH | os.O_NOFOLLOW, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        return reopen(fd)
    finally:
        os.close(fd)


def rename_new(source: int, name: bytes, target: int, new: bytes) -> None:
    """Renames where nothing has the new name. Raises FileExistsError."""
    done = _libc.renameat2(source, name, target, new, _RENAMEAT2_NOREPLACE)
    if done == 0:
        return
    code = ctypes.get_errno()
    if code not in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
        raise OSError(code, os.strerror(code), name)
    # Not every file system can (NFS). EINVAL also says "into itself", which rename() repeats.
    if exists(target, new):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new)
    os.rename(name, new, src_dir_fd=source, dst_dir_fd=target)


def exists(folder: int, name: bytes) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
