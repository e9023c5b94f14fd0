"""The next working folder of a person, made ahead.

Where the file system cannot share blocks, a working folder of 1 GB takes seconds to copy. People
who bring a large folder along bring nearly the same one again, so after a job has started, the
next copy is made: the job after it takes that folder and exchanges what changed. It lies in the
store, which no task sees, and belongs to one job only once it is taken.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal

from danlu.files.bundles.filling import clear, fill, keep_what_fits
from danlu.files.bundles.trees import FOLDER, Bad, Tree, complete, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

SMALLEST = 32 << 20  # bytes; less is copied in no time
_PLACE, _NOTE, _LOCK = "ahead", "ahead.json", "ahead.lock"
_ROOM = 10  # times its size has to stay free on the disk
_SHARE = 20  # and the 20th part of the disk
_NICENESS = 15
_TERM = frozenset({signal.SIGTERM})


class _Stopped(Exception):
    """The next job does not wait until it is complete, and uses what is there."""


def take(tree: Tree, store: int, draft: str, parent: int) -> frozenset[str]:
    """Makes `draft` and enters it. Returns which paths of the list are in it already."""
    with _locked() as ours:
        old = _noted() if ours else None
        if old is not None:
            try:
                os.rename(_PLACE, draft, dst_dir_fd=parent)
            except OSError:  # there is none, or it is on another disk by now
                old = None
            with contextlib.suppress(FileNotFoundError):
                os.unlink(_NOTE)
    if old is not None:
        os.fchdir(os.open(draft, FOLDER, dir_fd=parent))
        kept = keep_what_fits(old[0], old[1], tree)
        if kept is not None:
            return kept
        os.fchdir(store)
        clear(draft, parent)
    os.mkdir(draft, 0o700, dir_fd=parent)
    os.fchdir(os.open(draft, FOLDER, dir_fd=parent))
    return frozenset()


def make(id: str, home: int) -> dict[str, Any]:
    """Ends early at SIGTERM, with what is there by then."""
    signal.signal(signal.SIGTERM, _stop)
    signal.pthread_sigmask(signal.SIG_BLOCK, _TERM)
    os.nice(_NICENESS)
    tree = complete(id)
    store = os.open(".", FOLDER)
    with _locked() as ours:
        if not ours or not _room(tree, store) or not _one_disk(home):
            return {"made": False}
        try:
            there = _begin(tree, store)
            with contextlib.suppress(_Stopped):
                signal.pthread_sigmask(signal.SIG_UNBLOCK, _TERM)
                fill(tree, store, there)
            signal.pthread_sigmask(signal.SIG_BLOCK, _TERM)
            os.fchdir(store)
            write_file(_NOTE, json.dumps({"id": id}).encode())
        except (OSError, Bad, _Stopped) as trouble:
            os.fchdir(store)
            clear(_PLACE, store)
            return {"made": False, "detail": str(trouble)}
    return {"made": True}


def collect(named_lists: set[str], oldest: float) -> int:
    """Removes it if nobody took it since `oldest`, or its list is not kept. Returns the bytes."""
    with _locked() as ours:
        if not ours:
            return 0
        noted = _noted()
        if noted is not None and noted[2] in named_lists and noted[1] >= oldest * 1e9:
            return 0
        store = os.open(".", FOLDER)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(_NOTE)
        if not os.path.isdir(_PLACE):
            return 0
        clear(_PLACE, store)
        return noted[0].bytes if noted is not None else 0


def _begin(tree: Tree, store: int) -> frozenset[str]:
    """Enters the folder. One that nobody took is brought up to date."""
    old = _noted()
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_NOTE)
    if old is not None and os.path.isdir(_PLACE):
        os.chdir(_PLACE)
        kept = keep_what_fits(old[0], old[1], tree)
        if kept is not None:
            return kept
        os.fchdir(store)
    clear(_PLACE, store)
    os.mkdir(_PLACE, 0o700)
    os.chdir(_PLACE)
    return frozenset()


def _noted() -> tuple[Tree, int, str] | None:
    """What it was filled with, and when that was done; a copy that was cut off has no note."""
    try:
        with open(_NOTE, "rb") as file:
            id = str(json.loads(file.read())["id"])
            at = os.fstat(file.fileno()).st_ctime_ns
        return complete(id), at, id
    except (OSError, ValueError, KeyError, Bad):
        return None


def _room(tree: Tree, store: int) -> bool:
    disk = os.fstatvfs(store)
    left = disk.f_bavail * disk.f_frsize - tree.bytes
    return left >= max(_ROOM * tree.bytes, disk.f_blocks * disk.f_frsize // _SHARE)


def _one_disk(home: int) -> bool:
    """Whether it can be moved into the home: two mounts of one disk are as far apart as two."""
    probe = f".{_PLACE}-{os.urandom(8).hex()}"
    os.mkdir(probe, 0o700)
    try:
        os.rename(probe, probe, dst_dir_fd=home)
    except OSError:
        os.rmdir(probe)
        return False
    os.rmdir(probe, dir_fd=home)
    return True


@contextlib.contextmanager
def _locked() -> Iterator[bool]:
    """Whether nobody else is at it: a copy of a server that was killed may still be under way."""
    file = os.open(_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(file)


def _stop(number: int, frame: object) -> NoReturn:
    raise _Stopped
