"""The names in a folder, also in one with a million of them.

The names of a large folder are kept for its next page. If those of a folder take long to read, its
first page is made of the names that are kept, even if the folder has changed since, or else of
those that were read so far: the others are read on without the request, and the next one finds
them.
"""

from __future__ import annotations

import heapq
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Generator
from dataclasses import dataclass, field

from danlu.files.helper.entries import UPLOAD, ours

MOST_NAMES = 2_000_000
MOST_KEPT = 3_000_000
VERY_MANY = 100_000  # names of which the first are found without sorting all
LARGE = 5_000  # entries of a folder whose names are kept
FIRST = 0.25  # seconds after which a first page is answered with what was read
SECONDS = 45.0  # for all names of a folder
STEP = 2_000  # names that are read between looks at the clock
MOST_READING = 3  # folders that are read on without a request
PAGING = 60.0  # seconds for which the next pages are of the names the first one was of
REST = 3.0  # times as long as reading took, a folder that keeps changing is not read again
STALE = 7 * 86400.0  # seconds until an upload that nobody continues is removed
Key = tuple[int, int, bool]  # which folder, and whether with hidden names
Stamp = tuple[int, int]  # when it was last changed


@dataclass(slots=True)
class Names:
    """The names of one folder: folders, then everything else."""

    folders: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    complete: bool = True
    sorted: bool = False
    stamp: Stamp = (0, 0)  # as they began to be read
    began: float = 0.0
    ended: float = 0.0
    first: list[str] = field(default_factory=list)  # of very many, in order

    def __len__(self) -> int:
        return len(self.folders) + len(self.others)

    def so_far(self) -> Names:
        """While others are being added."""
        return Names(self.folders[:], self.others[:], False)

    def page(self, offset: int, limit: int) -> list[str]:
        if not self.sorted and len(self) > VERY_MANY and offset + limit <= 10_000:
            # Sorting a million names takes longer than reading them, and most look at one page.
            if offset + limit > len(self.first):
                self.first = self._smallest(offset + limit)
            return self.first[offset : offset + limit]
        self.sort()
        stop, count = offset + limit, len(self.folders)
        return (
            self.folders[offset:stop] + self.others[max(0, offset - count) : max(0, stop - count)]
        )

    def _smallest(self, count: int) -> list[str]:
        first = heapq.nsmallest(count, self.folders)
        rest = count - len(first)
        return first + (heapq.nsmallest(rest, self.others) if rest else [])

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

    def __init__(self, folder: int, key: Key, stamp: Stamp) -> None:
        self.key = key
        self.names = Names(stamp=stamp, began=time.monotonic())
        self.ended = threading.Event()
        self.alone = False  # read on without a request
        self._settled = time.time() - stamp[0] / 1e9 > 1.0
        self._folder = os.dup(folder)
        self._steps = _read(self._folder, key[2], self.names)

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
        """Whoever waits for it goes on. `whole`: there is nothing more to be read."""
        self._steps.close()
        os.close(self._folder)
        names = self.names
        names.complete = names.complete and whole
        names.ended = time.monotonic()
        if not self._settled:
            names.stamp = (0, 0)  # it may change once more within a tick of the clock
        with _lock:
            if whole and len(names) > LARGE:
                _keep(self.key, names)
            if _reading.get(self.key) is self:
                del _reading[self.key]
        self.ended.set()


_kept: OrderedDict[Key, Names] = OrderedDict()
_reading: dict[Key, Reading] = {}
_lock = threading.Lock()


def _look(folder: int, hidden: bool) -> tuple[Key, Stamp]:
    found = os.fstat(folder)
    return (found.st_dev, found.st_ino, hidden), (found.st_mtime_ns, found.st_ctime_ns)


def names_of(folder: int, hidden: bool, whole: bool, later: bool = False) -> tuple[Names, bool]:
    """The names, and whether they are being read (again).

    `whole`: all of them, as they are now. `later`: for a page after the first.
    """
    key, stamp = _look(folder, hidden)
    with _lock:
        kept, reading = _kept.get(key), _reading.get(key)
        if kept is not None and _will_do(kept, stamp, whole, later):
            _kept.move_to_end(key)
            return kept, False
        mine = reading is None or (whole and reading.names.stamp != stamp)
        if mine:
            reading = Reading(folder, key, stamp)
            _reading.setdefault(key, reading)
    assert reading is not None
    seconds = SECONDS if whole else FIRST
    if kept is not None and not whole and kept.ended - kept.began > FIRST:
        seconds = 0.0  # it would take too long again: these names, at once
    if not mine:  # a page asks for several things at once: one reads for all
        if reading.ended.wait(seconds):
            return reading.names, False
        return (kept if kept is not None and not whole else reading.names.so_far()), True
    return _read_for(reading, seconds, whole, kept)


def _will_do(kept: Names, stamp: Stamp, whole: bool, later: bool) -> bool:
    """Whether these names are as good as if they were read now."""
    if kept.stamp == stamp:
        return True
    now = time.monotonic()
    if later:
        return now - kept.ended < PAGING
    return not whole and now - kept.ended < REST * (kept.ended - kept.began)


def _read_for(
    reading: Reading, seconds: float, whole: bool, kept: Names | None
) -> tuple[Names, bool]:
    try:
        ended = seconds > 0.0 and reading.go_on(seconds)
    except BaseException:
        reading.end(False)
        raise
    if ended or whole:
        reading.end(ended)
        return reading.names, False
    names = kept if kept is not None else reading.names.so_far()
    with _lock:
        busy = sum(each.alone for each in _reading.values()) >= MOST_READING
        reading.alone = not busy
    if busy:
        reading.end(False)
    else:
        threading.Thread(target=reading.finish, daemon=True).start()
    return names, True


def _keep(key: Key, names: Names) -> None:
    """With the lock held."""
    _kept[key] = names
    _kept.move_to_end(key)
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
