"""A stranger without an account who wants the server's memory or all its connections."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from danlu.api.bounds import STREAMED
from danlu.api.piping import piping
from danlu.server.connections import (
    MOST_HEAD,
    MOST_HEADERS,
    MOST_URL,
    READ,
    LimitedProtocol,
    Places,
)
from danlu.server.handshakes import Encrypted
from tests.support.certificates import Certificate
from tests.support.server import DanluServer

PATIENCE = 20.0
OK = b"HTTP/1.1 200"


async def _app(scope: Any, receive: Any, send: Any) -> None:
    more = scope["type"] == "http"
    if scope.get("path") == PIPED:
        await _piped(scope)
    got = 0
    while more:
        message = await receive()
        more = message.get("more_body", False)
        got += len(message.get("body", b""))
        if got == READ:
            taken[scope["path"]] += 1
    if scope["path"] == "/slow":
        await receive()  # until the client leaves
        return
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]}
    )
    await send({"type": "http.response.body"})


taken: Counter[str] = Counter()  # bodies of which READ bytes were read, or that are piped
PIPED, COPIED = f"{STREAMED[1]}/piped", f"{STREAMED[1]}/copied"


async def _piped(scope: Any) -> None:
    way = piping(scope)
    assert way is not None
    reads, writes = os.pipe2(os.O_NONBLOCK)
    taken[PIPED] += 1
    try:
        await way.receive_into(writes, PATIENCE, 1 << 40, _nothing)
    finally:
        os.close(reads)
        os.close(writes)


async def _nothing() -> None: ...


Dial = Callable[..., Any]


@asynccontextmanager
async def door(
    most: int = 100,
    seconds: float = 0.3,
    keep_alive: int = 60,
    tls: ssl.SSLContext | None = None,
    address: str = "127.0.0.1",
) -> AsyncIterator[Dial]:
    """The protocol alone, with a deadline a test can wait for."""

    class Protocol(LimitedProtocol):
        places = Places(most)
        head_seconds = body_seconds = seconds

    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.create_server((address, 0), family=family)
    config = uvicorn.Config(
        _app, http=Protocol, lifespan="off", log_config=None, timeout_keep_alive=keep_alive
    )
    server = uvicorn.Server(config)
    config.load()
    loop = asyncio.get_running_loop()
    state = server.server_state

    def made() -> LimitedProtocol:
        return Protocol(config=config, server_state=state, app_state={})

    listening: asyncio.Server | asyncio.Task[None]
    if tls is None:
        listening = await loop.create_server(made, sock=listener)
    else:
        listening = asyncio.create_task(Encrypted(tls, Protocol.places, made).accept(listener))
    try:
        yield lambda **more: asyncio.open_connection(*listener.getsockname()[:2], **more)
    finally:
        listening.close() if isinstance(listening, asyncio.Server) else listening.cancel()
    async with asyncio.timeout(PATIENCE):  # a connection that has ended is not counted
        while Protocol.places._open:  # noqa: ASYNC110 - no event for it
            await asyncio.sleep(0.01)


async def _all(reader: asyncio.StreamReader) -> bytes:
    """Until the server closes."""
    async with asyncio.timeout(PATIENCE):
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""


async def _said(dial: Dial, *parts: bytes) -> bytes:
    reader, writer = await dial()
    for part in parts:
        writer.write(part)
        await asyncio.sleep(0.02)
    try:
        return await _all(reader)
    finally:
        writer.close()


HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        ([HEAD + b"X: " + b"a" * MOST_HEAD + b"\r\n\r\n"], 431),
        ([HEAD + b"X: ", b"a" * (MOST_HEAD // 2), b"a" * MOST_HEAD], 431),
        ([HEAD + b"".join(b"X%d: a\r\n" % n for n in range(MOST_HEADERS)) + b"\r\n"], 431),
        ([b"GET /" + b"a" * MOST_URL + b" HTTP/1.1\r\nHost: x\r\n\r\n"], 414),
        ([b"GET /", b"a" * (MOST_URL // 2), b"a" * MOST_URL], 414),
    ],
    ids=["one header", "an endless header", "many headers", "the url", "an endless url"],
)
async def test_with_a_head_without_end(parts: list[bytes], status: int) -> None:
    async with door(seconds=PATIENCE) as dial:
        answer = await _said(dial, *parts)
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:100]
    assert b'"message_zh"' in answer


async def test_with_trailers_without_end() -> None:
    """They are headers, too, and come when the head has been let through."""
    start = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: "
    async with door(seconds=PATIENCE) as dial:
        answer = await _said(dial, start, b"a" * MOST_HEAD, b"a" * MOST_HEAD)
    assert OK not in answer


async def test_a_long_body_is_not_a_long_head() -> None:
    size = 4 * MOST_HEAD
    head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % size
    async with door() as dial:
        assert (await _said(dial, head, *[b"a" * MOST_HEAD] * 4)).startswith(OK)


@pytest.mark.parametrize(
    ("parts", "answer"),
    [
        ([], b""),
        ([b"GET / HTTP/1.1\r\nHost"], b"HTTP/1.1 408 "),
        ([HEAD + b"\r\n", b"GET / HT"], OK),
        ([HEAD + b"\r\n", b"\r\n"], OK),
    ],
    ids=["saying nothing", "half a head", "half a second head", "an empty line"],
)
async def test_by_being_slow(parts: list[bytes], answer: bytes) -> None:
    """Keep-alive lasts longer than a test waits, so it is the deadline that closes."""
    async with door(keep_alive=10 * int(PATIENCE)) as dial:
        assert (await _said(dial, *parts)).startswith(answer)


@pytest.mark.parametrize("sent", [b"", b"a", b"a" * 9], ids=["none of it", "a byte", "most of it"])
async def test_by_sending_half_a_body(sent: bytes) -> None:
    """The deadline is for the whole body: a byte now and then does not move it."""
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"
    async with door(keep_alive=10 * int(PATIENCE)) as dial:
        answer = await _said(dial, head, *[sent[n : n + 1] for n in range(len(sent))])
    assert answer.startswith(b"HTTP/1.1 408 ") and b"The body" in answer


@pytest.mark.parametrize("body", [b"", b"a", b"a" * 10, b"a" * 99])
@pytest.mark.parametrize("length", [b"Content-Length: 10", b"Transfer-Encoding: chunked"])
@pytest.mark.parametrize("method", [b"GET", b"PATCH"])
async def test_by_switching_protocols_with_a_body(
    method: bytes, length: bytes, body: bytes
) -> None:
    """Such a connection was open for ever, and after its body was in nobody's count."""
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    head = method + b" / HTTP/1.1\r\nHost: x\r\n" + length + b"\r\n" + upgrade + b"\r\n"
    async with door(keep_alive=10 * int(PATIENCE)) as dial:
        answer = await _said(dial, head, body)
    assert answer.startswith(b"HTTP/1.1 400 ") and b"upgrade_with_body" in answer


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("PATCH", "/danlu/v1/files/uploads/x", b" 200 "), ("POST", "/danlu/v1/jobs", b" 408 ")],
)
async def test_an_upload_takes_its_time_and_nothing_else_does(
    method: str, path: str, status: bytes
) -> None:
    async with door(seconds=0.4) as dial:
        reader, writer = await dial()
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n".encode())
        answer = asyncio.create_task(reader.readline())
        for _ in range(10):
            await asyncio.sleep(0.1)
            if not answer.done():
                writer.write(b"x")
        async with asyncio.timeout(PATIENCE):
            assert status in await answer
        writer.close()


