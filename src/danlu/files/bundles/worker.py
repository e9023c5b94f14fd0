"""Works on one person's bundles, as that person; a process of its own for each request.

Started by file name with nothing but the standard library, so that it is there in a moment. The
first line of its input says what to do; the answer is one line of JSON. The store and the home are
opened before it gives up root, everything in them afterwards:

    <store>/blobs/ab/cdef...   contents of files, by SHA-256
    <store>/trees/<id>         lists of files, zlib-compressed; complete
    <store>/offered/<id>       the same, while contents are missing
    <store>/made/<job>         when a working folder was made
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import stat
import sys
import time
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

LARGEST_LIST = 64 << 20
LONGEST_PATH = 4096
DEEPEST = 200
GRACE = 3600.0  # seconds a new blob is kept although no list names it yet
HEAD = 40  # bytes before each blob: SHA-256 and size
PIECE = 1 << 20
FEW = 64
FICLONE = 0x40049409
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
OUT_OF_ROOM = (errno.ENOSPC, errno.EDQUOT)


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


# -- uploading -----------------------------------------------------------------------------------


def offer(ask: dict[str, Any], body: BinaryIO) -> dict[str, Any]:
    """Takes a list of files and says which contents are missing."""
    packed = body.read()
    id, tree = read_tree(packed, ask["most_files"], ask["most_bytes"])
    for name in ("blobs", "trees", "offered", "made"):
        os.makedirs(name, 0o700, exist_ok=True)
    if not os.path.exists(f"trees/{id}"):
        _write(f"offered/{id}", packed)
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


def _write(path: str, data: bytes) -> None:
    draft = f"{path}.{os.getpid()}"
    with open(draft, "xb") as file:
        file.write(data)
    os.replace(draft, path)


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


# -- working folders -----------------------------------------------------------------------------


def check_out(ask: dict[str, Any], home: int) -> dict[str, Any]:
    """Makes a working folder, once per job: a retried job finds what it wrote there."""
    made = _made(ask["job"], home)
    if made is not None:
        return {"made": False, "folder": made["folder"]}
    tree = _complete(ask["id"])
    store = os.open(".", FOLDER)
    outer, _, name = ask["folder"].rpartition("/")
    with contextlib.suppress(FileExistsError):
        os.mkdir(outer, 0o700, dir_fd=home)
    parent = os.open(outer, FOLDER, dir_fd=home)
    draft = f".{name}.{ask['job']}"
    _clear(draft, parent)
    os.mkdir(draft, 0o700, dir_fd=parent)
    os.fchdir(os.open(draft, FOLDER, dir_fd=parent))
    try:
        cloned = _fill(tree, store)
        os.fchdir(store)
        folder = _rename(draft, outer, (name, f"{name}-{ask['job'][-12:]}"), parent, ask)
    except BaseException:
        os.fchdir(store)
        _clear(draft, parent)
        raise
    return {"made": True, "folder": folder, "cloned": cloned, "bytes": tree.bytes}


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
        _write(f"made/{ask['job']}", note)  # first: a crash in between leads here again
        os.rename(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
        return folder
    raise Bad("folder_taken", name=ask["folder"])


def _complete(id: str) -> Tree:
    try:
        with open(f"trees/{id}", "rb") as file:
            return Tree(json.loads(zlib.decompress(file.read())))
    except (OSError, zlib.error, ValueError):
        raise Bad("unknown") from None


def _fill(tree: Tree, store: int) -> bool:
    """Writes below the current folder, which is new and nobody else's."""
    cloning, folders = True, []
    for entry in tree.entries:
        kind, path = entry[0], entry[1]
        if kind == "d":
            os.mkdir(path, 0o700)
            folders.append(entry)
        elif kind == "l":
            os.symlink(entry[2], path)
        else:
            cloning = _copy(entry, store, cloning)
    for entry in reversed(folders):
        os.chmod(entry[1], entry[2] & 0o777 | 0o700)
    return cloning


def _copy(entry: list[Any], store: int, cloning: bool) -> bool:
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
            if cloning and size:
                try:
                    fcntl.ioctl(file, FICLONE, source)
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
        return os.copy_file_range(source, file, min(size, 1 << 30), at, at)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
    os.lseek(file, at, os.SEEK_SET)
    return os.sendfile(file, source, at, min(size, 1 << 30))


def _clear(name: str, folder: int) -> None:
    import shutil

    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(name, dir_fd=folder)


def slim(ask: dict[str, Any], home: int) -> dict[str, Any]:
    """Leaves only what the job wrote or changed: the rest is in the bundle."""
    made = _made(ask["job"], home)
    if made is None:
        _forget(ask["job"])
        return {"removed": 0}
    try:
        tree = _complete(made["id"])
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
