"""The entries of an image's layer, a tar file, read once from beginning to end.

Anybody can push a layer, and a megabyte of gzip is a gigabyte of tar. `tarfile` reads whatever a
header announces into memory (long names, pax records, maps of sparse files) and remembers every
entry; here a header is small or the layer is refused, and nothing is remembered.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

_BLOCK = 512
_PIECE = 1 << 20
_LARGEST_HEADER = 1 << 20  # of pax records, or of a name
_DIGITS = 20
_PAX = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE)
_WITHOUT_CONTENT = (
    tarfile.LNKTYPE,
    tarfile.SYMTYPE,
    tarfile.CHRTYPE,
    tarfile.BLKTYPE,
    tarfile.DIRTYPE,
    tarfile.FIFOTYPE,
)


class TooLarge(Exception):
    pass


class Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(slots=True)
class Entry:
    name: str
    regular: bool
    size: int
    _stream: Stream
    _left: int

    def read(self, most: int) -> bytes:
        """What it holds, or its beginning."""
        found = self._stream.read(min(most, self._left))
        self._left -= len(found)
        return found

    def skip(self) -> None:
        self._left += -self.size % _BLOCK
        while self._left > 0 and (found := self._stream.read(min(_PIECE, self._left))):
            self._left -= len(found)


def entries(stream: Stream) -> Iterator[Entry]:
    """Each is only valid until the next one. Raises TooLarge, tarfile.TarError."""
    name, size = None, None  # as the headers before the next entry say
    while len(block := stream.read(_BLOCK)) == _BLOCK and any(block):
        head = tarfile.TarInfo.frombuf(block, "utf-8", "replace")
        if head.size < 0 or head.type == tarfile.GNUTYPE_SPARSE:
            raise tarfile.ReadError("not as layers are written")
        content = 0 if head.type in _WITHOUT_CONTENT else head.size
        if head.type in (*_PAX, tarfile.XGLTYPE, *_LONG):
            if content > _LARGEST_HEADER:
                raise TooLarge
            entry = Entry("", False, content, stream, content)
            found = entry.read(content)
            entry.skip()
            if head.type in _PAX:
                records = _records(found)
                name = _text(records[b"path"]) if b"path" in records else name
                size = _number(records[b"size"]) if b"size" in records else size
            elif head.type == tarfile.GNUTYPE_LONGNAME:
                name = _text(found.partition(b"\0")[0])
            continue
        if size is not None and content:
            content = size
        entry = Entry(name or head.name, head.isreg(), content, stream, content)
        name = size = None
        yield entry
        entry.skip()


_LONG = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)


def _records(found: bytes) -> dict[bytes, bytes]:
    """`LENGTH KEY=VALUE` and a line's end, each."""
    records, at = dict[bytes, bytes](), 0
    while at < len(found) and found[at]:
        digits, space, _ = found[at : at + _DIGITS].partition(b" ")
        length = _number(digits)
        if not space or length <= len(digits) + 1:
            raise tarfile.ReadError("not a pax record")
        key, _, value = found[at + len(digits) + 1 : at + length - 1].partition(b"=")
        if key in (b"path", b"size"):
            records[key] = value
        at += length
    return records


def _number(text: bytes) -> int:
    if not text.isdigit() or len(text) > _DIGITS:
        raise tarfile.ReadError("not a number")
    return int(text)


def _text(found: bytes) -> str:
    return found.decode("utf-8", "replace")
