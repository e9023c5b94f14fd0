"""Taking out of the bin: back to where it was, or away for good."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from danlu.files.helper.beneath import FOLDER, Place, Root, parent_of, writable
from danlu.files.helper.bins import INFO, NONE_THERE, THING, info_of, open_bin
from danlu.files.helper.changes import make_folders, settle
from danlu.files.helper.faults import Fault
from danlu.files.helper.names import split
from danlu.files.helper.request import Request
from danlu.files.helper.trees import remove


def restore(request: Request) -> None:
    conflict = request.text("conflict") or "refuse"
    for root, item in _asked(request):
        shown = f"{root.volume}~{item}"
        try:
            with open_bin(root, False) as own:
                fd = os.open(item, FOLDER, dir_fd=own)
                try:
                    target = Place(root, split(str(info_of(fd)["path"])))
                    shown = target.shown
                    writable(target)
                    make_folders(target.parent())
                    with parent_of(target) as (folder, _):
                        done = settle(fd, THING, target, folder, conflict)
                    os.unlink(INFO, dir_fd=fd)
                finally:
                    os.close(fd)
                os.rmdir(item, dir_fd=own)
            request.made(done)
            request.tick(1)
        except (OSError, Fault, ValueError, KeyError) as error:
            request.problem(error, shown)
    request.outcome()


def empty(request: Request) -> None:
    asked = _asked(request) if request.values.get("ids") is not None else _everything(request)
    for root, item in asked:
        try:
            with open_bin(root, False) as own:
                remove(own, item.encode(), request)
        except (OSError, Fault) as error:
            request.problem(error, f"{root.volume}~{item}")
    request.outcome()


def _asked(request: Request) -> Iterator[tuple[Root, str]]:
    roots = {root.volume: root for root in request.roots}
    for given in request.values["ids"]:
        volume, _, item = str(given).rpartition("~")
        if volume not in roots or not item.isalnum() or not item.isascii():
            request.problem(Fault("not_found"), str(given)[:200])
            continue
        yield roots[volume], item


def _everything(request: Request) -> Iterator[tuple[Root, str]]:
    for root in request.roots:
        with contextlib.suppress(*NONE_THERE):
            with open_bin(root, False) as own:
                names = os.listdir(own)
            for name in names:
                yield root, name
