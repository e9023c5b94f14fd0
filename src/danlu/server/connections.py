"""What a connection may cost before anyone has signed in.

uvicorn bounds neither the size of a request's head nor the time it may take, and counts no
connections; these limits come before the app sees anything.
"""

from __future__ import annotations

import asyncio
from asyncio.events import TimerHandle
from collections import Counter
from collections.abc import Collection
from typing import Protocol

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from danlu.access.door import LOOPBACK, place_of
from danlu.api.bounds import STREAMED
from danlu.api.piping import EXTENSION
from danlu.api.problems import ApiProblem, answer
from danlu.server.piping import ConnectionPiping
from danlu.spec.text import Text
from danlu.spec.units import format_size

MOST_URL = 16 * 1024
MOST_HEAD = 64 * 1024
MOST_HEADERS = 200
HEAD_SECONDS = 20.0
BODY_SECONDS = 60.0  # bodies are small: job files; uploads: until the next bytes
READ = 1 << 20  # bytes of a body of which so many come only if somebody reads them
LOCAL_SHARE = 8  # all users of this machine have one address


_STREAMED = tuple(path.encode() for path in STREAMED)


class Guest(Protocol):
    def give_way(self) -> None:
        """Leaves and closes: another connection from the same place needs the room."""


class Places:
    """Open connections by address. IPv6 counts by /64, and loopback is one place.

    Where there are too many, those that are answering nothing give way, oldest first: silence must
    not lock out others at the same address.
    """

    def __init__(self, most: int, proxies: Collection[str] = ()) -> None:
        self._most = most
        self._proxies = frozenset(proxies)
        self._open: Counter[str] = Counter()
        self._idle: dict[str, dict[Guest, None]] = {}

    def enter(self, address: str, guest: Guest) -> str | None:
        """The place, to be left again; None: it has as many busy connections as it may have."""
        if not address or address in self._proxies:
            return ""  # it has gone already, or everybody comes through it
        place = place_of(address)
        if self._open[place] >= self._most * (LOCAL_SHARE if place == LOOPBACK else 1):
            oldest = next(iter(self._idle.get(place, ())), None)
            if oldest is None:
                return None
            oldest.give_way()
        self._open[place] += 1
        self.idle(place, guest)
        return place

    def idle(self, place: str, guest: Guest) -> None:
        if place:
            self._idle.setdefault(place, {})[guest] = None

    def busy(self, place: str, guest: Guest) -> None:
        if place:
            self._idle.get(place, {}).pop(guest, None)

    def leave(self, place: str, guest: Guest) -> None:
        if not place:
            return
        self.busy(place, guest)
        self._open[place] -= 1
        if self._open[place] <= 0:
            del self._open[place]
            self._idle.pop(place, None)


class Refused(Exception):
    """Stops the parser; the answer is `LimitedProtocol._refusal`."""


