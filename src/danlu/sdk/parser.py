"""A parser for HTTP/1.1 responses, without I/O.

So the same code serves blocking calls and a loop over many streams.
"""

from __future__ import annotations

from danlu.sdk.errors import ProtocolError

HEAD_LIMIT = 64 * 1024


class Parser:
    """One response, fed as bytes arrive. `feed` returns the body's bytes."""

    def __init__(self, method: str = "GET") -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.done = False
        self.keep_alive = True
        self.rest = b""  # what followed the response
        self._bodyless = method == "HEAD"
        self._held = b""
        self._left: int | None = 0  # bytes left of the body or chunk; None: until the end
        self._chunked = False
        self._trailers = False

    @property
    def has_head(self) -> bool:
        return self.status >= 101

    def feed(self, data: bytes) -> bytes:
        if not self.has_head:
            data = self._feed_head(data)
            if not self.has_head:
                return b""
        if self.done:
            self.rest += data
            return b""
        if self._chunked:
            return self._feed_chunks(data)
        if self._left is None:
            return data
        body, self.rest = data[: self._left], data[self._left :]
        self._left -= len(body)
        self.done = self._left == 0
        return body

    def feed_end(self) -> bool:
        """The connection ended; returns whether the response is complete."""
        if self.has_head and self._left is None and not self._chunked:
            self.done = True
            self.keep_alive = False
        return self.done

    def _feed_head(self, data: bytes) -> bytes:
        self._held += data
        while True:
            end = self._held.find(b"\r\n\r\n")
            if end < 0:
                if len(self._held) > HEAD_LIMIT or not b"HTTP/".startswith(self._held[:5]):
                    raise ProtocolError("not an HTTP answer")
                return b""
            head, data = self._held[:end], self._held[end + 4 :]
            self._read_head(head)
            if self.status == 100:
                self._held, self.status = data, 0
                continue
            self._held = b""
            self._plan_body()
            return data

    def _read_head(self, head: bytes) -> None:
        lines = head.decode("latin-1").split("\r\n")
        words = lines[0].split(" ", 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
            raise ProtocolError("not an HTTP answer")
        self.status = int(words[1])
        self.keep_alive = words[0] != "HTTP/1.0"
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()

    def _plan_body(self) -> None:
        if "close" in self.headers.get("connection", "").lower():
            self.keep_alive = False
        if self._bodyless or self.status in (101, 204, 304):
            self.done = True
        elif "chunked" in self.headers.get("transfer-encoding", "").lower():
            self._chunked = True
        elif "content-length" in self.headers:
            length = self.headers["content-length"]
            if not (length.isascii() and length.isdigit()):
                raise ProtocolError("bad Content-Length")
            self._left = int(length)
            self.done = self._left == 0
        else:
            self._left = None
            self.keep_alive = False

    def _feed_chunks(self, data: bytes) -> bytes:
        if self._held:
            data, self._held = self._held + data, b""
        parts: list[bytes] = []
        at = 0
        while at < len(data) and not self.done:
            if self._left:
                part = data[at : at + self._left]
                parts.append(part)
                at += len(part)
                self._left -= len(part)
                continue
            end = data.find(b"\r\n", at)
            if end < 0:
                self._held = data[at:]
                if len(self._held) > HEAD_LIMIT:
                    raise ProtocolError("bad chunk")
                break
            self._take_line(data[at:end])
            at = end + 2
        if self.done:
            self.rest = data[at:]
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _take_line(self, line: bytes) -> None:
        """A chunk's size, the empty line after a chunk, or a trailer."""
        if self._trailers:
            self.done = not line
        elif line:
            size = line.partition(b";")[0].strip()
            if not size.isalnum():
                raise ProtocolError("bad chunk")
            try:
                self._left = int(size, 16)
            except ValueError:
                raise ProtocolError("bad chunk") from None
            self._trailers = self._left == 0
