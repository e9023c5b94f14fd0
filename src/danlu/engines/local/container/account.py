"""Names for the task's user and groups in a container: many programs look up their own user.

The files come from the image, so they may be anything: a device, a pipe without a writer, gigabytes
of data. They are checked before they are opened, through the same descriptor.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat

from danlu.engines.local.container.daemon import LINK, Daemon
from danlu.engines.local.container.known import Known
from danlu.engines.local.keeper import linux

_GROUP = tuple[str, int]
_LARGEST = 1 << 20
_LONGEST_NAME = 255
_ACCOUNTS = ("/etc/passwd", "/etc/group")
# File types in Go's encoding, used by the runtimes.
_FOLDER, _KINDS = 1 << 31, 0x8F280000


def check_accounts(daemon: Daemon, name: str, image: str, targets: list[str], known: str) -> None:
    """Called before the container starts, when its runtime reads these files unchecked.

    Asking takes the runtime longer than creating the container, so the answer is kept in the
    folder `known` if it always stays the same: an image never changes under its id.
    """
    mark = _mark(image, targets)
    if mark and Known(known).has(mark):
        return
    if _stays_plain(daemon, name, targets) and mark:
        Known(known).add(mark)


def _mark(image: str, targets: list[str]) -> str:
    """A file name for the image with these mount points; "" if the answer may change.

    A mount point below another one may be a link in a volume, to anywhere.
    """
    ordered = sorted(f"{target.rstrip('/')}/" for target in targets)
    if any(second.startswith(first) for first, second in itertools.pairwise(ordered)):
        return ""
    parts = [image.rpartition(":")[2], *ordered]
    mark = ",".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)
    return mark if len(os.fsencode(mark)) <= _LONGEST_NAME else ""


def _stays_plain(daemon: Daemon, name: str, targets: list[str]) -> bool:
    """Whether both are regular files in a folder of the image, which no volume can change."""
    mounted = daemon.mount(name)
    if mounted is not None and _are_plain_below(os.path.realpath(mounted), targets):
        return True
    plain = [_is_plain(daemon, name, path) for path in _ACCOUNTS]
    return all(plain) and _is_folder(daemon, name)


def _are_plain_below(root: str, targets: list[str]) -> bool:
    """Whether the image has them as regular files, or not at all, and a link in it leads no volume
    there. False: they may be anything, or cannot be seen from here.
    """
    try:
        return all(_is_plain_below(root, path) for path in _ACCOUNTS) and not any(
            _has_link(root, target) for target in targets
        )
    except OSError:
        return False


def _is_plain_below(root: str, path: str) -> bool:
    folder, name = os.path.split(path)
    try:
        here = linux.open_without_links(root + folder)
    except FileNotFoundError:
        return True
    try:
        found = os.stat(name, dir_fd=here, follow_symlinks=False)
        return stat.S_ISREG(found.st_mode) and found.st_size <= _LARGEST
    except FileNotFoundError:
        return True
    finally:
        os.close(here)


def _has_link(root: str, path: str) -> bool:
    """Whether a part of the path is a link; what is missing is none."""
    try:
        os.close(linux.open_without_links(root + os.path.normpath(path)))
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno == errno.ELOOP:
            return True
        raise
    return False


def _is_plain(daemon: Daemon, name: str, path: str) -> bool:
    """False: it is missing or a link, so a volume may change it. Raises OSError if it may not
    be read.
    """
    found = daemon.file(name, path)
    linked = found is not None and bool(int(found["mode"]) & LINK)
    if found is not None and linked:
        found = daemon.file(name, str(found["linkTarget"]))
    if found is None or int(found["mode"]) & _FOLDER:
        return False
    if int(found["mode"]) & _KINDS or int(found["size"]) > _LARGEST:
        raise OSError(f"the image's {path} must be a regular file of at most 1 MB")
    return not linked


def _is_folder(daemon: Daemon, name: str) -> bool:
    found = daemon.file(name, "/etc")
    return found is not None and int(found["mode"]) & (_FOLDER | LINK) == _FOLDER


def add_account(numbers: int, uid: int, gid: int, name: str, groups: list[_GROUP]) -> None:
    """Only in the container's own files: never through a link or on a volume.

    `numbers`: the machine's /proc/self/fd.
    """
    with contextlib.suppress(OSError):
        etc = linux.open_without_links("/etc")
        try:
            if os.fstat(etc).st_dev == os.stat("/").st_dev:
                _append(numbers, etc, "passwd", [(uid, f"{name}:x:{uid}:{gid}::/userhome:/bin/sh")])
                lines = [(number, f"{group}:x:{number}:{name}") for group, number in groups]
                _append(numbers, etc, "group", [(gid, f"{name}:x:{gid}:"), *lines])
        finally:
            os.close(etc)


def _append(numbers: int, etc: int, file: str, lines: list[tuple[int, str]]) -> None:
    """Unless the image already has the number or the name."""
    fd = _open(numbers, etc, file)
    if fd < 0:
        return
    try:
        if os.fstat(fd).st_dev != os.stat("/").st_dev:
            return
        os.fchmod(fd, 0o644)
        text = os.read(fd, _LARGEST).decode("utf-8", "surrogateescape")
        added = "\n" if text and not text.endswith("\n") else ""
        os.write(fd, (added + _missing(text, lines)).encode("utf-8", "surrogateescape"))
    finally:
        os.close(fd)


def _open(numbers: int, etc: int, file: str) -> int:
    """Opens a regular file of moderate size; otherwise -1."""
    with contextlib.suppress(FileExistsError):
        flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_RDWR | os.O_CLOEXEC
        return os.open(file, flags, 0o644, dir_fd=etc)
    named = linux.name_in(etc, file)
    try:
        found = os.fstat(named)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            return -1
        flags = os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC
        return os.open(str(named), flags, dir_fd=numbers)
    finally:
        os.close(named)


def _missing(text: str, lines: list[tuple[int, str]]) -> str:
    fields = [line.split(":") for line in text.splitlines()]
    numbers = {entry[2] for entry in fields if len(entry) > 2}
    names = {entry[0] for entry in fields}
    added = ""
    for number, line in lines:
        name = line.partition(":")[0]
        if str(number) not in numbers and name not in names:
            added += line + "\n"
            numbers.add(str(number))
            names.add(name)
    return added
