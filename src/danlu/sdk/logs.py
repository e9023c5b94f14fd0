"""A log stream that knows its offset, so that it can resume after a lost connection."""

from __future__ import annotations

from danlu.sdk.errors import Lost, api_error
from danlu.sdk.parser import Parser
from danlu.sdk.wire import target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.sdk.wire import Connection, Wire


class LogStream:
    """One stream of one task. Open it, then call `pump` whenever its descriptor is readable."""

    def __init__(
        self,
        wire: Wire,
        path: str,
        *,
        task: int = 0,
        stream: str = "out",
        attempt: int | None = None,
        offset: int | None = None,
        tail: int | None = None,
        limit: int | None = None,
        follow: bool = False,
        raw: bool = False,
    ) -> None:
        self.task = task
        self.stream = stream
        self.attempt = attempt
        self.offset = offset or 0  # offset of the next byte
        self.size: int | None = None
        self.done = False
        self._wire = wire
        self._path = path
        self._tail = tail
        self._limit = limit
        self._follow = follow
        self._raw = raw
        self._link: Connection | None = None
        self._parser = Parser()
        self._refusal = b""

    def open(self) -> None:
        """(Re)connects and requests what is missing."""
        self.close()
        head = self.begin()
        self._link = self._wire.connect()
        self._link.send(head)

    def begin(self) -> bytes:
        """The request for what is missing; resets the parser for its answer."""
        query = {
            "task": self.task,
            "stream": self.stream if self.stream != "out" else None,
            "attempt": self.attempt,
            "offset": self.offset or None,
            "tail": self._tail,
            "limit": self._limit,
            "follow": True if self._follow else None,
            "raw": True if self._raw else None,
        }
        self._parser, self._refusal = Parser(), b""
        return self._wire.head("GET", target(f"{self._path}/logs", query))

    def fileno(self) -> int:
        return self._link.fileno() if self._link else -1

    @property
    def is_open(self) -> bool:
        return self._link is not None

    def set_timeout(self, timeout: float | None) -> None:
        if self._link:
            self._link.set_timeout(timeout)

    def pump(self) -> bytes:
        """The next bytes of the log; waits for at least one. Sets `done` at the end."""
        if self._link is None:
            raise Lost(self._wire.address.text, "not connected")
        return self.take(self._link.receive())

    def take(self, data: bytes) -> bytes:
        """The log's bytes among those received; none received: the connection ended."""
        parser = self._parser
        had_head = parser.has_head
        if not data:
            if not parser.feed_end():
                raise Lost(self._wire.address.text, "the connection ended")
        else:
            data = parser.feed(data)
        if parser.has_head and not had_head:
            self._take_head()
        if parser.has_head and parser.status >= 400:
            self._refusal += data
            if parser.done:
                self.close()
                raise api_error(parser.status, self._refusal)
            return b""
        self.offset += len(data)
        if self._limit is not None:
            self._limit -= len(data)
        if parser.done:
            self.done = True
            self.close()
        return data

    def _take_head(self) -> None:
        headers = self._parser.headers
        if self._parser.status < 400:
            self._tail = None
            self.offset = _number(headers.get("x-log-offset"), self.offset)
            self.size = _number(headers.get("x-log-size"), -1)

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else default
