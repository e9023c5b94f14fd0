"""Brings a folder along with a job: sends what the server does not have yet."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
import zlib

from danlu.sdk import ignoring
from danlu.sdk.errors import ApiError, Lost, api_error
from danlu.sdk.parser import Parser
from danlu.sdk.patience import Pauses, persist

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from danlu.sdk.client import Client
    from danlu.sdk.wire import Wire

    Entry = list[Any]
    Progress = Callable[[str, int, int], None]  # what is being done, bytes done, of how many

BATCH = 64 << 20
PIECE = 1 << 20
MANY = 32 << 20  # bytes; with more to hash, several threads share the work
SETTLED = 2_000_000_000  # nanoseconds; a file changed later may change again unnoticed
TRIES = 3
SHOWN = 5
MOST_ENTRIES = 5_000_000
SILENCE = 300.0  # seconds
PATIENCE = 600.0
LONGEST_PAUSE = 60.0


class TooLarge(Exception):
    """More than the server takes. `largest`: paths and bytes."""

    def __init__(
        self, size: int, files: int, limits: dict[str, Any], largest: list[tuple[str, int]]
    ) -> None:
        super().__init__(f"{size} bytes in {files} files are too much to bring along")
        self.size = size
        self.files = files
        self.limits = limits
        self.largest = largest


class Restless(Exception):
    """A file changed whenever it was read."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class _Changed(Exception):
    pass


class Carried:
    """A folder the server has: `id` is for the key `bundle` of a job."""

    def __init__(self, id: str, files: int, size: int, sent: int, left_out: list[str]) -> None:
        self.id = id
        self.files = files
        self.bytes = size
        self.sent = sent  # bytes that had to be sent
        self.left_out = left_out  # links that lead out of the folder, sockets, devices


def carry(client: Client, folder: str, progress: Progress | None = None) -> Carried:
    """Raises NotADirectoryError and other OSErrors, TooLarge, Restless, ApiError."""
    root = os.path.abspath(folder)
    limits = client.data.bundles()["limits"]
    changed = root
    for _ in range(TRIES):
        found = Scan(root)
        if found.size > limits["bytes"] or len(found.entries) > limits["files"]:
            raise TooLarge(found.size, len(found.entries), dict(limits), found.largest())
        try:
            found.hash(progress)
            return _send(client, found, progress)
        except _Changed as error:
            changed = str(error)
    raise Restless(changed)


def _send(client: Client, found: Scan, progress: Progress | None) -> Carried:
    """After a lost connection, only what is still missing is sent."""
    packed = zlib.compress(json.dumps(found.entries, separators=(",", ":")).encode(), 1)
    sent, pauses = 0, Pauses(0.5, LONGEST_PAUSE)
    while True:
        offered: dict[str, Any] = persist(lambda: dict(client.data.offer_bundle(packed)), PATIENCE)
        missing = [found.entries[number] for number in offered["missing"]]
        if not missing:
            return Carried(offered["id"], offered["files"], offered["bytes"], sent, found.left_out)
        total = sent + sum(entry[3] for entry in missing)
        try:
            for batch in _batches(missing):
                _put(client.wire, offered["id"], found.root, batch, _told(progress, sent, total))
                sent += sum(entry[3] for entry in batch)
        except ApiError as error:
            if error.code == "changed":
                raise _Changed(missing[0][1]) from None
            raise
        except Lost:
            pause = pauses.next()
            if pause == LONGEST_PAUSE:
                raise
            time.sleep(pause)


def _told(progress: Progress | None, before: int, total: int) -> Callable[[int], None]:
    def told(done: int) -> None:
        if progress is not None:
            progress("send", min(before + done, total), total)

    return told


def _batches(entries: list[Entry]) -> Iterator[list[Entry]]:
    batch, size = [], 0
    for entry in entries:
        batch.append(entry)
        size += entry[3]
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _put(wire: Wire, id: str, root: str, batch: list[Entry], told: Callable[[int], None]) -> None:
    """One request with many contents, none of which is held in memory as a whole."""
    path = f"/danlu/v1/bundles/{id}/contents"
    length = sum(40 + entry[3] for entry in batch)
    head = {"Content-Type": "application/octet-stream", "Content-Length": str(length)}
    link = wire.connect()
    parser, answer, done = Parser("PUT"), b"", 0
    try:
        link.set_timeout(SILENCE)
        link.send(wire.head("PUT", path, head))
        try:
            for piece in _contents(root, batch):
                link.send(piece)
                done += len(piece)
                told(done)
        except Lost:
            pass  # a server that refuses answers before the end
        while not parser.done:
            data = link.receive()
            if not data and not parser.feed_end():
                raise Lost(wire.address.text, "the connection ended before the answer")
            answer += parser.feed(data) if data else b""
    finally:
        link.close()
    if parser.status >= 400:
        raise api_error(parser.status, answer)


def _contents(root: str, batch: list[Entry]) -> Iterator[bytes]:
    small = b""
    for entry in batch:
        small += bytes.fromhex(entry[4]) + int(entry[3]).to_bytes(8, "big")
        left = entry[3]
        with open(f"{root}/{entry[1]}", "rb", buffering=0) as file:
            while left:
                piece = file.read(min(PIECE, left))
                if not piece:
                    raise _Changed(entry[1])
                left -= len(piece)
                small += piece
                if len(small) >= PIECE:
                    yield small
                    small = b""
    if small:
        yield small


