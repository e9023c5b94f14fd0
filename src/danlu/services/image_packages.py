"""The packages in a layer of an image, found by reading it once from beginning to end.

A layer is somebody's own: names and sizes in it may be anything, so all is bounded and nothing is
unpacked.
"""

from __future__ import annotations

import io
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from typing import IO

MOST_BYTES = 64 << 30  # of a layer, not compressed
_MOST_ENTRIES = 5_000_000
_MOST_PACKAGES = 20_000
_LARGEST_STATUS = 32 << 20
_LONGEST = 200
_PIP = re.compile(r"(?:^|/)([A-Za-z0-9._]+)-([^-/]+)\.(?:dist-info/METADATA|egg-info/PKG-INFO)$")
_CONDA = re.compile(r"(?:^|/)conda-meta/([^/]+)-([^-/]+)-[^-/]+\.json$")
_STATUS = "var/lib/dpkg/status"

Packages = dict[str, dict[str, str]]  # deb, pip, conda -> name -> version


class TooLarge(Exception):
    pass


def packages_in(pieces: Iterable[bytes]) -> Packages:
    """`pieces`: a tar file, perhaps compressed with gzip. Raises TooLarge, tarfile.TarError."""
    found: Packages = {"deb": {}, "pip": {}, "conda": {}}
    stream = _Stream(_plain(pieces))
    with tarfile.open(fileobj=stream, mode="r|", bufsize=1 << 20, errors="replace") as tar:
        for count, entry in enumerate(tar):
            if count > _MOST_ENTRIES:
                raise TooLarge
            name = entry.name.removeprefix("./")
            if name == _STATUS and entry.isreg():
                file = tar.extractfile(entry)
                if file is not None:
                    found["deb"] = dict(_installed(file))
            elif match := _PIP.search(name):
                _put(found["pip"], match[1], match[2])
            elif match := _CONDA.search(name):
                _put(found["conda"], match[1], match[2])
    return found


def merged(layers: Iterable[Packages]) -> Packages:
    """Of a whole image, lowest layer first. A later list of Debian's packages replaces all."""
    whole: Packages = {"deb": {}, "pip": {}, "conda": {}}
    for layer in layers:
        if layer.get("deb"):
            whole["deb"] = layer["deb"]
        for kind in ("pip", "conda"):
            whole[kind] |= layer.get(kind, {})
    return whole


def _installed(file: IO[bytes]) -> Iterator[tuple[str, str]]:
    text = file.read(_LARGEST_STATUS).decode("utf-8", "replace")
    for paragraph in text.split("\n\n")[:_MOST_PACKAGES]:
        fields = dict(
            line.partition(": ")[::2] for line in paragraph.splitlines() if line[:1].isalpha()
        )
        if fields.get("Status", "").endswith(" installed") and fields.get("Package"):
            yield fields["Package"][:_LONGEST], fields.get("Version", "")[:_LONGEST]


def _put(where: dict[str, str], name: str, version: str) -> None:
    if len(where) < _MOST_PACKAGES:
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


class _Stream(io.RawIOBase):
    """Pieces as a file that is read from beginning to end."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        parts, wanted = [], size if size >= 0 else 1 << 62
        while wanted > 0:
            if not self._rest:
                self._rest = next(self._pieces, b"")
                if not self._rest:
                    break
            parts.append(self._rest[:wanted])
            self._rest = self._rest[wanted:]
            wanted -= len(parts[-1])
        return b"".join(parts)
