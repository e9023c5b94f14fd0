"""Files with holes in a backup: only what was written to them takes room and time.

Such a file is one or more entries of the same name. Each begins with a map, the offsets and lengths
of pieces, and goes on with these pieces. The pax header HEADER says how many there are, how long
the whole file is, which of its entries this is, and whether more of them follow.
"""

from __future__ import annotations

import errno
import itertools
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from danlu.files.archive import Readable

HEADER = "DANLU.sparse"
AT_ONCE = 4096  # pieces of one entry
_PIECE = struct.Struct("!QQ")
_CHUNK = 1 << 20
Piece = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Part:
    """What the header of an entry says."""

    pieces: int
    size: int  # of the whole file
    number: int
    more: bool

    @property
    def header(self) -> str:
        return f"{self.pieces} {self.size} {self.number} {int(self.more)}"

    @classmethod
    def of(cls, header: str) -> Part:
        """Raises ValueError."""
        pieces, size, number, more = map(int, header.split(" "))
        if not 0 <= pieces <= AT_ONCE or min(size, number) < 0:
            raise ValueError(header)
        return cls(pieces, size, number, bool(more))


def has_holes(found: os.stat_result) -> bool:
    return found.st_blocks * 512 < found.st_size


def parts(fd: int, size: int) -> Iterator[tuple[Part, list[Piece]]]:
    """At least one; a file may have more pieces than anybody wants to remember at once."""
    pieces = _pieces(fd, size)
    following = list(itertools.islice(pieces, AT_ONCE))
    for number in itertools.count():
        these, following = following, list(itertools.islice(pieces, AT_ONCE))
        yield Part(len(these), size, number, bool(following)), these
        if not following:
            return


def _pieces(fd: int, size: int) -> Iterator[Piece]:
    at = 0
    while at < size:
        try:
            start = os.lseek(fd, at, os.SEEK_DATA)
            end = min(os.lseek(fd, start, os.SEEK_HOLE), size)
        except OSError as error:
            if error.errno != errno.ENXIO:  # this file system does not tell
                yield at, size - at
            return  # the rest is a hole, or was cut off meanwhile
        if end <= start:
            return
        yield start, end - start
        at = end


class Packed:
    """Map and pieces, to be read from the beginning to the end."""

    def __init__(self, fd: int, pieces: list[Piece]) -> None:
        self.size = len(pieces) * _PIECE.size + sum(length for _, length in pieces)
        self._chunks = _chunks(fd, pieces)
        self._held = b""

    def read(self, size: int = -1, /) -> bytes:
        """As many bytes as asked for, until there are no more."""
        out = bytearray()
        while len(out) < size:
            self._held = self._held or next(self._chunks, b"")
            if not self._held:
                break
            wanted = size - len(out)
            out += self._held[:wanted]
            self._held = self._held[wanted:]
        return bytes(out)


def _chunks(fd: int, pieces: list[Piece]) -> Iterator[bytes]:
    yield b"".join(_PIECE.pack(*piece) for piece in pieces)
    for start, length in pieces:
        at, end = start, start + length
        while at < end:
            wanted = min(_CHUNK, end - at)
            data = os.pread(fd, wanted, at) or bytes(wanted)  # shorter by now: filled up
            yield data
            at += len(data)


def unpack(fd: int, part: Part, source: Readable) -> None:
    """Raises ValueError if it is not what it should be."""
    if part.number == 0:
        os.ftruncate(fd, part.size)
    told = _exactly(source, part.pieces * _PIECE.size)
    for start, length in _PIECE.iter_unpack(told):
        at, end = start, start + length
        if end > part.size:
            raise ValueError(f"a piece ends at {end}")
        while at < end:
            data = _exactly(source, min(_CHUNK, end - at))
            while data:
                written = os.pwrite(fd, data, at)
                at, data = at + written, data[written:]


def _exactly(source: Readable, size: int) -> bytes:
    data = source.read(size) if size else b""
    while len(data) < size:
        more = source.read(size - len(data))
        if not more:
            raise ValueError("too short")
        data += more
    return data
