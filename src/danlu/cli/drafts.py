"""Files on their way down: under the name of a draft, and continued by repeating the command."""

from __future__ import annotations

import os

from danlu.cli import codes
from danlu.cli.failure import Failure
from danlu.cli.table import printable
from danlu.cli.transfers import Remembered
from danlu.sdk.calls import BASE
from danlu.sdk.downloads import Changed, Download
from danlu.sdk.errors import ApiError
from danlu.sdk.wire import target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.progress import Progress
    from danlu.sdk.client import Client

LARGE = 8 << 20  # bytes from which it is worth to continue one
LONGEST = 255
TRIES = 5
SUFFIX = b".danlu-part"


def draft_name(name: bytes) -> bytes:
    if len(name) + len(SUFFIX) <= LONGEST:
        return name + SUFFIX
    import hashlib

    return hashlib.sha256(name).hexdigest()[:32].encode() + SUFFIX


class Draft:
    """One file of the server on its way into a folder, which is given by its descriptor."""

    def __init__(self, client: Client, progress: Progress, path: str, place: str) -> None:
        """`place`: the absolute path it will have here, only to recognise it the next time."""
        self._client = client
        self._progress = progress
        self._path = path
        self._memory = Remembered("down", client.wire.address.text, path, place)

    def remember(self, size: int, modified: float) -> None:
        """A tar says no more about a file: neither does it know its ETag."""
        self._memory.forget()
        self._memory.keep(size=size, modified=int(modified))

    def forget(self) -> None:
        self._memory.forget()

    def fetch(self, folder: int, name: bytes, size: int | None, modified: float | None) -> int:
        """Bytes that came. `size`, `modified`: what is known of the file; None: it is a link."""
        draft = draft_name(name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        out = os.open(draft, flags, 0o666, dir_fd=folder)
        try:
            count = self._fetch(out, os.fsdecode(name), size, modified)
            if modified is not None:
                os.utime(out, (modified, modified))
            os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except (ApiError, Failure):
            # The server will not send it: there is nothing to continue.
            self._memory.forget()
            os.unlink(draft, dir_fd=folder)
            raise
        finally:
            os.close(out)
        self._memory.forget()
        return count

    def _fetch(self, out: int, name: str, size: int | None, modified: float | None) -> int:
        address = target(f"{BASE}/files/content", {"path": self._path})
        for _ in range(TRIES):
            known = self._memory.values
            etag = str(known.get("etag", ""))
            same = known.get("size") == size and known.get("modified") == int(modified or 0)
            start = os.lseek(out, 0, os.SEEK_END) if etag or (same and size is not None) else 0
            os.ftruncate(out, start)
            os.lseek(out, start, os.SEEK_SET)
            transfer = Download(self._client.wire, address, start, etag)
            try:
                for piece in transfer.pieces():
                    if transfer.etag != etag:
                        etag = transfer.etag
                        self._memory.keep(etag=etag)
                        self._progress.begin(printable(name), transfer.size, start)
                    write(out, piece)
                    self._progress.at(transfer.at)
                return transfer.at - start
            except Changed:
                self._memory.forget()
        raise Failure("files.changing", codes.CONFLICT, path=printable(name))


def write(out: int, piece: bytes) -> None:
    view = memoryview(piece)
    while view:
        view = view[os.write(out, view) :]
