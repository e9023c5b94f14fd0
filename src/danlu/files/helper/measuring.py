"""Sizes of folders, and searching by name. Both may walk through millions of files."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import stat
import threading
import time
from typing import Any

from danlu.files.helper.beneath import folder_at
from danlu.files.helper.entries import COPY, UPLOAD, entry_in, kind_of, ours
from danlu.files.helper.faults import Cancelled
from danlu.files.helper.folder_names import STALE
from danlu.files.helper.names import to_text
from danlu.files.helper.request import Request
from danlu.files.helper.trees import Step, remove, walk

MOST_CHILDREN = 1000
MOST_LINKED = 1_000_000  # files with several names that are remembered
SECONDS = 1800.0
SEARCH_SECONDS = 60.0


def usage(request: Request) -> None:
    """What a folder takes on the disk, and each of its entries."""
    _step_back()
    where = request.place()
    children: dict[bytes, list[Any]] = {}
    seen: set[tuple[int, int]] = set()
    files = folders = size = 0
    end = time.monotonic() + SECONDS
    complete = True
    with folder_at(where) as top:
        for step in walk(top, request):
            found = step.found
            if step.name.startswith((UPLOAD, COPY)) and _is_stale(step):
                with contextlib.suppress(OSError):
                    remove(step.folder, step.name, request)
                continue
            taken = found.st_blocks * 512
            if found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):
                key = (found.st_dev, found.st_ino)
                taken = 0 if key in seen else taken
                if len(seen) < MOST_LINKED:
                    seen.add(key)
            child = children.get(step.parts[0])
            if child is None:
                child = children[step.parts[0]] = [kind_of(found.st_mode), 0, 0]
            folder = stat.S_ISDIR(found.st_mode)
            size += taken
            child[1] += taken
            folders += folder
            files += not folder
            child[2] += not folder
            request.tick(not folder, taken)
            if time.monotonic() > end:
                complete = False
                break
    largest = sorted(children.items(), key=lambda item: -item[1][1])
    told = [
        {"name": to_text(name), "kind": kind, "size": taken, "files": count}
        for name, (kind, taken, count) in largest
        if not ours(name) or taken
    ]
    request.answer(
        usage={
            "path": where.shown,
            "size": size,
            "files": files,
            "folders": folders,
            "children": told[:MOST_CHILDREN],
            "complete": complete and not request.problem_count,
            "measured_at": time.time(),
        }
    )


def _is_stale(step: Step) -> bool:
    """What an upload or a copy has left that nobody continues."""
    old = time.time() - step.found.st_mtime > STALE
    return old and step.found.st_uid == os.geteuid()


def _step_back() -> None:
    """This thread gives way to all others."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def search(request: Request) -> None:
    """Entries as they are found; between them how many were looked at."""
    where = request.place()
    limit = request.number("limit", 1000)
    matches = _matcher(request.text("q"))
    kind = request.text("kind")
    seen = found = 0
    end = told = time.monotonic()
    end += SEARCH_SECONDS
    complete = True
    with folder_at(where) as top:
        for step in walk(top, request):
            seen += 1
            if (
                matches(step.name)
                and (not kind or kind_of(step.found.st_mode) == kind)
                and not any(map(ours, step.parts))
            ):
                with contextlib.suppress(OSError):
                    request.answer(entry=entry_in(step.folder, where.below(*step.parts)))
                    found += 1
            if not seen & 255:
                now = time.monotonic()
                if now - told > 0.3:
                    told = now
                    if request.gone():
                        raise Cancelled
                    request.answer(seen=seen)
                if now > end:
                    complete = False
            if found >= limit or not complete:
                complete = False
                break
    complete = complete and not request.problem_count
    request.answer(end={"seen": seen, "found": found, "complete": complete})


def _matcher(asked: str) -> Any:
    """Part of a name in any case, or a pattern with * and ?."""
    if any(sign in asked for sign in "*?["):
        form = re.compile(fnmatch.translate(asked.casefold()))
        return lambda name: form.match(to_text(name).casefold()) is not None
    wanted = asked.casefold()
    return lambda name: wanted in to_text(name).casefold()
