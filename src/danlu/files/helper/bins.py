"""The bin: one for each volume and user, in the volume itself, so that deleting is renaming.

`.danlu-bin/UID/ID/thing` is what was deleted, `.danlu-bin/UID/ID/info` says where it was. Where all
users share one uid, their names are used instead.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import stat
import time
from collections.abc import Iterator
from typing import Any

from danlu.files.helper.beneath import FOLDER, Place, Root, parent_of, writable
from danlu.files.helper.entries import BIN, kind_of
from danlu.files.helper.faults import Fault
from danlu.files.helper.names import split, to_text
from danlu.files.helper.request import Request
from danlu.files.helper.rights import me
from danlu.files.helper.trees import remove

KEEPS = 30 * 86400.0  # seconds
MOST_SHOWN = 10_000
THING, INFO = b"thing", b"info"
_LONGEST_INFO = 64 << 10
NONE_THERE = (FileNotFoundError, NotADirectoryError, PermissionError, Fault)


@contextlib.contextmanager
def open_bin(root: Root, make: bool) -> Iterator[int]:
    """Raises FileNotFoundError where there is none, and Fault where there cannot be one."""
    own = me.bin
    if make:
        _make(root, own)
    with contextlib.ExitStack() as stack:
        outer = os.open(BIN, FOLDER, dir_fd=root.fd)
        stack.callback(os.close, outer)
        inner = os.open(own, FOLDER, dir_fd=outer)
        stack.callback(os.close, inner)
        found = os.fstat(inner)
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise Fault("no_bin", root.path)  # somebody else has made it
        yield inner


def _make(root: Root, own: bytes) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(BIN, 0o700, dir_fd=root.fd)
        fd = os.open(BIN, FOLDER, dir_fd=root.fd)
        try:
            # Whoever may write in the volume may have a bin; nobody removes another's.
            above = stat.S_IMODE(os.fstat(root.fd).st_mode)
            os.fchmod(fd, above & 0o2777 | 0o1700)
        finally:
            os.close(fd)
    outer = os.open(BIN, FOLDER, dir_fd=root.fd)
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(own, 0o700, dir_fd=outer)
            inner = os.open(own, FOLDER, dir_fd=outer)
            os.fchmod(inner, 0o700)  # whatever a default ACL says
            os.close(inner)
    finally:
        os.close(outer)


def put_into_bin(where: Place) -> str:
    """The new item's id."""
    writable(where)
    item = f"{time.time_ns() // 1_000_000:011x}{secrets.token_hex(6)}"
    with parent_of(where) as (folder, name):
        os.stat(name, dir_fd=folder, follow_symlinks=False)
        try:
            with open_bin(where.root, True) as own:
                _put(own, item.encode(), folder, name, where)
        except OSError as error:
            if error.errno in (errno.EXDEV, errno.ENOTDIR, errno.ELOOP) or not _may_have(
                where.root
            ):
                raise Fault("no_bin", where.shown) from None
            raise
    return item


def _may_have(root: Root) -> bool:
    try:
        os.close(os.open(BIN, FOLDER, dir_fd=root.fd))
    except OSError:
        return os.access(".", os.W_OK, dir_fd=root.fd, effective_ids=True)
    return True


def _put(own: int, item: bytes, folder: int, name: bytes, where: Place) -> None:
    os.mkdir(item, 0o700, dir_fd=own)
    fd = os.open(item, FOLDER, dir_fd=own)
    try:
        info = {"path": "/".join(map(to_text, where.parts)), "at": time.time()}
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        out = os.open(INFO, flags, 0o600, dir_fd=fd)
        with os.fdopen(out, "wb") as file:
            file.write(json.dumps(info).encode())
        os.rename(name, THING, src_dir_fd=folder, dst_dir_fd=fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(INFO, dir_fd=fd)
        with contextlib.suppress(OSError):
            os.rmdir(item, dir_fd=own)
        raise
    finally:
        os.close(fd)


# -- looking at it -------------------------------------------------------------------------------


def list_bin(request: Request) -> None:
    items: list[dict[str, Any]] = []
    for root in request.roots:
        with contextlib.suppress(*NONE_THERE), open_bin(root, False) as own:
            keep = float(request.values.get("keep") or KEEPS)
            _expire(own, request, keep)
            items += _items(own, root, keep)
    items.sort(key=lambda item: -float(item["deleted_at"]))
    request.answer(items=items[:MOST_SHOWN], complete=len(items) <= MOST_SHOWN)


def _items(own: int, root: Root, keep: float) -> list[dict[str, Any]]:
    found = []
    for name in sorted(os.listdir(own), reverse=True)[: MOST_SHOWN + 1]:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            found.append(_item(own, name, root, keep))
    return found


def _item(own: int, name: str, root: Root, keep: float) -> dict[str, Any]:
    fd = os.open(name, FOLDER, dir_fd=own)
    try:
        info = info_of(fd)
        thing = os.stat(THING, dir_fd=fd, follow_symlinks=False)
    finally:
        os.close(fd)
    parts = split(str(info["path"]))
    kind = kind_of(thing.st_mode)
    return {
        "id": f"{root.volume}~{name}",
        "path": root.shown(parts),
        "name": to_text(parts[-1]),
        "kind": kind,
        "size": thing.st_size if kind == "file" else 0,
        "deleted_at": float(info["at"]),
        "expires_at": float(info["at"]) + keep,
    }


def info_of(fd: int) -> dict[str, Any]:
    source = os.open(INFO, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=fd)
    try:
        info = json.loads(os.read(source, _LONGEST_INFO))
    finally:
        os.close(source)
    if not isinstance(info, dict):
        raise ValueError
    return info


def _expire(own: int, request: Request, keep: float) -> None:
    """What has been there for too long; the time of its info tells, without reading it."""
    for name in os.listdir(own):
        try:
            found = os.stat(f"{name}/info", dir_fd=own, follow_symlinks=False)
        except OSError:
            continue
        if time.time() - found.st_mtime > keep:
            with contextlib.suppress(OSError):
                remove(own, name.encode(), request)
