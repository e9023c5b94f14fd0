"""Copies a dataset to a fast volume, or measures a volume. Started by file name.

Whoever can write the dataset can change it meanwhile: everything is opened by descriptors, no link
is followed, and nothing but files and folders is opened. Says how far it is, one line of JSON each.
"""

from __future__ import annotations

import contextlib
import errno
import json
import mmap
import os
import shutil
import stat
import sys
import time

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TOLD_EVERY = 0.5  # seconds
_DEEPEST = 500
_PIECE = 4 << 20
MOST_MEASURED = 512 << 20
LONGEST_MEASURED = 3.0  # seconds a step


class Copier:
    def __init__(self) -> None:
        self.done = 0
        self._told = 0.0

    def folder(self, source: int, target: int, depth: int = 0) -> None:
        with os.scandir(source) as listed:
            names = [entry.name for entry in listed]
        for name in names:
            found = os.stat(name, dir_fd=source, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode) and depth < _DEEPEST:
                self._inner(name, found, source, target, depth)
            elif stat.S_ISREG(found.st_mode):
                self._file(name, source, target)
            elif stat.S_ISLNK(found.st_mode):
                os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)

    def _inner(
        self, name: str, found: os.stat_result, source: int, target: int, depth: int
    ) -> None:
        os.mkdir(name, 0o700, dir_fd=target)
        below, copy = os.open(name, _FOLDER, dir_fd=source), os.open(name, _FOLDER, dir_fd=target)
        try:
            self.folder(below, copy, depth + 1)
            look_like(copy, found)
        finally:
            os.close(below)
            os.close(copy)

    def _file(self, name: str, source: int, target: int) -> None:
        file = os.open(name, _FILE, dir_fd=source)
        try:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode):
                return  # replaced since it was looked at
            copy = os.open(name, _NEW, 0o600, dir_fd=target)
            try:
                at = 0
                while moved := os.sendfile(copy, file, at, _PIECE):
                    at += moved
                    self.done += moved
                    self._tell()
                look_like(copy, found)
            finally:
                os.close(copy)
        finally:
            os.close(file)

    def _tell(self) -> None:
        now = time.monotonic()
        if now >= self._told + _TOLD_EVERY:
            self._told = now
            say(done=self.done)


def look_like(copy: int, found: os.stat_result) -> None:
    with contextlib.suppress(PermissionError):  # not root
        os.fchown(copy, found.st_uid, found.st_gid)
    os.fchmod(copy, stat.S_IMODE(found.st_mode) & 0o777)
    os.utime(copy, ns=(found.st_mtime_ns, found.st_mtime_ns))


def make_private(folder: str) -> None:
    """Tasks see a copy only where it is mounted for them: not everybody who may use the fast volume
    may read every dataset on it.
    """
    parent = os.stat(os.path.dirname(folder))
    others = parent.st_mode & 0o022 and not parent.st_mode & stat.S_ISVTX
    if os.geteuid() == 0 and (others or parent.st_uid != 0):
        raise OSError(
            errno.EPERM,
            f"others could replace the copies in {os.path.dirname(folder)}: it must belong to root "
            "and be writable by root only, or have the sticky bit (chmod +t)",
        )
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    own = os.open(folder, _FOLDER)
    try:
        if os.fstat(own).st_uid != os.geteuid():
            raise OSError(errno.EPERM, f"{folder} was made by somebody else: remove it")
        os.fchmod(own, 0o700)
    finally:
        os.close(own)


def copy(root: int, folder: str, name: str) -> None:
    """Under another name until it is whole. `root`: the descriptor of the dataset's folder."""
    os.nice(10)
    sys.setrecursionlimit(_DEEPEST * 4)
    make_private(folder)
    draft, whole = f"{folder}/{name}.part", f"{folder}/{name}"
    shutil.rmtree(draft, ignore_errors=True)
    if os.path.isdir(whole):
        say(done=0, ready=True)
        return
    copier = Copier()
    try:
        os.mkdir(draft, 0o700)
        target = os.open(draft, _FOLDER)
        copier.folder(root, target)
        look_like(target, os.fstat(root))
        os.fsync(target)
        os.rename(draft, whole)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    say(done=copier.done, ready=True)


def remove(folder: str) -> None:
    os.nice(10)
    shutil.rmtree(folder, ignore_errors=False)
    say(ready=True)


def measure(folder: str) -> None:
    """A file without a name, past the page cache: bytes per second written and read."""
    file = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC | os.O_DIRECT, 0o600)
    buffer = mmap.mmap(-1, _PIECE)  # aligned to pages, as O_DIRECT asks for
    buffer.write(os.urandom(1 << 20) * (_PIECE >> 20))
    written, begun = 0, time.monotonic()
    while written < MOST_MEASURED and time.monotonic() < begun + LONGEST_MEASURED:
        written += os.pwrite(file, buffer, written)
    os.fdatasync(file)
    write = written / (time.monotonic() - begun)
    read, begun = 0, time.monotonic()
    while read < written and time.monotonic() < begun + LONGEST_MEASURED:
        read += os.preadv(file, [buffer], read)
    say(write=write, read=read / max(time.monotonic() - begun, 1e-6), bytes=written)


def say(**values: object) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def main(what: str, *words: str) -> None:
    if what == "copy":
        root, folder, name = words
        copy(int(root), folder, name)
    elif what == "remove":
        remove(*words)
    else:
        measure(*words)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except FileNotFoundError as error:
        say(error="missing", detail=str(error.filename or ""))
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        say(error="full" if full else "failed", detail=error.strerror or str(error))