async def test_by_beginning_an_upload_and_falling_silent() -> None:
    async with door(seconds=0.2) as dial:
        head = b"PATCH /danlu/v1/files/uploads/x HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"
        assert b" 408 " in await _said(dial, head, b"x")


@pytest.mark.parametrize("hello", [b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n\r\n"])
async def test_by_not_finishing_a_handshake(
    hello: bytes, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Encrypted, "seconds", 0.3)
    async with door(tls=certificate.server) as dial:
        assert not (await _said(dial, hello)).startswith(b"HTTP")


async def test_by_opening_handshakes_without_number(certificate: Certificate) -> None:
    async with door(most=1, tls=certificate.server) as dial:  # times LOCAL_SHARE
        held = [await dial() for _ in range(8)]
        await asyncio.sleep(0.05)
        for _ in range(3):
            assert await _encrypted(dial, certificate), "they give way"
        assert await _all(held[0][0]) == b""
        for _, writer in held:
            writer.close()


async def _encrypted(dial: Dial, certificate: Certificate) -> bool:
    """With the request right behind the handshake, as TLS 1.3 allows."""
    try:
        reader, writer = await dial(ssl=certificate.client, server_hostname="localhost")
    except OSError:
        return False
    writer.write(HEAD + b"Connection: close\r\n\r\n")
    answer = await _all(reader)
    writer.close()
    return answer.startswith(OK)


async def test_a_quiet_connection_between_two_requests_is_kept() -> None:
    async with door(seconds=0.2) as dial:
        reader, writer = await dial()
        for _ in range(2):
            writer.write(HEAD + b"\r\n")
            async with asyncio.timeout(PATIENCE):
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(OK)
            await asyncio.sleep(0.6)
        writer.close()


async def test_with_more_connections_than_one_address_may_have() -> None:
    async with door(most=1, seconds=PATIENCE) as dial:  # times LOCAL_SHARE
        held = [await dial() for _ in range(8)]
        for _, writer in held:
            writer.write(SLOW)
        await asyncio.sleep(0.1)
        refused = await _said(dial)
        assert refused.startswith(b"HTTP/1.1 429 ") and b"limits.connections" in refused
        held[0][1].close()
        async with asyncio.timeout(PATIENCE):
            while not (await _said(dial, HEAD + b"Connection: close\r\n\r\n")).startswith(OK):
                pass
        for _, writer in held:
            writer.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        HEAD,
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf",
        HEAD + b"\r\n",
    ],
    ids=["saying nothing", "half a head", "half a body", "no second request"],
)
async def test_with_connections_that_keep_others_out(sent: bytes) -> None:
    """Those that are answering nothing give way to the next from the same address."""
    async with door(most=1, seconds=PATIENCE) as dial:  # times LOCAL_SHARE
        held = [await dial() for _ in range(8)]
        for _, writer in held:
            writer.write(sent)
        await asyncio.sleep(0.1)
        for _ in range(3):
            answer = await _said(dial, HEAD + b"Connection: close\r\n\r\n")
            assert answer.startswith(OK)
        await _all(held[0][0])  # it was closed
        for _, writer in held:
            writer.close()


