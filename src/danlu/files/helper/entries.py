"""What is said of a file."""

from __future__ import annotations

import os
import pwd
import stat
from functools import lru_cache
from typing import Any

from danlu.files.helper.beneath import Place, Root, located
from danlu.files.helper.names import to_text
from danlu.files.helper.rights import me

UPLOAD = b".danlu-upload-"
COPY = b".danlu-copy-"
BIN = b".danlu-bin"


def ours(name: bytes) -> bool:
    """Files of the file centre itself, which are not shown."""
    return name.startswith(b".danlu-") and (name == BIN or name.startswith((UPLOAD, COPY)))


def kind_of(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


@lru_cache(1000)
def owner_of(uid: int) -> str:
    if uid == os.geteuid() and not me.shared:
        return me.name
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def entry(where: Place, found: os.stat_result, target: bytes | None = None) -> dict[str, Any]:
    kind = kind_of(found.st_mode)
    values: dict[str, Any] = {
        "name": to_text(where.name) if where.parts else where.root.path.rpartition("/")[2],
        "path": where.shown,
        "kind": kind,
        "size": found.st_size if kind == "file" else 0,
        "modified_at": found.st_mtime,
        "mode": stat.filemode(found.st_mode),
        "owner": owner_of(found.st_uid),
        "target": None,
        "target_kind": None,
    }
    if target is not None:
        values["target"] = to_text(target)
        values["target_kind"] = _leads_to(where)
    return values


def _leads_to(where: Place) -> str | None:
    try:
        with located(where) as (_, found):
            return kind_of(found.st_mode)
    except OSError:
        return None


def entry_at(where: Place) -> dict[str, Any]:
    """Of the name itself: a link is not followed."""
    with located(where, last=False) as (fd, found):
        target = os.readlink(b"", dir_fd=fd) if stat.S_ISLNK(found.st_mode) else None
        return entry(where, found, target)


def entry_in(folder: int, where: Place) -> dict[str, Any]:
    """The same, by the descriptor of its folder."""
    found = os.stat(where.name, dir_fd=folder, follow_symlinks=False)
    target = None
    if stat.S_ISLNK(found.st_mode):
        target = os.readlink(where.name, dir_fd=folder)
    return entry(where, found, target)


def room(root: Root) -> dict[str, int]:
    found = os.fstatvfs(root.fd)
    return {
        "total": found.f_blocks * found.f_frsize,
        "free": found.f_bavail * found.f_frsize,
    }