class Scan:
    """The files of a folder that are brought along."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.entries: list[Entry] = []
        self.left_out: list[str] = []
        self._stats: dict[str, tuple[int, int, int, int]] = {}
        self._walk(root, "", ignoring.above(root))
        self.entries.sort(key=lambda entry: entry[1])

    @property
    def size(self) -> int:
        return sum(entry[3] for entry in self.entries if entry[0] == "f")

    def _walk(self, folder: str, path: str, rules: list[tuple[str, ignoring.Rules]]) -> None:
        """`rules`: with the path of the folder they are from, outermost first."""
        todo = [(folder, path, rules)]
        while todo:
            folder, path, rules = todo.pop()
            with os.scandir(folder) as listed:
                found = list(listed)
            own = ignoring.of_folder(folder, {entry.name for entry in found})
            if own is not None:
                rules = [*rules, (f"{path}/" if path else "", own)]
            for entry in found:
                name = f"{path}/{entry.name}" if path else entry.name
                if len(self.entries) > MOST_ENTRIES:
                    return
                if entry.name in ignoring.NEVER:
                    continue
                if _is_left_out(name, entry.is_dir(follow_symlinks=False), rules):
                    continue
                if self._take(entry, name):
                    todo.append((entry.path, name, rules))

    def _take(self, entry: os.DirEntry[str], path: str) -> bool:
        """Returns whether it is a folder to go on with."""
        try:
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return False
        mode = stat.S_IMODE(found.st_mode) & 0o777
        if stat.S_ISDIR(found.st_mode):
            self.entries.append(["d", path, mode])
            return True
        if stat.S_ISREG(found.st_mode):
            self.entries.append(["f", path, mode, found.st_size, "", max(0, found.st_mtime_ns)])
            self._stats[path] = (found.st_size, found.st_mtime_ns, found.st_ino, found.st_ctime_ns)
        elif stat.S_ISLNK(found.st_mode) and _leads_inside(path, target := os.readlink(entry.path)):
            self.entries.append(["l", path, target])
        else:
            self.left_out.append(path)
        return False

    def hash(self, progress: Progress | None = None) -> None:
        """Only what changed since the last time is read."""
        known, new, todo = _Known(self.root), {}, []
        now = time.time_ns()
        for entry in self.entries:
            if entry[0] != "f":
                continue
            seen = self._stats[entry[1]]
            before = known.found.get(entry[1])
            if before is not None and tuple(before[:4]) == seen:
                entry[4] = before[4]
                new[entry[1]] = before
            else:
                todo.append(entry)
        total, done = sum(entry[3] for entry in todo), 0
        for entry in self._hashed(todo, total):
            done += entry[3]
            if progress is not None:
                progress("read", done, total)
            seen = self._stats[entry[1]]
            if max(seen[1], seen[3]) < now - SETTLED:
                new[entry[1]] = [*seen, entry[4]]
        if todo or len(new) != len(known.found):
            known.write(new)

    def _hashed(self, entries: list[Entry], total: int) -> Iterator[Entry]:
        if total < MANY:
            yield from map(self._hash, entries)
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            yield from pool.map(self._hash, entries)

    def _hash(self, entry: Entry) -> Entry:
        found, size = hashlib.sha256(), 0
        try:
            with open(f"{self.root}/{entry[1]}", "rb", buffering=0) as file:
                while piece := file.read(PIECE):
                    found.update(piece)
                    size += len(piece)
        except FileNotFoundError:
            raise _Changed(entry[1]) from None
        if size != entry[3]:
            raise _Changed(entry[1])
        entry[4] = found.hexdigest()
        return entry

    def largest(self) -> list[tuple[str, int]]:
        """The files and folders worth leaving out, none within another."""
        sizes: dict[str, int] = {}
        for entry in self.entries:
            if entry[0] != "f":
                continue
            parts = entry[1].split("/")
            for depth in range(1, min(len(parts), 4) + 1):
                path = "/".join(parts[:depth])
                sizes[path] = sizes.get(path, 0) + entry[3]
        folders = {entry[1] for entry in self.entries if entry[0] == "d"}
        found: list[tuple[str, int]] = []
        for path, size in sorted(sizes.items(), key=lambda each: (-each[1], -len(each[0]))):
            if any(other.startswith(f"{path}/") or path.startswith(other) for other, _ in found):
                continue
            found.append((f"{path}/" if path in folders else path, size))
            if len(found) == SHOWN:
                break
        return found


def _is_left_out(path: str, folder: bool, rules: list[tuple[str, ignoring.Rules]]) -> bool:
    for base, each in reversed(rules):
        verdict = each.verdict(path[len(base) :], folder)
        if verdict is not None:
            return verdict
    return False


def _leads_inside(path: str, target: str) -> bool:
    if target.startswith("/"):
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


class _Known:
    """Hashes of an earlier time: by path, with size, times and inode of the file."""

    def __init__(self, root: str) -> None:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:32]
        self._path = f"{base}/danlu/carry/{name}.json"
        self.found: dict[str, list[Any]] = {}
        try:
            with open(self._path, "rb") as file:
                found = json.loads(file.read())
        except (OSError, ValueError, RecursionError):
            return
        if isinstance(found, dict):
            self.found = found

    def write(self, found: dict[str, list[Any]]) -> None:
        """Nothing depends on it: without it, everything is read again."""
        draft = f"{self._path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self._path), 0o700, exist_ok=True)
            with open(draft, "x", encoding="ascii") as file:
                json.dump(found, file, separators=(",", ":"))
            os.replace(draft, self._path)
        except OSError:
            return
