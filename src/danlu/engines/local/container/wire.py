"""A minimal blocking HTTP client over the runtime's socket, small enough for keepers."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from typing import Any

from danlu.sdk.errors import ProtocolError
from danlu.sdk.parser import Parser

PATIENCE = 120.0  # seconds for one answer
_PIECE = 1 << 16


class Away(Exception):
    """The daemon does not respond."""


class Failed(Exception):
    """The daemon answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Wire:
    """A persistent connection."""

    def __init__(self, path: str, patience: float = PATIENCE) -> None:
        self._path = path
        self._patience = patience
        self._conn: socket.socket | None = None
        self._begun = b""  # part of the body received with the headers

    def call(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Any:
        """The decoded JSON answer (None: empty). Raises Away or Failed."""
        data = self._whole(method, path, body, headers or {})
        return json.loads(data) if data.strip() else None

    def text(self, method: str, path: str) -> str:
        """An answer that is not JSON."""
        return self._whole(method, path, None, {}).decode("utf-8", "surrogateescape")

    def headers(self, path: str, method: str = "GET") -> dict[str, str]:
        """The headers of an answer."""
        answer = self._ask(method, path, None, {})
        _check(answer, b"".join(self._body(answer)), f"{method} {path}")
        return answer.headers

    def stream(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yields JSON objects as they arrive."""
        answer = self._ask(method, path, body, headers or {})
        if answer.status >= 400:
            _check(answer, b"".join(self._body(answer)), f"{method} {path}")
        decoder = json.JSONDecoder()
        rest, whole = b"", False
        try:
            for piece in self._body(answer):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    yield from _objects(decoder, line)
            whole = True
            yield from _objects(decoder, rest)
        finally:
            if not whole:  # the rest of the answer is still in the connection
                self.close()

    def close(self) -> None:
        if self._conn is not None:
            self._conn.close()
            self._conn = None

    def break_off(self) -> None:
        """Called from another thread; a pending call raises Away."""
        conn = self._conn
        if conn is not None:
            with contextlib.suppress(OSError):  # already closed
                conn.shutdown(socket.SHUT_RDWR)

    def _whole(self, method: str, path: str, body: Any, headers: dict[str, str]) -> bytes:
        answer = self._ask(method, path, body, headers)
        data = b"".join(self._body(answer))
        _check(answer, data, f"{method} {path}")
        return data

    # -- the protocol -------------------------------------------------------------------------

    def _ask(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Parser:
        if isinstance(body, bytes):
            data = body
        else:
            data = b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "Host: danlu", f"Content-Length: {len(data)}"]
        if data and "Content-Type" not in headers:
            lines.append("Content-Type: application/json")
        lines += [f"{name}: {value}" for name, value in headers.items()]
        request = ("\r\n".join(lines) + "\r\n\r\n").encode() + data
        fresh = self._conn is None
        try:
            return self._exchange(method, request)
        except (OSError, ProtocolError) as error:
            self.close()
            if fresh or isinstance(error, ProtocolError):
                raise Away(f"{self._path}: {_cause(error)}") from error
        # Daemons close idle connections: not an error.
        try:
            return self._exchange(method, request)
        except (OSError, ProtocolError) as error:
            self.close()
            raise Away(f"{self._path}: {_cause(error)}") from error

    def _exchange(self, method: str, request: bytes) -> Parser:
        """Sends the request and reads the headers of the answer."""
        if self._conn is None:
            self._conn = connect(self._path, self._patience)
        self._conn.sendall(request)
        answer = Parser(method)
        self._begun = b""
        while not answer.has_head:
            self._begun = answer.feed(self._receive())
        return answer

    def _body(self, answer: Parser) -> Iterator[bytes]:
        try:
            piece = self._begun
            while True:
                if piece:
                    yield piece
                if answer.done:
                    break
                piece = answer.feed(self._receive(answer))
        except (OSError, ProtocolError) as error:
            self.close()
            raise Away(f"{self._path}: the connection was lost") from error
        if not answer.keep_alive:
            self.close()

    def _receive(self, answer: Parser | None = None) -> bytes:
        """An empty result means the connection, and with it the answer, has ended."""
        piece = self._conn.recv(_PIECE) if self._conn is not None else b""
        if not piece and (answer is None or not answer.feed_end()):
            raise ConnectionResetError(104, "the connection was closed")
        return piece


def connect(path: str, patience: float) -> socket.socket:
    conn = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    conn.settimeout(patience)
    try:
        if len(os.fsencode(path)) < 108:
            conn.connect(path)
            return conn
        where = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:  # by the folder's descriptor: socket paths are limited to 108 bytes
            conn.connect(f"/proc/self/fd/{where}/{os.path.basename(path)}")
        finally:
            os.close(where)
    except BaseException:
        conn.close()
        raise
    return conn


def _check(answer: Parser, data: bytes, request: str) -> None:
    if answer.status >= 400:
        message = _message(data) or f"HTTP status {answer.status} for {request[:200]}"
        raise Failed(answer.status, message)


def _cause(error: Exception) -> str:
    return str((error.strerror if isinstance(error, OSError) else None) or error)


def _objects(decoder: json.JSONDecoder, line: bytes) -> Iterator[dict[str, Any]]:
    text = line.decode("utf-8", "replace").strip()
    while text:
        found, end = decoder.raw_decode(text)
        text = text[end:].lstrip()
        yield found


def _message(data: bytes) -> str:
    try:
        found = json.loads(data)
        return str(found.get("message") or found.get("cause") or "").strip()
    except (ValueError, AttributeError):
        return data.decode("utf-8", "replace").strip()[:500]
