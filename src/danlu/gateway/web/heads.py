"""Heads of HTTP/1 messages: read strictly, and written anew.

Nothing of a head is passed on as it came. Whatever two programs could read in different ways (two
lengths, folded lines, bare line feeds, a space before a colon) is refused, so that no request can
hide in another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

LARGEST = 64 * 1024
_LONGEST_TARGET = 16 * 1024
_MOST_FIELDS = 200
_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_REQUEST = re.compile(rb"(%b) (/[\x21-\x7e]*) HTTP/1\.([01])" % _TOKEN)
_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9][0-9])(?: ([\t\x20-\x7e\x80-\xff]*))?")
_FIELD = re.compile(rb"(%b):[ \t]*([\t\x20-\x7e\x80-\xff]*)" % _TOKEN)
_LENGTH = re.compile(rb"[0-9]{1,18}")
_BETWEEN_NEIGHBOURS = frozenset(
    (
        b"connection",
        b"content-length",
        b"expect",
        b"http2-settings",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
_NOT_TO_DROP = frozenset((b"cookie", b"host", b"origin", b"set-cookie"))


class BadMessage(Exception):
    """What came is not HTTP, or could be read in two ways."""

    def __init__(self, why: str, status: int = 400) -> None:
        super().__init__(why)
        self.status = status


class Ends(Enum):
    """How a body ends whose length is not known."""

    CHUNKED = "chunked"
    CLOSE = "close"


Size = int | Ends  # of a body
Fields = list[tuple[bytes, bytes]]  # names in lower case


@dataclass(slots=True)
class Head:
    minor: int  # of HTTP/1.x
    fields: Fields

    def all(self, name: bytes) -> list[bytes]:
        return [value for each, value in self.fields if each == name]

    def one(self, name: bytes) -> bytes | None:
        found = self.all(name)
        if len(found) > 1:
            raise BadMessage(f"{name.decode()} appears twice")
        return found[0] if found else None

    def words(self, name: bytes) -> list[bytes]:
        """A list such as `keep-alive, Upgrade`, in lower case."""
        return [word.strip() for value in self.all(name) for word in value.lower().split(b",")]

    def passed_on(self) -> Fields:
        """Without what is only for the next neighbour."""
        named = {word for word in self.words(b"connection") if word not in _NOT_TO_DROP}
        dropped = _BETWEEN_NEIGHBOURS | named
        return [(name, value) for name, value in self.fields if name not in dropped]

    def declared(self) -> Size | None:
        """How long the body is said to be; None: nothing is said."""
        codings, lengths = self.all(b"transfer-encoding"), self.all(b"content-length")
        if codings:
            if lengths or self.minor == 0 or [each.lower() for each in codings] != [b"chunked"]:
                raise BadMessage("a length that can be read in two ways")
            return Ends.CHUNKED
        if not lengths:
            return None
        if len(lengths) > 1 or not _LENGTH.fullmatch(lengths[0]):
            raise BadMessage("a length that can be read in two ways")
        return int(lengths[0])

    @property
    def stays(self) -> bool:
        """Whether the sender keeps the connection."""
        words = self.words(b"connection")
        return b"close" not in words if self.minor else b"keep-alive" in words

    @property
    def websocket(self) -> bool:
        asked = [each.lower() for each in self.all(b"upgrade")] == [b"websocket"]
        return asked and self.minor == 1 and b"upgrade" in self.words(b"connection")


@dataclass(slots=True)
class Request(Head):
    method: str
    target: str  # path and query

    @property
    def size(self) -> Size:
        size = self.declared()
        return 0 if size is None else size


@dataclass(slots=True)
class Response(Head):
    status: int
    reason: bytes

    def size(self, method: str) -> Size:
        if method == "HEAD" or self.status < 200 or self.status in (204, 304):
            return 0
        size = self.declared()
        return Ends.CLOSE if size is None else size


def read_request(head: bytes) -> Request:
    first, fields = _lines(head)
    found = _REQUEST.fullmatch(first)
    if found is None:
        raise BadMessage("not a request")
    if len(found[2]) > _LONGEST_TARGET:
        raise BadMessage("the address is too long", 414)
    method = found[1].decode()
    if method in ("CONNECT", "TRACE"):
        raise BadMessage(f"{method} is not for doors", 405)
    request = Request(int(found[3]), fields, method, found[2].decode())
    request.declared()
    if len(request.all(b"host")) != 1:
        raise BadMessage("exactly one Host is needed")
    return request


def read_response(head: bytes) -> Response:
    first, fields = _lines(head)
    found = _STATUS.fullmatch(first)
    if found is None:
        raise BadMessage("not an answer", 502)
    return Response(int(found[1]), fields, int(found[2]), found[3] or b"")


def _lines(head: bytes) -> tuple[bytes, Fields]:
    first, *lines = head.split(b"\r\n")
    if len(lines) > _MOST_FIELDS:
        raise BadMessage("too many header fields", 431)
    fields = []
    for line in lines:
        found = _FIELD.fullmatch(line)
        if found is None:
            raise BadMessage("not a header field")
        fields.append((found[1].lower(), found[2].rstrip(b" \t")))
    return first, fields


def written(first: str, fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    lines = [first.encode("latin-1"), *(name + b": " + value for name, value in fields), b"", b""]
    return b"\r\n".join(lines)
