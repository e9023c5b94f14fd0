"""Uploads by tus 1.0: a broken connection or a restarted server costs nothing that has arrived."""

from __future__ import annotations

import os

from danlu.sdk.errors import ApiError, Lost, NotFound, ProtocolError, api_error
from danlu.sdk.parser import Parser
from danlu.sdk.patience import persist

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from danlu.sdk.wire import Answer, Wire

UPLOADS = "/danlu/v1/files/uploads"
PIECE = 1 << 20
SILENCE = 120.0
PATIENCE = 600.0
_TUS = {"Tus-Resumable": "1.0.0"}


class Uploader:
    """One file on its way. `location` is worth keeping: with it another process can go on."""

    def __init__(
        self,
        wire: Wire,
        on_progress: Callable[[int], None] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._wire = wire
        self._progress = on_progress or (lambda at: None)
        self._patience = patience
        self.location = ""
        self._sent = 0

    def begin(self, size: int, metadata: Mapping[str, str]) -> None:
        import base64

        pairs = [
            f"{key} {base64.b64encode(value.encode('utf-8', 'surrogateescape')).decode()}"
            for key, value in metadata.items()
        ]
        headers = {"Upload-Length": str(size), "Upload-Metadata": ",".join(pairs)}
        answer = self._retry(lambda: self._ask("POST", UPLOADS, headers))
        location = answer.headers.get("location", "")
        if not location.startswith(UPLOADS):
            raise ProtocolError("the server did not say where to upload to")
        self.location = location

    def offset(self) -> int | None:
        """How much has arrived; None: there is no such upload (any more)."""
        try:
            answer = self._retry(lambda: self._ask("HEAD", self.location, {}))
        except NotFound:
            return None
        return int(answer.headers["upload-offset"])

    def give_up(self) -> None:
        self._ask("DELETE", self.location, {})

    def send(self, file: int, size: int, at: int = 0) -> Answer:
        """The rest of a file, from `at` on. The last answer. Raises ApiError, Lost."""
        state = [at]

        def attempt() -> Answer:
            if state[0] < 0:
                found = self.offset()
                if found is None and self._sent == size:
                    return _nothing()  # it was completed, and only the answer was lost
                if found is None:
                    raise ProtocolError("the upload is not there any more")
                if found == size:
                    return _nothing()  # asking has completed it
                state[0] = found
            start, state[0] = state[0], -1
            try:
                return self._send(file, size, start)
            except ApiError as error:
                # The connection that was lost may still be writing; or it has, meanwhile.
                if error.status == 423 or error.code == "offset":
                    raise Lost(self._wire.address.text, error.message_en) from None
                raise

        return self._retry(attempt)

    def _send(self, file: int, size: int, start: int) -> Answer:
        headers = _TUS | {
            "Upload-Offset": str(start),
            "Content-Type": "application/offset+octet-stream",
            "Content-Length": str(size - start),
        }
        link = self._wire.connect()
        parser = Parser("PATCH")
        body = b""
        try:
            link.set_timeout(SILENCE)
            try:
                link.send(self._wire.head("PATCH", self.location, headers))
                while start < size and (piece := os.pread(file, min(PIECE, size - start), start)):
                    link.send(piece)
                    start += len(piece)
                    self._sent = start
                    self._progress(start)
                if start < size:
                    raise ProtocolError("the file has become shorter while it was uploaded")
            except Lost:
                pass  # the server may have said why before it hung up
            while not parser.done:
                data = link.receive()
                if not data and not parser.feed_end():
                    raise Lost(self._wire.address.text, "the connection ended before the answer")
                body += parser.feed(data) if data else b""
        finally:
            link.close()
        return _checked(parser, body)

    def _ask(self, method: str, path: str, headers: Mapping[str, str]) -> Answer:
        link = self._wire.connect()
        parser = Parser(method)
        body = b""
        try:
            link.set_timeout(SILENCE)
            link.send(self._wire.head(method, path, {**_TUS, **headers, "Content-Length": "0"}))
            while not parser.done:
                data = link.receive()
                if not data and not parser.feed_end():
                    raise Lost(self._wire.address.text, "the connection ended before the answer")
                body += parser.feed(data) if data else b""
        finally:
            link.close()
        return _checked(parser, body)

    def _retry(self, ask: Callable[[], Answer]) -> Answer:
        answer: Answer = persist(ask, self._patience)
        return answer


def _nothing() -> Answer:
    from danlu.sdk.wire import Answer

    return Answer(204, {}, b"")


def _checked(parser: Parser, body: bytes) -> Answer:
    from danlu.sdk.wire import Answer

    if parser.status >= 400:
        raise api_error(parser.status, body or b'{"error": {"code": "not_found"}}')
    return Answer(parser.status, parser.headers, body)


def upload(
    wire: Wire,
    local: str,
    path: str,
    *,
    conflict: str = "refuse",
    on_progress: Callable[[int], None] | None = None,
    patience: float = PATIENCE,
) -> str:
    """Uploads a file; the path it got."""
    from urllib.parse import unquote

    file = os.open(local, os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = os.fstat(file)
        uploader = Uploader(wire, on_progress, patience)
        modified = f"{found.st_mtime:.6f}"
        uploader.begin(found.st_size, {"path": path, "conflict": conflict, "modified": modified})
        answer = uploader.send(file, found.st_size) if found.st_size else None
    finally:
        os.close(file)
    shown = answer.headers.get("danlu-path") if answer is not None else None
    return unquote(shown) if shown else path
