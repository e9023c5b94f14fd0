"""A container's changes as an image layer: a tar file, compressed and hashed as it is written."""

from __future__ import annotations

import hashlib
import os
import queue
import stat
import tarfile
import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from isal import isal_zlib

from danlu.engines.api import CannotSave
from danlu.engines.local.container.saving.upper import Entry, walk
from danlu.spec.text import Text
from danlu.spec.units import format_size

_PIECE = 1 << 20
_GZIP = 31  # window bits that ask for gzip's header
_AHEAD = 8  # pieces read ahead of the compression
_BLOCK = 512
_END = bytes(2 * _BLOCK)
_EMPTY = "/.wh..wh..opq"


@dataclass(slots=True)
class Written:
    """What a layer is known by once it is complete."""

    diff_id: str = ""  # of the tar file
    digest: str = ""  # of what is stored
    size: int = 0  # of what is stored


@dataclass(frozen=True, slots=True)
class Measured:
    """What a layer will hold."""

    size: int  # bytes of files
    files: int


def measure(top: int, left_out: Collection[str] = ()) -> Measured:
    """Raises CannotSave and Elsewhere."""
    size = files = 0
    links: set[tuple[int, int]] = set()
    for entry in walk(top, left_out):
        files += 1
        if stat.S_ISREG(entry.stat.st_mode):
            if entry.stat.st_nlink > 1:
                if entry.identity in links:
                    continue
                links.add(entry.identity)
            size += entry.stat.st_size
    return Measured(size, files)


def compressed(pieces: Iterator[bytes], written: Written) -> Iterator[bytes]:
    """`written` is filled when the last piece has been taken."""
    tar, stored = hashlib.sha256(), hashlib.sha256()
    work = isal_zlib.compressobj(1, isal_zlib.DEFLATED, _GZIP)
    for piece in _ahead(pieces):
        tar.update(piece)
        out = work.compress(piece)
        if out:
            stored.update(out)
            written.size += len(out)
            yield out
    last = work.flush()
    stored.update(last)
    written.size += len(last)
    written.diff_id, written.digest = f"sha256:{tar.hexdigest()}", f"sha256:{stored.hexdigest()}"
    yield last


def tar_of(
    top: int,
    left_out: Collection[str],
    progress: Callable[[int], None],
    most: int | None = None,
) -> Iterator[bytes]:
    """`progress` is told the bytes of files read so far. Raises CannotSave and Elsewhere.

    `most`: bytes of files that there is room for. What was measured is still being changed: a file
    that is a petabyte of holes by now would be read for weeks."""
    waiting, read, announced = bytearray(), 0, 0
    links: dict[tuple[int, int], str] = {}
    for entry in walk(top, left_out):
        info = _header(entry, links)
        announced += info.size
        if most is not None and announced > most:
            raise _grown(announced, most)
        waiting += _bytes_of(info)
        if entry.opaque:
            inside = tarfile.TarInfo(entry.path + _EMPTY)
            waiting += _bytes_of(inside)
        if info.type == tarfile.REGTYPE and info.size:
            for piece in _content(entry, info.size):
                waiting += piece
                read += len(piece)
                if len(waiting) >= _PIECE:
                    yield bytes(waiting)
                    waiting.clear()
                    progress(read)
            waiting += bytes(-info.size % _BLOCK)
        if len(waiting) >= _PIECE:
            yield bytes(waiting)
            waiting.clear()
            progress(read)
    progress(read)
    yield bytes(waiting) + _END


def _grown(size: int, most: int) -> CannotSave:
    now, room = format_size(size), format_size(most)
    return CannotSave(
        Text(
            f"It has grown to {now} or more while it was being saved, and there is room for {room}",
            f"保存期间它已增长到 {now} 以上，而可用空间只有 {room}",
        )
    )


def _header(entry: Entry, links: dict[tuple[int, int], str]) -> tarfile.TarInfo:
    found = entry.stat
    folder, _, name = entry.path.rpartition("/")
    if entry.removed:
        return tarfile.TarInfo(f"{folder}/.wh.{name}" if folder else f".wh.{name}")
    info = tarfile.TarInfo(entry.path)
    info.uid, info.gid = found.st_uid, found.st_gid
    info.mode, info.mtime = stat.S_IMODE(found.st_mode), max(0, int(found.st_mtime))
    info.pax_headers = {
        # Any bytes: what is no valid text is written back as it is.
        f"SCHILY.xattr.{key}": value.decode("utf-8", "surrogateescape")
        for key, value in entry.attributes.items()
    }
    if stat.S_ISDIR(found.st_mode):
        info.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(found.st_mode):
        info.type, info.linkname = tarfile.SYMTYPE, entry.link()
    elif stat.S_ISREG(found.st_mode):
        first = links.setdefault(entry.identity, entry.path) if found.st_nlink > 1 else entry.path
        if first != entry.path:
            info.type, info.linkname = tarfile.LNKTYPE, first
        else:
            info.size = found.st_size
    elif stat.S_ISFIFO(found.st_mode):
        info.type = tarfile.FIFOTYPE
    else:
        info.type = tarfile.CHRTYPE if stat.S_ISCHR(found.st_mode) else tarfile.BLKTYPE
        info.devmajor, info.devminor = os.major(found.st_rdev), os.minor(found.st_rdev)
    return info


def _bytes_of(info: tarfile.TarInfo) -> bytes:
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _content(entry: Entry, size: int) -> Iterator[bytes]:
    """Exactly `size` bytes: what is missing of a file that has shrunk is zeros."""
    file = entry.open()
    try:
        while size > 0:
            piece = os.read(file, min(_PIECE, size)) or bytes(min(_PIECE, size))
            size -= len(piece)
            yield piece
    finally:
        os.close(file)


def _ahead(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Reads in a thread of its own while what was read is compressed and sent."""
    ready: queue.Queue[bytes | BaseException | None] = queue.Queue(_AHEAD)
    over = threading.Event()

    def put(item: bytes | BaseException | None) -> bool:
        while not over.is_set():
            try:
                ready.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def read() -> None:
        try:
            for piece in pieces:
                if not put(piece):
                    return
            put(None)
        except BaseException as error:  # raised again where it is waited for
            put(error)

    reader = threading.Thread(target=read, name="danlu-save-read", daemon=True)
    reader.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        over.set()
        reader.join()
