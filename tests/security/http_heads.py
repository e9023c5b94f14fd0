"""The HTTP parser with its limits, on a connection that only exists in memory: for fuzzing."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import socket
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import uvicorn
from starlette.requests import Request
from uvicorn.server import ServerState

from danlu.api.dav import conditions, xml
from danlu.api.dav.visit import Refused, Visit, destination
from danlu.api.piping import Piping, piping
from danlu.gateway.web import heads
from danlu.registry.messages import read_request
from danlu.server.connections import MOST_HEAD, LimitedProtocol, Places

PIPED = b"/piped/"
"""Where the body goes through a pipe, as uploads do."""
METHODS = (
    *(b"GET", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"CONNECT", b"PRI", b"G\0T", b""),
    *(b"HEAD", b"PATCH", b"PROPFIND", b"PROPPATCH", b"MKCOL", b"MOVE", b"COPY", b"LOCK", b"UNLOCK"),
)
URLS = (
    *(b"/", b"/danlu/v1/jobs?x=%00", b"*", b"http://x/", b"//", b"/%zz", b"", b"/\xff", b"/a b"),
    *(b"/dav", b"/dav/mnt/a%00b", b"/dav/../v1", b"/danlu/v1/files/uploads", PIPED, PIPED + b"x"),
    *(b"/v2/", b"/v2/a/b/blobs/uploads/?mount=sha256:0&from=../x", b"/v2/a/manifests/%2e%2e"),
    *(b"/token?scope=repository:a/b:*", b"/.danlu/strip", b"/.danlu/save?x"),
)
VERSIONS = (b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/9.9", b"")
LINES = (
    *(b"GET / HTTP/1.1", b"POST / HTTP/1.1", b"PROPFIND /dav/mnt HTTP/1.1"),
    *(b"MOVE /dav/mnt/x HTTP/1.1", b"PATCH /v2/a/b/blobs/uploads/0 HTTP/1.1"),
)
HEADERS = (
    *(b"Host: x", b"Connection: close", b"Connection: keep-alive", b"Content-Length: 3"),
    *(b"Content-Length: -1", b"Content-Length: 99999999999999999999", b"Expect: 100-continue"),
    *(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked, x", b"Upgrade: websocket"),
    *(b"Connection: Upgrade", b"Upgrade: h2c", b": empty", b" folded", b"Host x", b"A\0: b"),
    *(b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", b"Sec-WebSocket-Version: 13"),
    *(b"Authorization: Basic eDp5", b"Authorization: Basic \xff", b"Authorization: Bearer a.b.c"),
    *(b"Depth: infinity", b"Depth: -1", b"Overwrite: F", b"Timeout: Second-99999999999999999999"),
    *(b"Destination: /dav/a", b"Destination: http://[::1/dav", b"Destination: //y/dav/%zz"),
    *(b'If: (<urn:uuid:x> ["e"])', b"If: <http://[/dav> (Not <x>)", b"If: " + b"(" * 3000),
    *(b"Lock-Token: <urn:uuid:x>", b"Range: bytes=9-1", b"Content-Range: bytes 0-99/3"),
    *(b"Tus-Resumable: 1.0.0", b"Upload-Offset: -1", b"Upload-Length: 18446744073709551616"),
    *(b"Upload-Metadata: path L2E=,conflict", b"Upload-Metadata: path \xff", b"Upload-Length: 3"),
    *(b"Upload-Checksum: sha256 x", b"Content-Type: application/offset+octet-stream"),
    *(b"Cookie: danlu-door=a; danlu-door=b", b"X-Danlu-Strip: 1", b"Origin: null"),
)
BODIES = (
    b"",
    b"abc",
    b"3\r\nabc\r\n0\r\n\r\n",
    b"fffffffffffffffff\r\n",
    b"0\r\nX: y\r\n\r\n",
    b"-1",
    b'{"act": "stop"}',
    b'<propfind xmlns="DAV:"><prop><a/></prop></propfind>',
    b'<D:lockinfo xmlns:D="DAV:"><D:owner>' + b"<a>" * 5000,
    b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
    b'<?xml version="1.0" encoding="utf-7"?><propfind xmlns="DAV:"/>',
)


class Protocol(LimitedProtocol):
    places = Places(10)


class Wire(asyncio.Transport):
    """Keeps what is written, and delivers nothing once it is closed or paused."""

    def __init__(self) -> None:
        # What is sent while nobody reads waits in the socket, where pipes take it from.
        self.kernel, self.client = socket.socketpair()
        self.kernel.setblocking(False)
        self.client.setblocking(False)
        told = SimpleNamespace(
            fileno=self.kernel.fileno,
            getpeername=lambda: ("10.0.0.1", 1),
            getsockname=lambda: ("10.0.0.2", 2),
        )
        super().__init__({"socket": told})
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
    sent = requests_of(chance)
    _through_a_door(sent.partition(b"\r\n\r\n")[0])
    while sent and not wire.closed:
        step = chance.choice((1, 7, 100, 5000, 1 << 18))
        if not wire.paused:
            wire.protocol.data_received(sent[:step])
            sent = sent[step:]
        elif protocol.piped is not None:
            with contextlib.suppress(BlockingIOError):
                sent = sent[wire.client.send(sent[:step]) :]
        await asyncio.sleep(0)
        assert len(protocol.headers or ()) <= MOST_HEAD
    for _ in range(5):
        await asyncio.sleep(0)
    assert not wire.said or wire.said.startswith(b"HTTP/1.1 "), wire.said[:80]
    wire.close()
    wire.client.close()
    wire.protocol.connection_lost(None)
    if state.tasks:
        await asyncio.wait(state.tasks, timeout=5)
    await asyncio.sleep(0)
    wire.kernel.close()
    assert not state.tasks and not state.connections


def _through_a_door(head: bytes) -> None:
    """The gateway's own reader: what it takes is written anew, and reads the same again."""
    try:
        request = heads.read_request(head)
    except heads.BadMessage:
        return
    first = f"{request.method} {request.target} HTTP/1.{request.minor}"
    again = heads.read_request(heads.written(first, request.fields)[: -len(b"\r\n\r\n")])
    assert again == request, head


