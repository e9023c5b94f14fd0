"""The HTTP parser with its limits, on a connection that only exists in memory: for fuzzing."""

from __future__ import annotations

import asyncio
import logging
import random
from functools import cache
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from danlu.server.connections import MOST_HEAD, LimitedProtocol, Places

METHODS = (b"GET", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"CONNECT", b"PRI", b"G\0T", b"")
URLS = (b"/", b"/danlu/v1/jobs?x=%00", b"*", b"http://x/", b"//", b"/%zz", b"", b"/\xff", b"/a b")
VERSIONS = (b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/9.9", b"")
HEADERS = (
    *(b"Host: x", b"Connection: close", b"Connection: keep-alive", b"Content-Length: 3"),
    *(b"Content-Length: -1", b"Content-Length: 99999999999999999999", b"Expect: 100-continue"),
    *(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked, x", b"Upgrade: websocket"),
    *(b"Connection: Upgrade", b"Upgrade: h2c", b": empty", b" folded", b"Host x", b"A\0: b"),
    *(b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", b"Sec-WebSocket-Version: 13"),
)
BODIES = (
    b"",
    b"abc",
    b"3\r\nabc\r\n0\r\n\r\n",
    b"fffffffffffffffff\r\n",
    b"0\r\nX: y\r\n\r\n",
    b"-1",
)


class Protocol(LimitedProtocol):
    places = Places(10)


class Wire(asyncio.Transport):
    """Keeps what is written, and delivers nothing once it is closed or paused."""

    def __init__(self) -> None:
        super().__init__({"peername": ("10.0.0.1", 1), "sockname": ("10.0.0.2", 2)})
        self.said = bytearray()
        self.closed = self.paused = False
        self.protocol: Any = None

    def write(self, data: bytes | bytearray | memoryview[int]) -> None:
        self.said += data

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.protocol  # type: ignore[no-any-return]

    def get_write_buffer_size(self) -> int:
        return 0


def one_connection(chance: random.Random) -> None:
    """Whatever comes is answered in HTTP or not at all, and leaves nothing behind."""
    loop, config, errors = _set_up()
    loop.run_until_complete(_connection(chance, config))
    assert not errors, errors
    assert not Protocol.places._open, Protocol.places._open


async def _connection(chance: random.Random, config: uvicorn.Config) -> None:
    wire, state = Wire(), ServerState()
    wire.protocol = protocol = Protocol(config=config, server_state=state, app_state={})
    protocol.connection_made(wire)
    sent = b"".join(_request(chance) for _ in range(chance.randrange(1, 4)))
    while sent and not wire.closed:
        step = chance.choice((1, 7, 100, 5000, 1 << 18))
        if not wire.paused:
            wire.protocol.data_received(sent[:step])
            sent = sent[step:]
        await asyncio.sleep(0)
        assert len(protocol.headers or ()) <= MOST_HEAD
    for _ in range(5):
        await asyncio.sleep(0)
    assert not wire.said or wire.said.startswith(b"HTTP/1.1 "), wire.said[:80]
    wire.protocol.connection_lost(None)
    if state.tasks:
        await asyncio.wait(state.tasks, timeout=5)
    await asyncio.sleep(0)
    assert not state.tasks and not state.connections


def _request(chance: random.Random) -> bytes:
    """One request, more or less."""
    line = b" ".join(map(chance.choice, (METHODS, URLS, VERSIONS)))
    if chance.random() < 0.6:
        line = chance.choice((b"GET / HTTP/1.1", b"POST / HTTP/1.1"))
    headers = chance.choices(HEADERS, k=chance.randrange(6))
    if chance.random() < 0.05:
        headers += [b"X: " + b"a" * chance.choice((3, MOST_HEAD, 3 * MOST_HEAD))]
    if chance.random() < 0.05:
        headers *= chance.randrange(1, 500)
    end = chance.choice((b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r"))
    whole = end.join([line, *headers, b"", b""]) + chance.choice(BODIES)
    if chance.random() < 0.5:
        return whole
    at = chance.randrange(len(whole) + 1)
    return whole[:at] + chance.randbytes(chance.randrange(8)) + whole[at + chance.randrange(4) :]


@cache
def _set_up() -> tuple[asyncio.AbstractEventLoop, uvicorn.Config, list[dict[str, Any]]]:
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # it warns of every bad request
    loop, errors = asyncio.new_event_loop(), list[dict[str, Any]]()
    loop.set_exception_handler(lambda _, context: errors.append(context))
    config = uvicorn.Config(_app, lifespan="off", log_config=None, ws="websockets-sansio")
    config.load()
    return loop, config, errors


async def _app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close"})
        return
    more = True
    while more:
        said = await receive()
        if said["type"] == "http.disconnect":
            return
        more = said["more_body"]
    headers = [(b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body"})
