"""Lists of the files of a folder, as a client sends them and as they are stored.

Also what the rest of the worker shares. Only the standard library: see `worker`.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LARGEST_LIST = 64 << 20
LONGEST_PATH = 4096
DEEPEST = 200
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Bad(Exception):
    """What was sent is not right. `code` and values for a message."""

    def __init__(self, code: str, **values: object) -> None:
        super().__init__(code)
        self.answer = {"error": code, **values}


class Tree:
    """A list of files, folders before what is in them."""

    def __init__(self, entries: list[list[Any]]) -> None:
        self.entries = entries
        self.files = [each for each in entries if each[0] == "f"]
        self.sizes = {each[4]: each[3] for each in self.files}

    @property
    def bytes(self) -> int:
        return sum(each[3] for each in self.files)


def read_tree(packed: bytes, most_files: int, most_bytes: int) -> tuple[str, Tree]:
    """Checks every word of it: it comes from a client."""
    unpack = zlib.decompressobj()
    try:
        raw = unpack.decompress(packed, LARGEST_LIST)
        if unpack.unconsumed_tail:
            raise Bad("list_too_long")
        entries = json.loads(raw)
    except (zlib.error, ValueError, RecursionError):
        raise Bad("not_a_list") from None
    if not isinstance(entries, list):
        raise Bad("not_a_list")
    if len(entries) > most_files:
        raise Bad("too_many_files", files=len(entries), most=most_files)
    folders, last = {""}, ""
    for entry in entries:
        path = _check_entry(entry, folders)
        if path <= last:
            raise Bad("not_a_list")
        last = path
    tree = Tree(entries)
    if tree.bytes > most_bytes:
        raise Bad("too_large", bytes=tree.bytes, most=most_bytes)
    return hashlib.sha256(raw).hexdigest(), tree


def _check_entry(entry: object, folders: set[str]) -> str:
    """["d", path, mode], ["f", path, mode, size, sha256, mtime] or ["l", path, target]."""
    length = {"d": 3, "f": 6, "l": 3}
    if not isinstance(entry, list) or not entry or length.get(entry[0]) != len(entry):
        raise Bad("not_a_list")
    kind, path = entry[0], entry[1]
    if not isinstance(path, str) or not _plain(path):
        raise Bad("bad_name", name=str(path)[:200])
    parent = path.rpartition("/")[0]
    if parent not in folders:  # so nothing is ever written through a link
        raise Bad("bad_name", name=path[:200])
    if kind == "l":
        if not isinstance(entry[2], str) or not stays_inside(path, entry[2]):
            raise Bad("link_leads_out", name=path[:200])
        return path
    numbers = entry[2:] if kind == "d" else [entry[2], entry[3], entry[5]]
    if not all(type(each) is int and 0 <= each < 2**62 for each in numbers):
        raise Bad("not_a_list")
    if kind == "d":
        folders.add(path)
    elif not _is_digest(entry[4]):
        raise Bad("not_a_list")
    return path


def _plain(path: str) -> bool:
    try:
        raw = os.fsencode(path)
    except UnicodeEncodeError:
        return False
    parts = raw.split(b"/")
    return (
        len(raw) <= LONGEST_PATH
        and len(parts) <= DEEPEST
        and b"\0" not in raw
        and all(part not in (b"", b".", b"..") and len(part) <= 255 for part in parts)
    )


def stays_inside(path: str, target: str) -> bool:
    """Whether a link leads to something in the same tree."""
    try:
        if (
            not target
            or "\0" in target
            or target.startswith("/")
            or len(os.fsencode(target)) > 4095
        ):
            return False
    except UnicodeEncodeError:
        return False
    depth = path.count("/")
    for part in target.split("/"):
        if part == "..":
            depth -= 1
        elif part not in ("", "."):
            depth += 1
        if depth < 0:
            return False
    return True


def _is_digest(text: object) -> bool:
    return isinstance(text, str) and len(text) == 64 and not set(text) - set("0123456789abcdef")


def blob(digest: str) -> str:
    return f"blobs/{digest[:2]}/{digest[2:]}"


def complete(id: str) -> Tree:
    try:
        with open(f"trees/{id}", "rb") as file:
            return Tree(json.loads(zlib.decompress(file.read())))
    except (OSError, zlib.error, ValueError):
        raise Bad("unknown") from None


def write_file(path: str, data: bytes) -> None:
    draft = f"{path}.{os.getpid()}"
    with open(draft, "xb") as file:
        file.write(data)
    os.replace(draft, path)