def requests_of(chance: random.Random) -> bytes:
    return b"".join(_request(chance) for _ in range(chance.randrange(1, 4)))


def _request(chance: random.Random) -> bytes:
    """One request, more or less."""
    if chance.random() < 0.1:
        return _upload(chance)
    line = b" ".join(map(chance.choice, (METHODS, URLS, VERSIONS)))
    if chance.random() < 0.6:
        line = chance.choice(LINES)
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


def _upload(chance: random.Random) -> bytes:
    """A body for a pipe, at times shorter or longer than it says."""
    size = chance.choice((1, 100, 5000, 70_000))
    said = size if chance.random() < 0.7 else size + chance.randrange(-1, 50)
    return b"PUT %bx HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (PIPED, said) + bytes(size)


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
    way = piping(scope)
    piped = way is not None and scope["raw_path"].startswith(PIPED) and way.length() is not None
    if piped and not await _is_piped(cast(Piping, way)):
        return
    body, more = b"", True
    while more:
        said = await receive()
        if said["type"] == "http.disconnect":
            return
        body += said["body"]
        more = said["more_body"]
    _read(scope, body)
    headers = [(b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body"})


async def _is_piped(way: Piping) -> bool:
    """Into a pipe that somebody reads, as a user's helper does."""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    os.set_blocking(ours, False)
    loop = asyncio.get_running_loop()
    loop.add_reader(ours, _drain, ours)
    try:
        return await way.receive_into(theirs, 5.0, 1 << 10, _nothing)
    finally:
        loop.remove_reader(ours)
        os.close(ours)
        os.close(theirs)


def _drain(pipe: int) -> None:
    os.read(pipe, 1 << 16)


async def _nothing() -> None:
    pass


def _read(scope: Any, body: bytes) -> None:
    """As WebDAV and the registry do: they refuse it in their own words, or take it."""
    read_request(dict(scope), cast(Any, None), cast(Any, None))
    try:
        services = SimpleNamespace(files=None, dav_locks=None)
        visit = Visit(Request(scope), cast(Any, services), cast(Any, None))
        conditions.tokens(visit.given)
        xml.asked(body)
        destination(visit)
    except (Refused, xml.Unreadable):
        pass
    with contextlib.suppress(xml.Unreadable):
        xml.lock_asked(body)