class LimitedProtocol(HttpToolsProtocol):
    places: Places
    head_seconds = HEAD_SECONDS
    body_seconds = BODY_SECONDS

    _place: str | None = None
    _timer: TimerHandle | None = None
    _refusal: ApiProblem | None = None
    _unused = 0  # bytes received since the parser last completed a head or a piece of a body
    _upgraded = False
    _in_body = False
    _arrived = 0  # bytes of this body since somebody last looked
    parsed = 0  # bytes of this body that the parser has had
    piped: asyncio.Future[None] | None = None  # what waits for the connection or its pipe

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._place = self.places.enter(self.client[0] if self.client else "", self)
        if self._place is None:
            self._refuse(_too_many_connections())
        else:
            self._timer = self.loop.call_later(self.head_seconds, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)
        if self.piped is not None and not self.piped.done():
            self.piped.set_result(None)
        if self.scope is not None:
            self.scope.pop("extensions", None)  # it leads back to this

    def handle_websocket_upgrade(self) -> None:
        # The protocol that takes over never reports its end here; terminals have their own limit.
        self._upgraded = True
        self._leave()
        super().handle_websocket_upgrade()

    def data_received(self, data: bytes) -> None:
        self._unused += len(data)
        super().data_received(data)
        if self._upgraded or self.transport.is_closing():
            return
        if self._unused > MOST_HEAD:
            self._refuse(_head_too_large())
        elif self._timer is not None:
            return
        elif self._in_body:
            self._timer = self.loop.call_later(self.body_seconds, self._body_too_slow)
        elif self.cycle is None or self.cycle.response_complete:
            # Nothing is being answered, and what came is not a whole request.
            self._timer = self.loop.call_later(self.head_seconds, self._too_slow)

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > MOST_URL:
            self._refusal = _url_too_long()
            raise Refused

    def on_headers_complete(self) -> None:
        size = sum([len(name) + len(value) for name, value in self.headers])
        if size > MOST_HEAD or len(self.headers) > MOST_HEADERS:
            self._refusal = _head_too_large()
            raise Refused
        switches = self.parser.should_upgrade() and self._should_upgrade()
        if switches and any(_begins_body(*each) for each in self.headers):
            # Nobody would wait for the end of it, or take the connection away after it.
            self._refusal = _upgrade_with_body()
            raise Refused
        self._unused = self._arrived = self.parsed = 0
        self._in_body = True
        self._stop_timer()
        super().on_headers_complete()
        if self.scheme == "http" and self.cycle is not None and self.cycle.scope is self.scope:
            self.scope["extensions"] = {EXTENSION: ConnectionPiping(self, self.cycle)}  # type: ignore[dict-item]

    def on_body(self, body: bytes) -> None:
        self._unused = 0
        self._arrived += len(body)
        self.parsed += len(body)
        if self.parsed >= READ and not self.cycle.response_complete:
            self.in_use()
        if not self.cycle.body and not self.cycle.response_complete:
            # Handed on as it is: uvicorn would copy it into its buffer, and out of it again.
            self.cycle.body, body = body, b""  # type: ignore[assignment]
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unused = 0
        self._in_body = False
        self._stop_timer()
        self.in_use()
        super().on_message_complete()

    def in_use(self) -> None:
        """It gives way to no other connection until it is answered."""
        if self._place:
            self.places.busy(self._place, self)

    def on_response_complete(self) -> None:
        another = bool(self.pipeline)
        super().on_response_complete()
        if self._place and not another:
            self.places.idle(self._place, self)

    def give_way(self) -> None:
        self._leave()
        if self._in_body:
            self._refuse(_too_many_connections())
        else:
            # An answer that nobody asked for would be taken for that of the next request.
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        if self._refusal is not None:
            self._refuse(self._refusal)
        else:
            super().send_400_response(msg)

    def _too_slow(self) -> None:
        self._timer = None
        if self._unused and not self.transport.is_closing():
            self._refuse(_head_too_slow(self.head_seconds))
        self.transport.close()

    def _body_too_slow(self) -> None:
        self._timer = None
        # It is the server that does not read on, or an upload that takes its time.
        if self.flow.read_paused or self._is_uploading():
            self._arrived = 0
            self._timer = self.loop.call_later(self.body_seconds, self._body_too_slow)
        else:
            self.refuse_slow_body()

    def refuse_slow_body(self) -> None:
        self._refuse(_body_too_slow(self.body_seconds))

    def _is_uploading(self) -> bool:
        """An upload that was not refused may go on for hours, as long as something arrives."""
        answering = self.cycle is not None and not self.cycle.response_complete
        return answering and self._arrived > 0 and self.url.startswith(_STREAMED)

    def _refuse(self, problem: ApiProblem) -> None:
        # Within another answer, these bytes would be taken for a part of it.
        answering = self.cycle is not None and not self.cycle.response_complete
        if not answering or (self._in_body and not self.cycle.response_started):
            self.transport.write(_bytes_of(problem))
        self.transport.close()

    def _leave(self) -> None:
        self._stop_timer()
        if self._place is not None:
            self.places.leave(self._place, self)
        self._place = None

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def limited(most: int, proxies: Collection[str]) -> type[LimitedProtocol]:
    """The protocol class of one server."""

    class Limited(LimitedProtocol):
        places = Places(most, proxies)

    return Limited


def _bytes_of(problem: ApiProblem) -> bytes:
    response = answer(problem)
    headers = [b"%s: %s\r\n" % pair for pair in response.raw_headers]
    head = [STATUS_LINE[problem.status], *headers, b"connection: close\r\n\r\n"]
    return b"".join([*head, bytes(response.body)])


def _begins_body(name: bytes, value: bytes) -> bool:
    return name == b"transfer-encoding" or (name == b"content-length" and value.strip() != b"0")


def _upgrade_with_body() -> ApiProblem:
    message = Text("A request for a WebSocket has no body", "WebSocket 请求不能带请求体")
    return ApiProblem(400, "upgrade_with_body", message)


def _too_many_connections() -> ApiProblem:
    return ApiProblem(
        429,
        "too_many_connections",
        Text(
            "Too many open connections from your address; close some, or ask the admin to raise "
            "limits.connections",
            "来自你的地址的连接过多；请关闭一些，或请管理员调高 limits.connections",
        ),
        headers={"Retry-After": "5"},
    )


def _url_too_long() -> ApiProblem:
    most = format_size(MOST_URL)
    message = Text(f"The URL may have at most {most}", f"URL 最长 {most}")
    return ApiProblem(414, "url_too_long", message)


def _head_too_large() -> ApiProblem:
    most = format_size(MOST_HEAD)
    return ApiProblem(
        431,
        "headers_too_large",
        Text(
            f"The headers of a request may have at most {most} in {MOST_HEADERS} lines",
            f"请求头总共最大 {most}，最多 {MOST_HEADERS} 行",
        ),
    )


def _body_too_slow(seconds: float) -> ApiProblem:
    return ApiProblem(
        408,
        "too_slow",
        Text(
            f"The body of the request did not arrive within {seconds:g} seconds",
            f"请求体未在 {seconds:g} 秒内到达",
        ),
    )


def _head_too_slow(seconds: float) -> ApiProblem:
    return ApiProblem(
        408,
        "too_slow",
        Text(
            f"The headers of the request did not arrive within {seconds:g} seconds",
            f"请求头未在 {seconds:g} 秒内到达",
        ),
    )
