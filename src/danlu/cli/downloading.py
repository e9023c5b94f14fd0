"""`danlu cp` from the server: files as they are, folders as a tar that is unpacked on the way."""

from __future__ import annotations

import os
import tarfile
import time

from danlu.cli import codes
from danlu.cli.failure import Failure
from danlu.cli.table import printable
from danlu.cli.transfers import Remembered
from danlu.cli.unpacking import Tree
from danlu.sdk.calls import BASE
from danlu.sdk.downloads import Changed, Download
from danlu.sdk.wire import target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from danlu.cli.progress import Progress
    from danlu.sdk.client import Client

TRIES = 5
SAVE_EVERY = 1.0  # seconds


class Downloading:
    def __init__(self, client: Client, progress: Progress, no_clobber: bool) -> None:
        self._client = client
        self._progress = progress
        self._no_clobber = no_clobber
        self.files = self.bytes = self.skipped = 0

    def copy_file(self, path: str, local: str) -> None:
        name = os.fsdecode(_local_name(path.rstrip("/").rpartition("/")[2]))
        where = os.path.join(local, name) if os.path.isdir(local) else local
        if self._no_clobber and os.path.lexists(where):
            self.skipped += 1
            return
        address = target(f"{BASE}/files/content", {"path": path})
        memory = Remembered("down", self._client.wire.address.text, address, os.path.abspath(where))
        draft = f"{where}.danlu-part"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            out = os.open(draft, flags, 0o666)
        except OSError as error:
            cause = error.strerror or str(error)
            raise Failure("file.unwritable", file=where, cause=cause) from None
        try:
            self._fetch(address, out, memory, os.path.basename(where))
            os.replace(draft, where)
        finally:
            os.close(out)
        memory.forget()
        self.files += 1

    def _fetch(self, address: str, out: int, memory: Remembered, name: str) -> None:
        for _ in range(TRIES):
            etag = str(memory.values.get("etag", ""))
            start = os.lseek(out, 0, os.SEEK_END) if etag else 0
            os.ftruncate(out, start)
            os.lseek(out, start, os.SEEK_SET)
            transfer = Download(self._client.wire, address, start, etag)
            try:
                for piece in transfer.pieces():
                    if transfer.etag != etag:
                        etag = transfer.etag
                        memory.keep(etag=etag)
                        self._progress.begin(printable(name), transfer.size, start)
                    _write(out, piece)
                    self._progress.at(transfer.at)
                self.bytes += transfer.at - start
                return
            except Changed:
                memory.forget()
        raise Failure("files.changing", codes.CONFLICT, path=printable(name))

    def copy_folder(self, path: str, local: str) -> None:
        address = target(f"{BASE}/files/archive", {"path": path})
        server = self._client.wire.address.text
        memory = Remembered("tree", server, address, os.path.abspath(local))
        if "where" not in memory.values:
            name = os.fsdecode(_local_name(path.rstrip("/").rpartition("/")[2]))
            where = os.path.join(local, name) if os.path.isdir(local) else local
            memory.keep(where=os.path.abspath(where))
        where = str(memory.values["where"])
        for _ in range(TRIES):
            try:
                self._unpack(address, where, memory)
                memory.forget()
                return
            except Changed:
                memory.keep(etag="", at=0)
        raise Failure("files.changing", codes.CONFLICT, path=printable(path))

    def _unpack(self, address: str, where: str, memory: Remembered) -> None:
        start, etag = int(memory.values.get("at") or 0), str(memory.values.get("etag") or "")
        transfer = Download(self._client.wire, address, start if etag else 0, etag)
        start = transfer.at
        stream = _Stream(transfer.pieces(), self._progress, transfer)
        stream.begin(printable(os.path.basename(where)))
        saved = time.monotonic()
        tree = Tree(where)
        try:
            with tarfile.open(fileobj=stream, mode="r|", errors="surrogateescape") as tar:  # type: ignore[call-overload]
                while (member := tar.next()) is not None:
                    if time.monotonic() - saved > SAVE_EVERY:
                        # Everything before this entry is on the disk.
                        memory.keep(at=start + member.offset, etag=transfer.etag)
                        saved = time.monotonic()
                    tar.members = []
                    self._take(tar, member, tree)
        finally:
            tree.close()
        stream.drain()
        self.bytes += transfer.at - start

    def _take(self, tar: tarfile.TarFile, member: tarfile.TarInfo, tree: Tree) -> None:
        """The first part of its name is the folder's own, which may have another name here."""
        name = member.name.encode("utf-8", "surrogateescape")
        parts = [part for part in name.split(b"/") if part not in (b"", b".")][1:]
        if not parts:
            return
        source = tar.extractfile(member) if member.isreg() else None
        if not tree.take(member, parts, source, not self._no_clobber):
            self.skipped += 1
        elif not member.isdir():
            self.files += 1


class _Stream:
    """What tarfile reads from."""

    def __init__(self, pieces: Iterator[bytes], progress: Progress, transfer: Download) -> None:
        self._pieces = pieces
        self._progress = progress
        self._transfer = transfer
        self._held = b""
        self._name = ""

    def begin(self, name: str) -> None:
        self._name = name
        self._held = next(self._pieces, b"")
        start = self._transfer.at - len(self._held)
        self._progress.begin(name, self._transfer.size, start)

    def read(self, size: int) -> bytes:
        parts = []
        while size > 0:
            if not self._held:
                self._held = next(self._pieces, b"")
                self._progress.at(self._transfer.at)
                if not self._held:
                    break
            part, self._held = self._held[:size], self._held[size:]
            size -= len(part)
            parts.append(part)
        return b"".join(parts)

    def drain(self) -> None:
        for _ in self._pieces:
            pass


def _local_name(text: str) -> bytes:
    """The bytes of a name that the server has written with `\\xHH`."""
    import re

    raw = text.encode()
    return re.sub(rb"\\x([0-9a-fA-F]{2})", lambda found: bytes([int(found[1], 16)]), raw)


def _write(out: int, piece: bytes) -> None:
    view = memoryview(piece)
    while view:
        view = view[os.write(out, view) :]
