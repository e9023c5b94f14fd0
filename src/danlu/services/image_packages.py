"""The packages in a layer of an image, found by reading it once from beginning to end.

A layer is somebody's own: names and sizes in it may be anything, so all is bounded and nothing is
unpacked.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

from danlu.services.layer_entries import TooLarge, entries

MOST_BYTES = 64 << 30  # of a layer, not compressed
_MOST_ENTRIES = 5_000_000
_MOST_PACKAGES = 5_000  # of one kind
_LARGEST_STATUS = 32 << 20
_LONGEST = 200
_LONGEST_NAME = 4096  # of files: Linux opens no longer paths
_PIP = re.compile(r"(?:^|/)([A-Za-z0-9._]+)-([^-/]+)\.(?:dist-info/METADATA|egg-info/PKG-INFO)$")
_CONDA = re.compile(r"(?:^|/)conda-meta/([^/]+)-([^-/]+)-[^-/]+\.json$")
_STATUS = "var/lib/dpkg/status"
_FIELDS = frozenset({b"Package", b"Status", b"Version"})

Packages = dict[str, dict[str, str]]  # deb, pip, conda -> name -> version


def packages_in(pieces: Iterable[bytes]) -> Packages:
    """`pieces`: a tar file, perhaps compressed with gzip. Raises TooLarge, tarfile.TarError."""
    found: Packages = {"deb": {}, "pip": {}, "conda": {}}
    for count, entry in enumerate(entries(_Stream(_plain(pieces)))):
        if count > _MOST_ENTRIES:
            raise TooLarge
        name = entry.name.removeprefix("./")
        if len(name) > _LONGEST_NAME:
            continue
        if name == _STATUS and entry.regular:
            found["deb"] = dict(_installed(entry.read(_LARGEST_STATUS)))
        elif match := _PIP.search(name):
            _put(found["pip"], match[1], match[2])
        elif match := _CONDA.search(name):
            _put(found["conda"], match[1], match[2])
    return found


def merged(layers: Iterable[Packages]) -> Packages:
    """Of a whole image, lowest layer first."""
    whole: Packages = {"deb": {}, "pip": {}, "conda": {}}
    for layer in layers:
        merge(whole, layer)
    return whole


def merge(whole: Packages, layer: Packages) -> None:
    """A later list of Debian's packages replaces all."""
    if layer.get("deb"):
        whole["deb"] = layer["deb"]
    for kind in ("pip", "conda"):
        for name, version in layer.get(kind, {}).items():
            _put(whole[kind], name, version)


def _installed(status: bytes) -> Iterator[tuple[str, str]]:
    """Line by line: as many short lines as fit would be a gigabyte as a list."""
    fields: dict[bytes, bytes] = {}
    found = 0
    for line in chain(io.BytesIO(status), (b"\n",)):
        key, colon, value = line.rstrip(b"\r\n").partition(b": ")
        if colon and key in _FIELDS:
            fields[key] = value
        elif not key:
            if fields.get(b"Status", b"").endswith(b" installed") and fields.get(b"Package"):
                yield _short(fields[b"Package"]), _short(fields.get(b"Version", b""))
                found += 1
                if found == _MOST_PACKAGES:
                    return
            fields = {}


def _short(text: bytes) -> str:
    return text[: 4 * _LONGEST].decode("utf-8", "replace")[:_LONGEST]


def _put(where: dict[str, str], name: str, version: str) -> None:
    if len(where) < _MOST_PACKAGES or name in where:
        where[name[:_LONGEST]] = version[:_LONGEST]


def _plain(pieces: Iterable[bytes]) -> Iterator[bytes]:
    work: zlib._Decompress | None = None
    first, size = True, 0
    for piece in pieces:
        if first:
            first = False
            work = zlib.decompressobj(31) if piece[:2] == b"\x1f\x8b" else None
        waiting = piece
        while waiting:
            out = waiting if work is None else work.decompress(waiting, 1 << 20)
            waiting = b"" if work is None else work.unconsumed_tail
            size += len(out)
            if size > MOST_BYTES:
                raise TooLarge
            if out:
                yield out


class _Stream:
    """Pieces as a file that is read from beginning to end."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece, self._at = b"", 0

    def read(self, size: int, /) -> bytes:
        parts, wanted = [], size
        while wanted > 0:
            part = self._piece[self._at : self._at + wanted]
            if part:
                parts.append(part)
                self._at += len(part)
                wanted -= len(part)
            else:
                self._piece, self._at = next(self._pieces, b""), 0
                if not self._piece:
                    break
        return parts[0] if len(parts) == 1 else b"".join(parts)
