"""Pages of a folder. Only the names are read of all entries; the rest only of those on the page."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Any

from danlu.files.helper.beneath import Place, folder_at
from danlu.files.helper.entries import entry_in, kind_of
from danlu.files.helper.folder_names import Names, names_of
from danlu.files.helper.request import Request

MOST_SORTED = 200_000  # entries that are looked at to sort by size or time
PAGE = 2_000
PAGE_BYTES = 2 << 20  # of names and paths: a page may be shorter than asked for


def list_folder(request: Request) -> None:
    where = request.place()
    offset, limit = request.number("offset"), min(request.number("limit", 200), PAGE)
    order = request.text("sort") or "name"
    whole = bool(request.values.get("whole")) or offset > 0
    hidden = bool(request.values.get("hidden", True))
    with folder_at(where) as folder:
        names, reading = names_of(folder, hidden, whole, offset > 0)
        by, reverse = order.removeprefix("-"), order.startswith("-")
        if by in _VALUES and (not names.complete or len(names) > MOST_SORTED):
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
