"""Works on one person's bundles, as that person; a process of its own for each request.

Started by file name with nothing but the standard library, so that it is there in a moment. The
first line of its input says what to do; the answer is one line of JSON. The store and the home are
opened before it gives up root, everything in them afterwards:

    <store>/blobs/ab/cdef...   contents of files, by SHA-256
    <store>/trees/<id>         lists of files, zlib-compressed; complete
    <store>/offered/<id>       the same, while contents are missing
    <store>/made/<job>         when a working folder was made
    <store>/ahead              the next working folder, made ahead; its note is ahead.json
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import sys
import time
import zlib

if not __package__:  # started by file name
    sys.path.insert(0, os.path.abspath(__file__).rsplit("/", 4)[0])

from danlu.files.bundles import ahead
from danlu.files.bundles.trees import (
    FOLDER,
    NEW_FILE,
    Bad,
    Tree,
    blob,
    read_tree,
    write_file,
)
from danlu.files.bundles.working import check_out, slim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

GRACE = 3600.0  # seconds a new blob is kept although no list names it yet
HEAD = 40  # bytes before each blob: SHA-256 and size
PIECE = 1 << 20
FEW = 64
OUT_OF_ROOM = (errno.ENOSPC, errno.EDQUOT)


# -- uploading -----------------------------------------------------------------------------------


def offer(ask: dict[str, Any], body: BinaryIO) -> dict[str, Any]:
    """Takes a list of files and says which contents are missing."""
    packed = body.read()
    id, tree = read_tree(packed, ask["most_files"], ask["most_bytes"])
    for name in ("blobs", "trees", "offered", "made"):
        os.makedirs(name, 0o700, exist_ok=True)
    if not os.path.exists(f"trees/{id}"):
        write_file(f"offered/{id}", packed)
    return _settle(id, tree)


def put(ask: dict[str, Any], body: BinaryIO) -> dict[str, Any]:
    """Takes contents: SHA-256, size and bytes, one after the other."""
    id = ask["id"]
    tree = _offered(id, ask)
    added = count = 0
    while head := body.read(HEAD):
        if len(head) != HEAD:
            raise Bad("cut_off")
        digest, size = head[:32].hex(), int.from_bytes(head[32:], "big")
        if tree.sizes.get(digest) != size:
            raise Bad("not_asked_for", name=digest)
        added += size
        if added > ask["room"]:
            raise Bad("no_room", room=ask["room"])
        _take_blob(digest, size, body, sync=count < FEW)
        count += 1
    if count > FEW:
        _sync()
    return {**_settle(id, tree), "added": added}


def _offered(id: str, ask: dict[str, Any]) -> Tree:
    for folder in ("offered", "trees"):
        with contextlib.suppress(FileNotFoundError), open(f"{folder}/{id}", "rb") as file:
            return read_tree(file.read(), ask["most_files"], ask["most_bytes"])[1]
    raise Bad("unknown")


def _settle(id: str, tree: Tree) -> dict[str, Any]:
    """What is there is marked as wanted, so that no cleaning takes it meanwhile."""
    missing, seen = [], set()
    for number, entry in enumerate(tree.entries):
        if entry[0] != "f" or entry[4] in seen:
            continue
        seen.add(entry[4])
        try:
            os.utime(blob(entry[4]))
        except FileNotFoundError:
            missing.append(number)
    if not missing and os.path.exists(f"offered/{id}"):
        _fsync(f"offered/{id}")
        os.replace(f"offered/{id}", f"trees/{id}")
        _fsync("trees")
    return {
        "id": id,
        "files": len(tree.files),
        "bytes": tree.bytes,
        "missing": missing,
        "ready": not missing,
    }


def _take_blob(digest: str, size: int, body: BinaryIO, sync: bool) -> None:
    path = blob(digest)
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    draft = f"{path}.{os.getpid()}"
    found, left = hashlib.sha256(), size
    file = os.open(draft, NEW_FILE, 0o600)
    try:
        while left:
            piece = body.read(min(PIECE, left))
            if not piece:
                raise Bad("cut_off")
            left -= len(piece)
            found.update(piece)
            view = memoryview(piece)
            while view:
                view = view[os.write(file, view) :]
        if found.hexdigest() != digest:
            raise Bad("changed", name=digest)
        if sync:
            os.fsync(file)
        os.rename(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
    finally:
        os.close(file)


def _fsync(path: str) -> None:
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _sync() -> None:
    """One call for many files, which would take a minute one by one; a few are better off alone:
    this waits for whatever else the disk has to write.
    """
    import ctypes

    folder = os.open(".", FOLDER)
    try:
        ctypes.CDLL(None).syncfs(folder)
    finally:
        os.close(folder)


# -- cleaning ------------------------------------------------------------------------------------


def collect(ask: dict[str, Any]) -> dict[str, Any]:
    """Removes all but these bundles; says how much is left."""
    keep, now = set(ask["keep"]), time.time()
    named: set[str] = set()
    for folder in ("trees", "offered"):
        for name in _names(folder):
            path = f"{folder}/{name}"
            fresh = _age(path, now) < GRACE
            if name not in keep and not fresh:
                os.unlink(path)
                continue
            with contextlib.suppress(OSError, zlib.error, ValueError), open(path, "rb") as file:
                named.update(Tree(json.loads(zlib.decompress(file.read()))).sizes)
    left = removed = 0
    for first in _names("blobs"):
        for name in _names(f"blobs/{first}"):
            path = f"blobs/{first}/{name}"
            with contextlib.suppress(FileNotFoundError):
                size = os.stat(path).st_size
                if first + name not in named and _age(path, now) >= ask.get("grace", GRACE):
                    os.unlink(path)
                    removed += size
                else:
                    left += size
    removed += ahead.collect(named_lists=keep, oldest=now - ask["ahead"])
    return {"bytes": left, "removed": removed}


def _age(path: str, now: float) -> float:
    return now - os.stat(path).st_mtime


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


# -- the process ---------------------------------------------------------------------------------


def become(ask: dict[str, Any]) -> None:
    """For good: there is no way back to root."""
    if ask["uid"] is not None and ask["uid"] != os.geteuid():
        os.setgroups(ask["groups"])
        os.setresgid(ask["gid"], ask["gid"], ask["gid"])
        os.setresuid(ask["uid"], ask["uid"], ask["uid"])
    os.umask(0o077)


def work(ask: dict[str, Any], body: BinaryIO) -> dict[str, Any]:
    store = os.open(ask["store"], FOLDER)
    home = os.open(ask["home"], FOLDER) if ask.get("home") else -1
    become(ask)
    os.fchdir(store)
    match ask["op"]:
        case "offer":
            return offer(ask, body)
        case "put":
            return put(ask, body)
        case "check_out":
            return check_out(ask, home)
        case "ahead":
            return ahead.make(ask["id"], home)
        case "slim":
            return slim(ask, home)
        case "collect":
            return collect(ask)
    raise Bad("unknown")


def lines() -> Iterator[dict[str, Any]]:
    body = sys.stdin.buffer
    ask = json.loads(body.readline())
    try:
        yield work(ask, body)
    except Bad as bad:
        yield bad.answer
    except OSError as error:
        code = "disk_full" if error.errno in OUT_OF_ROOM else "failed"
        yield {"error": code, "detail": error.strerror or str(error)}


if __name__ == "__main__":
    for line in lines():
        sys.stdout.write(json.dumps(line) + "\n")
