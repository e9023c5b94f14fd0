"""Downloads that go on where they were cut off."""

from __future__ import annotations

import time

from danlu.sdk.errors import ApiError, Lost, Unreachable, api_error
from danlu.sdk.parser import Parser
from danlu.sdk.patience import Retries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from danlu.sdk.wire import Wire

SILENCE = 120.0
PATIENCE = 600.0


class Changed(Exception):
    """The file on the server is not the one that was begun with: begin again."""


class Download:
    """The bytes of one address from `at` on. `etag` names the version they belong to."""

    def __init__(
        self, wire: Wire, path: str, at: int = 0, etag: str = "", patience: float = PATIENCE
    ) -> None:
        self._wire = wire
        self._path = path
        self._patience = patience
        self.at = at
        self.etag = etag
        self.size: int | None = None

    def pieces(self) -> Iterator[bytes]:
        """Raises ApiError, Changed, or Lost if the server stays away for too long."""
        retries = Retries(self._patience)
        while True:
            try:
                for piece in self._once():
                    retries.reset()
                    yield piece
                return
            except (Lost, Unreachable, ApiError) as error:
                pause = retries.after(error)
            time.sleep(pause)

    def _once(self) -> Iterator[bytes]:
        headers = {}
        if self.at:
            headers = {"Range": f"bytes={self.at}-"}
            if self.etag:
                headers["If-Range"] = self.etag
        link = self._wire.connect()
        parser = Parser("GET")
        refusal = b""
        try:
            link.set_timeout(SILENCE)
            link.send(self._wire.head("GET", self._path, headers))
            while not parser.done:
                data = link.receive()
                if not data and not parser.feed_end():
                    raise Lost(self._wire.address.text, "the connection ended before the last byte")
                body = parser.feed(data) if data else b""
                if not parser.has_head:
                    continue
                if parser.status >= 400:
                    refusal += body
                    continue
                self._check(parser)
                if body:
                    self.at += len(body)
                    yield body
        finally:
            link.close()
        if parser.status == 416:
            if parser.headers.get("content-range", "") == f"bytes */{self.at}":
                self.size = self.at
                return  # everything was there already
            raise Changed
        if parser.status >= 400:
            raise api_error(parser.status, refusal)

    def _check(self, parser: Parser) -> None:
        """Whether what comes now continues what was there."""
        if self.at and self.size is None and parser.status != 206:
            raise Changed
        etag = parser.headers.get("etag", "")
        if self.etag and etag != self.etag:
            raise Changed
        self.etag = etag
        if self.size is None:
            length = parser.headers.get("content-length")
            self.size = None if length is None else self.at + int(length)


def download(
    wire: Wire, path: str, local: str, on_progress: Callable[[int], None] | None = None
) -> int:
    """Saves an address in a file, under a temporary name until it is whole. Returns its size."""
    import os

    draft = f"{local}.danlu-part"
    out = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        for _ in range(5):
            transfer = Download(wire, path)
            try:
                for piece in transfer.pieces():
                    view = memoryview(piece)
                    while view:
                        view = view[os.write(out, view) :]
                    if on_progress is not None:
                        on_progress(transfer.at)
                break
            except Changed:
                os.lseek(out, 0, os.SEEK_SET)
                os.ftruncate(out, 0)
        else:
            raise Lost(wire.address.text, "the file keeps changing while it is downloaded")
        os.replace(draft, local)
    except BaseException:
        os.unlink(draft)
        raise
    finally:
        os.close(out)
    return transfer.at
