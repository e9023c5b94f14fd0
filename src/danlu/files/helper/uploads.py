"""Uploads that can be continued: a hidden file in the target's folder, whose size is the offset.

Nothing else is remembered: neither a killed server nor a killed helper loses a byte that is in it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import stat
from typing import Any

from danlu.files.helper import wire
from danlu.files.helper.beneath import Place, exists, parent_of, reopen, writable
from danlu.files.helper.bundles import unpack
from danlu.files.helper.changes import make_folders, settle
from danlu.files.helper.entries import UPLOAD, ours
from danlu.files.helper.faults import Fault
from danlu.files.helper.names import LONGEST
from danlu.files.helper.request import Request

_NONCE = re.compile(r"[0-9a-f]{32}")
RESERVE = 1 << 30  # bytes an upload leaves free, as new jobs do
PIECE = 1 << 20
LOOK = 64 << 20  # bytes between looks whether they are still free: others write there, too
_MODES = os.O_NOFOLLOW | os.O_CLOEXEC


def _part(request: Request) -> bytes:
    nonce = request.text("nonce")
    if not _NONCE.fullmatch(nonce):
        raise Fault("not_found")
    return UPLOAD + nonce.encode()


def _home(request: Request) -> Place:
    """A name in the folder the upload is kept in: the new file's, or the bundle's own folder."""
    where = request.place()
    return where.below(b"_") if request.text("kind") == "bundle" else where


def create(request: Request) -> None:
    where, size = request.place(), request.number("size")
    writable(where)
    home = _home(request)
    if ours(home.name) or len(home.name) > LONGEST:
        raise Fault("name_too_long" if len(home.name) > LONGEST else "bad_name", where.shown)
    make_folders(home.parent())
    with parent_of(home) as (folder, name):
        if request.text("kind") != "bundle":
            _check_taken(request, folder, name, where)
        if not _is_room(request, where.root.fd, size):
            raise Fault("no_room", where.shown)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _MODES
        os.close(os.open(_part(request), flags, 0o666, dir_fd=folder))
    request.answer(offset=0)


def _is_room(request: Request, fd: int, size: int) -> bool:
    found = os.fstatvfs(fd)
    left = min(RESERVE, found.f_blocks * found.f_frsize // 20)
    return size + request.number("keep_free", left) <= found.f_bavail * found.f_frsize


def _check_taken(request: Request, folder: int, name: bytes, where: Place) -> None:
    """Before the first byte: who has uploaded 5 GB does not want to hear of it then."""
    if not exists(folder, name):
        return
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    conflict = request.text("conflict")
    if conflict == "rename":
        return
    if stat.S_ISDIR(found.st_mode):
        raise Fault("is_a_folder", where.shown)
    if conflict != "overwrite":
        raise Fault("exists", where.shown)


@contextlib.contextmanager
def _opened(request: Request, folder: int):  # type: ignore[no-untyped-def]
    fd = os.open(_part(request), os.O_PATH | _MODES, dir_fd=folder)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise Fault("not_found")
        part = reopen(fd, os.O_RDWR)
    finally:
        os.close(fd)
    try:
        yield part
    finally:
        os.close(part)


def look(request: Request) -> None:
    with parent_of(_home(request)) as (folder, _), _opened(request, folder) as part:
        request.answer(offset=os.fstat(part).st_size)


def forget(request: Request) -> None:
    with parent_of(_home(request)) as (folder, _), _opened(request, folder):
        os.unlink(_part(request), dir_fd=folder)
    request.answer(offset=0)


def append(request: Request) -> None:
    """What has arrived stays, whatever happens next."""
    total, at = request.number("size"), request.number("offset")
    with parent_of(_home(request)) as (folder, _), _opened(request, folder) as part:
        try:
            fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise Fault("busy") from None
            if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP):
                raise
        size = os.fstat(part).st_size
        if size != at:
            request.answer(error="offset", path="", detail=str(size))
            return
        request.answer(ready=True)
        end = _take(request, part, at, total)
        whole = end == total and request.text("kind") != "bundle"
        more = {"path": _finish(request, folder, part).shown} if whole else {}
    # Not before the file is closed: whoever goes on at once would find it locked.
    request.answer(offset=end, **more)


def _take(request: Request, part: int, start: int, total: int) -> int:
    named, _, wanted = request.text("checksum").partition(" ")
    digest = hashlib.new(named, usedforsecurity=False) if named else None
    at, file = start, _File(request, part)
    if request.pipe is not None:
        at = _drain(request.pipe, file, at, total, digest)
        # Bytes may follow that came another way; without an end nobody waits for it any more.
    while piece := wire.receive_piece(request.sock):
        if at + len(piece) > total:
            raise Fault("too_much")
        if digest is not None:
            digest.update(piece)
        at = file.write(piece, at)
    if digest is not None and digest.hexdigest() != wanted:
        os.ftruncate(part, start)
        raise Fault("checksum")
    return at


class _File:
    """What has arrived, on a disk that is not filled by it."""

    def __init__(self, request: Request, fd: int) -> None:
        self.fd = fd
        self._request = request
        self._due = 0

    def look(self, at: int) -> None:
        if at >= self._due:
            self._due = at + LOOK
            if not _is_room(self._request, self.fd, 0):
                raise Fault("no_room", self._request.place().shown)

    def write(self, piece: bytes | bytearray, at: int) -> int:
        self.look(at)
        view = memoryview(piece)
        while view:
            done = os.pwrite(self.fd, view, at)
            at, view = at + done, view[done:]
        return at


def _drain(pipe: int, file: _File, at: int, total: int, digest: Any) -> int:
    """What comes by the pipe until its other end is closed; without a look at it, if possible."""
    splicing = digest is None
    while True:
        most = min(PIECE, total - at) or 1  # one too many is seen
        if splicing and total > at:
            try:
                file.look(at)
                moved = os.splice(pipe, file.fd, most, offset_dst=at)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                splicing = False  # a file system that knows nothing of it
                continue
            if not moved:
                return at
            at += moved
            continue
        piece = os.read(pipe, most)
        if not piece:
            return at
        if at + len(piece) > total:
            raise Fault("too_much")
        if digest is not None:
            digest.update(piece)
        at = file.write(piece, at)


def _finish(request: Request, folder: int, part: int) -> Place:
    modified = request.values.get("modified")
    if modified is not None:
        with contextlib.suppress(OSError, OverflowError, ValueError):
            os.utime(part, (float(modified), float(modified)))
    where = request.place()
    try:
        return settle(folder, _part(request), where, folder, request.text("conflict") or "refuse")
    except FileExistsError:
        # Somebody was faster since the beginning: what has been sent is not thrown away for it.
        return settle(folder, _part(request), where, folder, "rename")


def unpack_bundle(request: Request) -> None:
    """The bundle is whole: its files come into the folder, and it goes."""
    where = request.place()
    writable(where)
    with parent_of(_home(request)) as (folder, _), _opened(request, folder) as part:
        if os.fstat(part).st_size != request.number("size"):
            raise Fault("not_found", where.shown)
        unpack(request, part, where, request.text("conflict") or "refuse")
        os.unlink(_part(request), dir_fd=folder)
    request.outcome()
