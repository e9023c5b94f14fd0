"""A small WebSocket client (RFC 6455): binary messages both ways, no extensions."""

from __future__ import annotations

import os
from binascii import b2a_base64

from danlu.sdk.errors import Lost, ProtocolError, api_error
from danlu.sdk.parser import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.sdk.wire import Wire

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_LARGEST = 16 * 1024 * 1024


def frame(opcode: int, payload: bytes, mask: bytes | None = None) -> bytes:
    """A complete message as a client sends it (masked, as the protocol requires)."""
    mask = os.urandom(4) if mask is None else mask
    size = len(payload)
    if size < 126:
        head = bytes((0x80 | opcode, 0x80 | size))
    elif size < 65536:
        head = bytes((0x80 | opcode, 0x80 | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((0x80 | opcode, 0x80 | 127)) + size.to_bytes(8, "big")
    return head + mask + _masked(payload, mask)


def _masked(payload: bytes, mask: bytes) -> bytes:
    size = len(payload)
    pad = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(pad, "big")).to_bytes(size, "big")


class FrameReader:
    """Parses frames from bytes as they arrive."""

    def __init__(self) -> None:
        self._held = b""
        self._opcode = 0
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Complete messages (opcode, payload), including control frames."""
        data = self._held + data if self._held else data
        found: list[tuple[int, bytes]] = []
        at = 0
        while (step := self._frame(data, at, found)) > 0:
            at += step
        self._held = data[at:]
        return found

    def _frame(self, data: bytes, at: int, found: list[tuple[int, bytes]]) -> int:
        if len(data) < at + 2:
            return 0
        first, second = data[at], data[at + 1]
        size, head = second & 0x7F, 2
        if size >= 126:
            head = 4 if size == 126 else 10
            if len(data) < at + head:
                return 0
            size = int.from_bytes(data[at + 2 : at + head], "big")
        if second & 0x80 or first & 0x70 or size > _LARGEST:
            raise ProtocolError("bad WebSocket frame")
        if len(data) < at + head + size:
            return 0
        payload = data[at + head : at + head + size]
        opcode = first & 0x0F
        if opcode >= CLOSE:
            found.append((opcode, payload))
        else:
            self._opcode = opcode or self._opcode
            self._parts.append(payload)
            if first & 0x80:
                found.append((self._opcode, b"".join(self._parts)))
                self._parts = []
        return head + size


class WebSocket:
    """A connection that opens when the server accepts it, which may be much later.

    A loop calls `pump` when the descriptor is readable and `flush` when it is writable; others call
    `wait_open`, then `send` and `receive`.
    """

    def __init__(self, wire: Wire, path: str) -> None:
        self.is_open = False
        self.closed: tuple[int, str] | None = None  # code and reason of the server's close
        self._where = wire.address.text
        self._reader = FrameReader()
        self._parser = Parser()
        self._refusal = b""
        self._outgoing = b""
        self._key = b2a_base64(os.urandom(16), newline=False)
        self._link = wire.connect()
        headers = {
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Key": self._key.decode(),
            "Sec-WebSocket-Version": "13",
        }
        try:
            self._link.send(wire.head("GET", path, headers))
            self._link.set_timeout(None)
        except BaseException:
            self._link.close()
            raise

    def fileno(self) -> int:
        return self._link.fileno()

    def wait_open(self) -> list[bytes]:
        """Waits for the server to accept; returns what arrived with that."""
        messages: list[bytes] = []
        while not self.is_open and self.closed is None:
            messages += self.pump()
        return messages

    def send(self, payload: bytes, opcode: int = BINARY) -> None:
        """Sends a complete message, blocking."""
        self._link.send(frame(opcode, payload))

    def queue(self, payload: bytes, opcode: int = BINARY) -> None:
        """Queues a message for `flush`."""
        self._outgoing += frame(opcode, payload)

    @property
    def has_outgoing(self) -> bool:
        return bool(self._outgoing)

    def flush(self) -> None:
        """Sends what the connection accepts without blocking."""
        if self._outgoing:
            sent = self._link.send_some(self._outgoing)
            self._outgoing = self._outgoing[sent:]

    def receive(self) -> list[bytes] | None:
        """The next messages; waits for at least one; None once the server has closed."""
        while self.closed is None:
            messages = self.pump()
            if messages:
                return messages
        return None

    def pump(self) -> list[bytes]:
        """Reads once; returns complete messages. Raises Lost, or ApiError if refused."""
        data = self._link.receive()
        if not data and not (self._parser.has_head and self._parser.feed_end()):
            raise Lost(self._where, "the connection ended")
        if not self.is_open:
            data = self._shake_hands(data)
            if not self.is_open:
                return []
        elif not data:
            raise Lost(self._where, "the connection ended")
        return self._messages(data)

    def _shake_hands(self, data: bytes) -> bytes:
        parser = self._parser
        self._refusal += parser.feed(data)
        if not parser.done:
            return b""
        if parser.status != 101:
            raise api_error(parser.status, self._refusal)
        if parser.headers.get("sec-websocket-accept") != accept_key(self._key):
            raise ProtocolError("bad WebSocket handshake")
        self.is_open = True
        return parser.rest

    def _messages(self, data: bytes) -> list[bytes]:
        messages: list[bytes] = []
        for opcode, payload in self._reader.feed(data):
            if opcode in (BINARY, TEXT):
                messages.append(payload)
            elif opcode == PING:
                self.queue(payload, PONG)
                self.flush()
            elif opcode == CLOSE:
                code = int.from_bytes(payload[:2], "big") if len(payload) >= 2 else 1005
                self.closed = (code, payload[2:].decode("utf-8", "replace"))
                break
        return messages

    def close(self, code: int = 1000) -> None:
        try:
            if self.is_open:
                self._link.send_some(frame(CLOSE, code.to_bytes(2, "big")))
        except OSError:
            pass
        self._link.close()


def accept_key(key: bytes) -> str:
    """The expected Sec-WebSocket-Accept value."""
    return b2a_base64(_sha1(key + _GUID), newline=False).decode()


def _sha1(data: bytes) -> bytes:
    try:
        # hashlib would load OpenSSL, for one hash.
        from _sha1 import sha1  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from hashlib import sha1
    return bytes(sha1(data, usedforsecurity=False).digest())
