"""Pages of a folder, also of one with a million entries.

Only the names are read of all entries; the rest only of those on the page. The first page of a
folder whose names take long to read is made of those that were read so far: the others are read on
without the request, and the next one finds them. The names of a large folder are kept for its next
page, as long as the folder has not changed.
"""

from __future__ import annotations

import heapq
import os
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from danlu.files.helper.beneath import Place, folder_at
from danlu.files.helper.entries import UPLOAD, entry_in, kind_of, ours
from danlu.files.helper.request import Request

MOST_NAMES = 2_000_000
MOST_KEPT = 3_000_000
LARGE = 5_000  # entries of a folder whose names are kept
MOST_SORTED = 200_000  # entries that are looked at to sort by size or time
FIRST = 0.25  # seconds after which a first page is answered with what was read
SECONDS = 45.0  # for all names of a folder
STEP = 2_000  # names that are read between looks at the clock
MOST_READING = 3  # folders that are read on without a request
PAGE = 2_000
PAGE_BYTES = 2 << 20  # of names and paths: a page may be shorter than asked for
STALE = 7 * 86400.0  # seconds until an upload that nobody continues is removed
Key = tuple[int, int, int, int, bool]


@dataclass(slots=True)
class Names:
    """The names of one folder: folders, then everything else."""

    folders: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    complete: bool = True
    sorted: bool = False

    def __len__(self) -> int:
        return len(self.folders) + len(self.others)

    def so_far(self) -> Names:
        """While others are being added."""
        return Names(self.folders[:], self.others[:], False)

    def page(self, offset: int, limit: int) -> list[str]:
        if not self.sorted and len(self) > 100_000 and offset + limit <= 10_000:
            # Sorting a million names takes longer than reading them, and most look at one page.
            first = heapq.nsmallest(offset + limit, self.folders)
            rest = offset + limit - len(first)
            return (first + (heapq.nsmallest(rest, self.others) if rest else []))[offset:]
        self.sort()
        stop, count = offset + limit, len(self.folders)
        return (
            self.folders[offset:stop] + self.others[max(0, offset - count) : max(0, stop - count)]
        )

    def backwards(self, offset: int, limit: int) -> list[str]:
        self.sort()
        stop, count = offset + limit, len(self.folders)
        first = self.folders[::-1][offset:stop]
        return first + self.others[::-1][max(0, offset - count) : max(0, stop - count)]

    def sort(self) -> None:
        if not self.sorted:
            # New lists: another request may be reading the old ones.
            self.folders, self.others = sorted(self.folders), sorted(self.others)
            self.sorted = True


class Reading:
    """A folder whose names are being read."""

    def __init__(self, folder: int, key: Key) -> None:
        self.key = key
        self.names = Names()
        self.ended = threading.Event()
        self.alone = False  # read on without a request
        self._folder = os.dup(folder)
        self._steps = _read(self._folder, key[4], self.names)

    def go_on(self, seconds: float) -> bool:
        """Whether this was the end of it."""
        end = time.monotonic() + seconds
        try:
            for _ in self._steps:
                if time.monotonic() > end:
                    return False
        except BaseException:
            self._steps.close()
            raise
        return True

    def finish(self) -> None:
        """In a thread of its own, after the first page was answered."""
        ended = False
        try:
            ended = self.go_on(SECONDS)
        except OSError:
            pass
        finally:
            self.end(ended)

    def end(self, whole: bool) -> None:
        """Whoever waits for it goes on. `whole`: all names were read."""
        self._steps.close()
        self.names.complete = self.names.complete and whole
        if whole and _key(self._folder, self.key[4]) == self.key:
            _keep(self.key, self.names)
        with _lock:
            _reading.pop(self.key, None)
        self.ended.set()
        os.close(self._folder)


_kept: OrderedDict[Key, Names] = OrderedDict()
_reading: dict[Key, Reading] = {}
_lock = threading.Lock()


