"""Pages of a folder, also of one with a million entries.

Only the names are read of all entries; the rest only of those on the page. The names of a large
folder are kept for its next page, as long as the folder has not changed.
"""

from __future__ import annotations

import heapq
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from danlu.files.helper.beneath import Place, folder_at
from danlu.files.helper.entries import UPLOAD, entry_in, ours
from danlu.files.helper.request import Request

MOST_NAMES = 2_000_000
MOST_KEPT = 3_000_000
LARGE = 5_000  # entries of a folder whose names are kept
MOST_SORTED = 200_000  # entries that are looked at to sort by size or time
SECONDS = 4.0
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
            self.folders.sort()
            self.others.sort()
            self.sorted = True


_kept: OrderedDict[Key, Names] = OrderedDict()
_lock = threading.Lock()


def list_folder(request: Request) -> None:
    where = request.place()
    offset, limit = request.number("offset"), min(request.number("limit", 200), PAGE)
    order = request.text("sort") or "name"
    with folder_at(where) as folder:
        names = _names(folder, bool(request.values.get("hidden", True)))
        by, reverse = order.removeprefix("-"), order.startswith("-")
        if by in _VALUES and len(names) > MOST_SORTED:
            by, reverse, order = "name", False, "name"
        if by in _VALUES:
            entries = _looked_at(folder, where, names)
            entries.sort(key=_VALUES[by], reverse=reverse)
            entries = entries[offset : offset + limit]
            entries = entries[: _fitting([entry["name"] for entry in entries], where)]
            end = offset + len(entries)
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


def _names(folder: int, hidden: bool) -> Names:
    found = os.fstat(folder)
    key = (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, hidden)
    with _lock:
        kept = _kept.get(key)
        if kept is not None:
            _kept.move_to_end(key)
            return kept
    # A folder that changes within a tick of the clock after it was read keeps its time.
    settled = time.time() - found.st_mtime > 1.0
    names = _read(folder, hidden)
    if settled and len(names) > LARGE and names.complete:
        with _lock:
            _kept[key] = names
            while sum(map(len, _kept.values())) > MOST_KEPT:
                _kept.popitem(last=False)
    return names


def _read(folder: int, hidden: bool) -> Names:
    names = Names()
    folders, others = names.folders, names.others
    end = time.monotonic() + SECONDS
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
            if not count & 4095 and (count >= MOST_NAMES or time.monotonic() > end):
                names.complete = False
                break
    return names


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


def _looked_at(folder: int, where: Place, names: Names) -> list[dict[str, Any]]:
    names.sort()
    return _entries(folder, where, names.folders + names.others)


_VALUES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "size": lambda found: found["size"],
    "modified": lambda found: found["modified_at"],
    "kind": lambda found: (found["kind"], found["name"].rpartition(".")[2]),
}
