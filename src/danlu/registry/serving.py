"""What a connection may cost: uvicorn bounds neither the time of a request nor their number."""

from __future__ import annotations

import asyncio
import ipaddress
from asyncio.events import TimerHandle
from collections import Counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEAD_SECONDS = 20.0
REST_SECONDS = 300.0
"""Without a byte in either direction, within a request."""
MOST_URL = 16 * 1024
MOST_HEAD = 64 * 1024
_READ_AHEAD = 512 * 1024
INCOMING = "danlu.incoming"
"""Where an app finds it in the scope of a request."""
_SHARE = 8
"""One address has an eighth of all connections, this machine itself has them all."""


class _Refused(Exception):
    """Stops the parser; the connection is closed."""


class Incoming:
    """The body of a request as it comes: uvicorn's own way copies each byte twice more."""

    __slots__ = ("_cycle", "_over", "_pieces", "_size")

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self._pieces: list[bytes] = []
        self._size = 0
        self._over = False  # all of it was taken

    def add(self, piece: bytes) -> int:
        """How much nobody has taken yet."""
        self._pieces.append(piece)
        self._size += len(piece)
        return self._size

    async def take(self) -> tuple[list[bytes] | None, bool]:
        """What has come, and whether there is more to come; None: the client is gone."""
        cycle = self._cycle
        if self._over:
            return [], False
        if cycle.waiting_for_100_continue and not cycle.transport.is_closing():
            cycle.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            cycle.waiting_for_100_continue = False
        if not cycle.disconnected and not cycle.response_complete:
            cycle.flow.resume_reading()
            await cycle.message_event.wait()
            cycle.message_event.clear()
        if cycle.disconnected or cycle.response_complete:
            return None, False
        taken, self._pieces, self._size = self._pieces, [], 0
        self._over = not cycle.more_body
        return taken, cycle.more_body


class BoundedProtocol(HttpToolsProtocol):
    most = 1000
    count: Counter[str]
    _incoming: Incoming

    _place: str | None = None
    _timer: TimerHandle | None = None
    _in_request = False
    _body_over = False
    _moved = False
    _head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        place = _place_of(self.client[0] if self.client else "")
        limit = self.most if place == "" else max(1, self.most // _SHARE)
        if self.count[place] >= limit or self.count.total() >= self.most:
            transport.close()
            return
        self._place = place
        self.count[place] += 1
        self._timer = self.loop.call_later(HEAD_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._place is not None:
            self.count[self._place] -= 1
            if not self.count[self._place]:
                del self.count[self._place]
            self._place = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._in_request:
            self._head += len(data)
        self._moved = True
        super().data_received(data)
        if not self._in_request and self._head > MOST_HEAD:
            self.transport.close()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > MOST_URL:
            raise _Refused

    def on_headers_complete(self) -> None:
        self._in_request, self._head = True, 0
        self._body_over = False
        super().on_headers_complete()
        self._incoming = Incoming(self.cycle)
        self.scope[INCOMING] = self._incoming  # type: ignore[literal-required]

    def on_body(self, body: bytes) -> None:
        """As uvicorn's, which stops reading after 64 KiB: too often for layers."""
        if self.cycle.response_complete:
            return
        if self._incoming.add(body) > _READ_AHEAD:
            self.flow.pause_reading()
        self.cycle.message_event.set()

    def on_message_complete(self) -> None:
        self._body_over = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self._in_request = False
        super().on_response_complete()

    def resume_writing(self) -> None:
        self._moved = True  # the client reads on
        super().resume_writing()

    def _look(self) -> None:
        """A head has seconds, a request any time as long as the client does its part."""
        working = self.cycle is not None and not self.cycle.response_complete
        if working:
            sends = not self._body_over and not self.flow.read_paused
            if (sends or self.flow.write_paused) and not self._moved:
                self.transport.abort()
                return
            self._moved = False
            self._timer = self.loop.call_later(REST_SECONDS, self._look)
        elif self._head or self.cycle is None:
            self.transport.abort()
        else:  # uvicorn itself ends connections that rest between requests
            self._timer = self.loop.call_later(HEAD_SECONDS, self._look)


def bounded(most: int) -> type[Any]:
    """The protocol class of one registry."""

    class Bounded(BoundedProtocol):
        pass

    Bounded.most, Bounded.count = most, Counter()
    return Bounded


def _place_of(address: str) -> str:
    """IPv6 counts by /64; this machine itself is the empty text."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address or "?"
    if ip.is_loopback:
        return ""
    return str(ip) if ip.version == 4 else str(ipaddress.ip_network((int(ip) >> 64 << 64, 64)))