def list_folder(request: Request) -> None:
    where = request.place()
    offset, limit = request.number("offset"), min(request.number("limit", 200), PAGE)
    order = request.text("sort") or "name"
    whole = bool(request.values.get("whole")) or offset > 0
    with folder_at(where) as folder:
        names, reading = _names(folder, bool(request.values.get("hidden", True)), whole)
        by, reverse = order.removeprefix("-"), order.startswith("-")
        if by in _VALUES and (reading or len(names) > MOST_SORTED):
            by, reverse, order = "name", False, "name"
        if by in _VALUES:
            page = _sorted(folder, names, _VALUES[by], reverse)[offset : offset + limit]
        else:
            page = (names.backwards if reverse else names.page)(offset, limit)
        page = page[: _fitting(page, where)]
        entries, end = _entries(folder, where, page), offset + len(page)
    request.answer(
        path=where.shown,
        entries=entries,
        offset=offset,
        next_offset=end if end < len(names) else None,
        total=len(names),
        complete=names.complete,
        reading=reading,
        sort=order,
        read_only=where.root.read_only,
    )


def _fitting(names: list[str], where: Place) -> int:
    """How many of them, with all that is said of each, one answer takes."""
    size, above = 0, 400 + 2 * len(where.shown)
    for count, name in enumerate(names):
        size += above + 6 * len(name)
        if size > PAGE_BYTES and count:
            return count
    return len(names)


def _key(folder: int, hidden: bool) -> Key:
    found = os.fstat(folder)
    return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, hidden)


def _names(folder: int, hidden: bool, whole: bool) -> tuple[Names, bool]:
    """The names, and whether others are still being read."""
    key = _key(folder, hidden)
    seconds = SECONDS if whole else FIRST
    with _lock:
        kept, reading = _kept.get(key), _reading.get(key)
        if kept is not None:
            _kept.move_to_end(key)
            return kept, False
        mine = reading is None
        if reading is None:
            reading = _reading[key] = Reading(folder, key)
    if not mine:  # a page asks for several things at once: one reads for all
        if reading.ended.wait(seconds):
            return reading.names, False
        return reading.names.so_far(), True
    try:
        ended = reading.go_on(seconds)
    except BaseException:
        reading.end(False)
        raise
    if ended or whole:
        reading.end(ended)
        return reading.names, False
    names = reading.names.so_far()
    with _lock:
        busy = sum(each.alone for each in _reading.values()) >= MOST_READING
        reading.alone = not busy
    if busy:
        reading.end(False)
    else:
        threading.Thread(target=reading.finish, daemon=True).start()
    return names, True


def _keep(key: Key, names: Names) -> None:
    # A folder that changes within a tick of the clock after it was read keeps its time.
    settled = time.time() - key[2] / 1e9 > 1.0
    if not settled or len(names) <= LARGE or not names.complete:
        return
    with _lock:
        _kept[key] = names
        while sum(map(len, _kept.values())) > MOST_KEPT:
            _kept.popitem(last=False)


def _read(folder: int, hidden: bool, names: Names) -> Generator[None, None, None]:
    """Fills the names, some thousand at a step."""
    folders, others = names.folders, names.others
    count = 0
    with os.scandir(folder) as found:
        for each in found:
            name = each.name
            if name[0] == ".":
                if name.startswith(".danlu-") and ours(os.fsencode(name)):
                    _forget_stale(folder, os.fsencode(name))
                    continue
                if not hidden:
                    continue
            (folders if each.is_dir(follow_symlinks=False) else others).append(name)
            count += 1
            if not count % STEP:
                if count >= MOST_NAMES:
                    names.complete = False
                    return
                yield


def _forget_stale(folder: int, name: bytes) -> None:
    """An upload of one's own that was given up."""
    if not name.startswith(UPLOAD):
        return
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if found.st_uid == os.geteuid() and time.time() - found.st_mtime > STALE:
            os.unlink(name, dir_fd=folder)
    except OSError:
        pass


def _entries(folder: int, where: Place, names: list[str]) -> list[dict[str, Any]]:
    found = []
    for name in names:
        try:
            found.append(entry_in(folder, where.below(os.fsencode(name))))
        except OSError:
            continue  # removed meanwhile, or a folder that may be read but not entered
    return found


def _sorted(
    folder: int, names: Names, value: Callable[[str, os.stat_result], Any], reverse: bool
) -> list[str]:
    """By what a look at each tells; those of the same value by name."""
    names.sort()
    keys = []
    for name in names.folders + names.others:
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            continue
        keys.append((value(name, found), name))
    keys.sort(key=lambda each: each[0], reverse=reverse)
    return [name for _, name in keys]


def _size(name: str, found: os.stat_result) -> int:
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


_VALUES: dict[str, Callable[[str, os.stat_result], Any]] = {
    "size": _size,
    "modified": lambda name, found: found.st_mtime_ns,
    "kind": lambda name, found: (kind_of(found.st_mode), name.rpartition(".")[2]),
}