@pytest.mark.parametrize("path", [PIPED, COPIED])
async def test_uploads_that_go_on_give_way_to_nobody(path: str) -> None:
    """They take hours, and would be the oldest of all."""
    taken.clear()
    head = f"PATCH {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n"
    async with door(most=1, seconds=PATIENCE) as dial:  # times LOCAL_SHARE
        held = [await dial() for _ in range(8)]
        for _, writer in held:
            writer.write(head.encode() + bytes(READ))
        async with asyncio.timeout(PATIENCE):
            while taken[path] < 8:  # noqa: ASYNC110 - no event for it
                await asyncio.sleep(0.02)
        answer = await _said(dial, HEAD + b"Connection: close\r\n\r\n")
        assert b"limits.connections" in answer
        for reader, writer in held:
            assert not reader.at_eof()
            writer.close()


def test_an_address_is_a_place_and_a_proxy_is_none() -> None:
    places = Places(2, ["10.0.0.2"])

    class Busy:
        def __init__(self, address: str) -> None:
            self.place = places.enter(address, self)
            places.busy(self.place or "", self)

        def give_way(self) -> None:
            raise AssertionError("it is busy")

    first, second, third = (Busy("10.1.1.1") for _ in range(3))
    assert [first.place, second.place, third.place] == ["10.1.1.1", "10.1.1.1", None]
    assert Busy("10.1.1.2").place == "10.1.1.2", "another address"
    places.leave("10.1.1.1", first)
    assert Busy("::ffff:10.1.1.1").place == "10.1.1.1"
    assert Busy("2001:db8::1").place == Busy("2001:db8::2").place == "2001:db8::/64"
    assert Busy("2001:db8::3").place is None, "one customer has the whole /64"
    local = [Busy(f"127.0.0.{n}").place for n in range(1, 18)]
    assert local == ["loopback"] * 16 + [None]
    assert Busy("::1").place is None
    assert all(Busy("10.0.0.2").place == "" for _ in range(100)), "everybody comes through it"
    for _ in range(100):  # gone before anyone could ask for its address
        nowhere = Busy("")
        assert nowhere.place == ""
        places.leave(nowhere.place, nowhere)


def test_the_server_has_these_limits(server: DanluServer) -> None:
    for head, status in (
        (HEAD + b"X: " + b"a" * MOST_HEAD + b"\r\n\r\n", 431),
        (b"GET /" + b"a" * MOST_URL + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
    ):
        with socket.create_connection((server.host, server.port), PATIENCE) as link:
            wrap = server.tls.wrap_socket if server.tls is not None else None
            with wrap(link, server_hostname="localhost") if wrap is not None else link as found:
                found.sendall(head)
                assert found.recv(100).startswith(b"HTTP/1.1 %d " % status)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
async def test_the_limits_are_the_same_for_both_kinds_of_addresses(address: str) -> None:
    async with door(seconds=PATIENCE, address=address) as dial:
        answer = await _said(dial, HEAD + b"X: " + b"a" * MOST_HEAD + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 431 ")
