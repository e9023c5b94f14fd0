"""Downloads too large for memory, in chunks, and only complete ones."""

from __future__ import annotations

from danlu.sdk.errors import Lost, api_error
from danlu.sdk.parser import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from danlu.sdk.wire import Wire


def download(wire: Wire, method: str, path: str, silence: float = 300.0) -> Iterator[bytes]:
    """The body in chunks. Raises ApiError if refused, Lost if cut off."""
    parser = Parser(method)
    refusal = b""
    link = wire.connect()
    try:
        link.send(wire.head(method, path, {"Content-Length": "0"} if method == "POST" else None))
        link.set_timeout(silence)
        while not parser.done:
            data = link.receive()
            if not data and not parser.feed_end():
                raise Lost(wire.address.text, "the connection ended before the last byte")
            body = parser.feed(data) if data else b""
            if parser.has_head and parser.status >= 400:
                refusal += body
            elif body:
                yield body
    finally:
        link.close()
    if parser.status >= 400:
        raise api_error(parser.status, refusal)
