"""The folders that jobs work in: made from what is stored, tidied up a day after the job."""

from __future__ import annotations

import contextlib
import json
import os
import stat

from danlu.files.bundles import ahead
from danlu.files.bundles.filling import clear, fill
from danlu.files.bundles.trees import FOLDER, Bad, Tree, complete, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def check_out(ask: dict[str, Any], home: int) -> dict[str, Any]:
    """Makes a working folder, once per job: a retried job finds what it wrote there."""
    made = _made(ask["job"], home)
    if made is not None:
        return {"made": False, "folder": made["folder"]}
    tree = complete(ask["id"])
    store = os.open(".", FOLDER)
    outer, _, name = ask["folder"].rpartition("/")
    with contextlib.suppress(FileExistsError):
        os.mkdir(outer, 0o700, dir_fd=home)
    parent = os.open(outer, FOLDER, dir_fd=home)
    draft = f".{name}.{ask['job']}"
    clear(draft, parent)
    try:
        there = ahead.take(tree, store, draft, parent)
        cloned = fill(tree, store, there)
        os.fchdir(store)
        folder = _rename(draft, outer, (name, f"{name}-{ask['job'][-12:]}"), parent, ask)
    except BaseException:
        os.fchdir(store)
        clear(draft, parent)
        raise
    return {
        "made": True,
        "folder": folder,
        "bytes": tree.bytes,
        "ahead": cloned is not True and tree.bytes >= ahead.SMALLEST,
        "copied": tree.bytes - sum(entry[3] for entry in tree.files if entry[1] in there),
    }


def _made(job: str, home: int) -> dict[str, Any] | None:
    """The working folder that was made for a job, if it is still there."""
    try:
        with open(f"made/{job}", "rb") as file:
            made: dict[str, Any] = json.loads(file.read())
            made["at"] = os.fstat(file.fileno()).st_ctime_ns
        os.stat(made["folder"], dir_fd=home, follow_symlinks=False)
    except (OSError, ValueError):
        return None
    return made


def _rename(
    draft: str, outer: str, names: tuple[str, ...], parent: int, ask: dict[str, Any]
) -> str:
    """Another folder of that name may be left from before the platform was set up anew."""
    for name in names:
        folder = f"{outer}/{name}"
        if os.path.lexists(f"/proc/self/fd/{parent}/{name}"):
            continue
        note = json.dumps({"id": ask["id"], "folder": folder}).encode()
        write_file(f"made/{ask['job']}", note)  # first: a crash in between leads here again
        os.rename(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
        return folder
    raise Bad("folder_taken", name=ask["folder"])


def slim(ask: dict[str, Any], home: int) -> dict[str, Any]:
    """Leaves only what the job wrote or changed: the rest is in the bundle."""
    made = _made(ask["job"], home)
    if made is None:
        _forget(ask["job"])
        return {"removed": 0}
    try:
        tree = complete(made["id"])
        here = home
        for part in made["folder"].split("/"):
            here = os.open(part, FOLDER, dir_fd=here)
    except (OSError, Bad):
        _forget(ask["job"])
        return {"removed": 0}
    store = os.open(".", FOLDER)
    os.fchdir(here)
    removed = _remove_unchanged(tree, made["at"])
    os.fchdir(store)
    _remove_empty(made["folder"], home)
    _forget(ask["job"])
    return {"removed": removed}


def _forget(job: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"made/{job}")


def _remove_unchanged(tree: Tree, at: int) -> int:
    removed = 0
    for entry in tree.entries:
        kind, path = entry[0], entry[1]
        with contextlib.suppress(OSError):
            found = os.lstat(path)
            if found.st_ctime_ns > at or found.st_nlink > 1:
                continue
            if kind == "f" and stat.S_ISREG(found.st_mode):
                if found.st_size == entry[3] and found.st_mtime_ns == entry[5]:
                    os.unlink(path)
                    removed += found.st_size
            elif kind == "l" and stat.S_ISLNK(found.st_mode):
                os.unlink(path)
    for entry in reversed(tree.entries):
        if entry[0] == "d":
            with contextlib.suppress(OSError):
                os.rmdir(entry[1])  # only if nothing is left in it
    return removed


def _remove_empty(folder: str, home: int) -> None:
    with contextlib.suppress(OSError):
        os.rmdir(folder, dir_fd=home)
