"""The record of one task: who runs it, how it ended, and its stop order.

One file of fixed size with three slots, fully allocated before the task starts. Later writes
overwrite a slot in place with a checksum, so they need no space on a full disk and readers detect
partial writes.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from json.encoder import encode_basestring_ascii as _quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CLAIM = (0, 1024)
STATUS = (1024, 2048)
ORDER = (3072, 1024)
SIZE = 4096

Slot = tuple[int, int]
_HEAD = 12  # checksum and length, in hex
_WORDS = {id(True): "true", id(False): "false", id(None): "null"}


def encode(slot: Slot, values: dict[str, Any]) -> bytes:
    room = slot[1] - _HEAD
    body = _dump(values)
    if len(body) > room:
        spare = room - len(body) + len(_quote(values["detail"]))
        values = values | {"detail": values["detail"][: max(0, spare // 6 - 1)]}
        body = _dump(values)
    head = b"%08x%04x" % (zlib.crc32(body), len(body))
    return (head + body).ljust(slot[1], b"\0")


def _dump(values: dict[str, Any]) -> bytes:
    """Flat JSON. json.dumps() would cost a hundred pages in every keeper."""
    parts = []
    for name, value in values.items():
        if isinstance(value, str):
            text = _quote(value)
        elif isinstance(value, list):
            text = "[" + ", ".join([_quote(item) for item in value]) + "]"
        else:
            text = _WORDS.get(id(value)) or repr(value)
        parts.append(f'"{name}": {text}')
    return ("{" + ", ".join(parts) + "}").encode()


def write(fd: int, slot: Slot, values: dict[str, Any]) -> None:
    os.pwrite(fd, encode(slot, values), slot[0])


def read(fd: int, slot: Slot) -> dict[str, Any] | None:
    data = os.pread(fd, slot[1], slot[0])
    try:
        body = data[_HEAD : _HEAD + int(data[8:_HEAD], 16)]
        if int(data[:8], 16) != zlib.crc32(body):
            return None
        values: dict[str, Any] = json.loads(body)
    except ValueError:
        return None
    return values


def blank(path: str) -> None:
    """Creates the file with all its space before the task starts."""
    make(path, bytes(SIZE))


def make(path: str, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        if os.write(fd, data) != len(data):
            raise OSError(28, os.strerror(28))
    finally:
        os.close(fd)


def discard(folder: str) -> None:
    """Removes an attempt's folder; renames it first, so that no partial folder is seen."""
    gone = f"{os.path.dirname(folder)}/.gone.{os.path.basename(folder)}.{os.getpid()}"
    with contextlib.suppress(OSError):
        os.rename(folder, gone)
        remove(gone)


def remove(folder: str) -> None:
    for entry in list(os.scandir(folder)):
        if entry.is_dir(follow_symlinks=False):
            remove(entry.path)
        else:
            os.unlink(entry.path)
    os.rmdir(folder)


def new_path(folder: str, task: int) -> str:
    return f"{folder}/{task}.new"


def claim_path(folder: str, task: int) -> str:
    return f"{folder}/{task}.claim"


def unclaimed(folder: str, task: int) -> bool:
    """Whether it can still be claimed."""
    return os.path.exists(new_path(folder, task))


def claim(folder: str, task: int, values: dict[str, Any]) -> int | None:
    """Claims a task: returns its record's descriptor, or None if it is already claimed."""
    new = new_path(folder, task)
    try:
        fd = os.open(new, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    write(fd, CLAIM, values)
    try:
        os.link(new, claim_path(folder, task))
    except OSError:
        os.close(fd)
        return None
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)
    return fd


def fence(folder: str, task: int) -> bool:
    """Makes sure that an unclaimed task can never be claimed. False: it was claimed.

    Needs no disk space. Once the blank record is gone it cannot be linked to a claim, so a check
    for the claim afterwards is conclusive.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new_path(folder, task))
    return not os.path.exists(claim_path(folder, task))
