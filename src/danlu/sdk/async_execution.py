"""A command beside a task, for asyncio: its input at once, its output at the end."""

from __future__ import annotations

import os
from binascii import b2a_base64

from danlu.sdk.errors import ApiError, Lost, ProtocolError, api_error
from danlu.sdk.execution import END_OF_INPUT, ERR, EXIT, INPUT, OUT
from danlu.sdk.fastjson import loads
from danlu.sdk.parser import Parser
from danlu.sdk.websocket import BINARY, CLOSE, PING, PONG, FrameReader, accept_key, frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.sdk.async_wire import AsyncConnection, AsyncWire

PIECE = 64 * 1024


async def execute(wire: AsyncWire, path: str, stdin: bytes) -> tuple[int | None, bytes, bytes]:
    link = await wire.connect()
    try:
        rest = await _shake_hands(wire, link, path)
        for at in range(0, len(stdin), PIECE):
            await link.send(frame(BINARY, bytes((INPUT,)) + stdin[at : at + PIECE]))
        await link.send(frame(BINARY, bytes((END_OF_INPUT,))))
        return await _read(link, rest)
    finally:
        link.close()


async def _shake_hands(wire: AsyncWire, link: AsyncConnection, path: str) -> bytes:
    key = b2a_base64(os.urandom(16), newline=False)
    headers = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": key.decode(),
        "Sec-WebSocket-Version": "13",
    }
    await link.send(wire.plain.head("GET", path, headers))
    parser, refusal = Parser(), b""
    while not parser.done:
        data = await link.receive(wire.timeout)
        if not data and not parser.feed_end():
            raise Lost(wire.address.text, "the connection ended")
        refusal += parser.feed(data) if data else b""
    if parser.status != 101:
        raise api_error(parser.status, refusal)
    if parser.headers.get("sec-websocket-accept") != accept_key(key):
        raise ProtocolError("bad WebSocket handshake")
    return parser.rest


async def _read(link: AsyncConnection, data: bytes) -> tuple[int | None, bytes, bytes]:
    reader = FrameReader()
    parts: dict[int, list[bytes]] = {OUT: [], ERR: []}
    while True:
        for opcode, payload in reader.feed(data):
            if opcode == PING:
                await link.send(frame(PONG, payload))
            elif opcode == CLOSE:
                words = payload[2:].decode("utf-8", "replace")
                raise ApiError(409, "not_run", words or "the command was not run")
            elif payload[:1] == bytes((EXIT,)):
                code = int(loads(payload[1:])["code"])
                return code, b"".join(parts[OUT]), b"".join(parts[ERR])
            elif payload[:1] in (bytes((OUT,)), bytes((ERR,))):
                parts[payload[0]].append(payload[1:])
        data = await link.receive(None)
        if not data:
            raise Lost(link.address.text, "the connection ended")
