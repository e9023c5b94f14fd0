"""HTTP over the runtime's socket, as small as a keeper needs it. Blocking; servers use a thread."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from typing import Any

PATIENCE = 120.0  # seconds a daemon has for one answer
_PIECE = 1 << 16


class Away(Exception):
    """The daemon does not answer: nothing is known."""


class Failed(Exception):
    """The daemon answered that it cannot."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Wire:
    """One connection, kept open from call to call."""

    def __init__(self, path: str, patience: float = PATIENCE) -> None:
        self._path = path
        self._patience = patience
        self._conn: socket.socket | None = None
        self._buffer = b""

    def call(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Any:
        """What the daemon answers, from JSON (None: nothing). Raises Away or Failed."""
        status, fields = self._ask(method, path, body, headers or {})
        data = b"".join(self._body(status, fields))
        if fields.get("connection", "").lower() == "close":
            self.close()
        if status >= 400:
            raise Failed(status, _message(data) or f"HTTP status {status}")
        return json.loads(data) if data.strip() else None

    def headers(self, path: str) -> dict[str, str]:
        """What an answer says of itself."""
        status, fields = self._ask("GET", path, None, {})
        data = b"".join(self._body(status, fields))
        if status >= 400:
            raise Failed(status, _message(data) or f"HTTP status {status}")
        return fields

    def stream(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Iterator[dict[str, Any]]:
        """JSON objects, one after the other, as they come."""
        status, fields = self._ask(method, path, body, headers or {})
        if status >= 400:
            raise Failed(status, _message(b"".join(self._body(status, fields))) or f"HTTP {status}")
        decoder = json.JSONDecoder()
        rest, whole = b"", False
        try:
            for piece in self._body(status, fields):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    yield from _objects(decoder, line)
            whole = True
            yield from _objects(decoder, rest)
        finally:
            if not whole:  # whoever stops listening leaves the rest of it in the connection
                self.close()

    def close(self) -> None:
        if self._conn is not None:
            self._conn.close()
            self._conn = None
        self._buffer = b""

    def break_off(self) -> None:
        """From another thread: whoever waits for an answer gets Away."""
        conn = self._conn
        if conn is not None:
            with contextlib.suppress(OSError):  # it is closed already
                conn.shutdown(socket.SHUT_RDWR)

    # -- the protocol -------------------------------------------------------------------------

    def _ask(
        self, method: str, path: str, body: Any, headers: dict[str, str]
    ) -> tuple[int, dict[str, str]]:
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
            return self._exchange(request)
        except OSError as error:
            self.close()
            if fresh:
                raise Away(f"{self._path}: {error.strerror or error}") from error
        # A daemon closes connections nobody used for a while; that says nothing about it.
        try:
            return self._exchange(request)
        except OSError as error:
            self.close()
            raise Away(f"{self._path}: {error.strerror or error}") from error

    def _exchange(self, request: bytes) -> tuple[int, dict[str, str]]:
        if self._conn is None:
            self._conn = connect(self._path, self._patience)
        self._conn.sendall(request)
        head = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        fields: dict[str, str] = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            fields[name.strip().lower()] = value.strip()
        return int(head[0].split()[1]), fields

    def _body(self, status: int, fields: dict[str, str]) -> Iterator[bytes]:
        try:
            if status in (204, 304):
                return
            if fields.get("transfer-encoding", "").lower() == "chunked":
                while size := int(self._until(b"\r\n").split(b";")[0], 16):
                    yield from self._exactly(size)
                    self._until(b"\r\n")
                self._until(b"\r\n")
            elif "content-length" in fields:
                yield from self._exactly(int(fields["content-length"]))
            else:
                while piece := self._some():
                    yield piece
                self.close()
        except (OSError, ValueError) as error:
            self.close()
            raise Away(f"{self._path}: the connection broke off") from error

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            piece = self._receive()
            if not piece:
                raise ConnectionResetError(104, "the connection was closed")
            self._buffer += piece
        found, self._buffer = self._buffer.split(mark, 1)
        return found

    def _exactly(self, count: int) -> Iterator[bytes]:
        while count:
            piece = self._some(count)
            if not piece:
                raise ConnectionResetError(104, "the connection was closed")
            count -= len(piece)
            yield piece

    def _some(self, most: int = _PIECE) -> bytes:
        if not self._buffer:
            self._buffer = self._receive()
        piece, self._buffer = self._buffer[:most], self._buffer[most:]
        return piece

    def _receive(self) -> bytes:
        if self._conn is None:
            raise ConnectionResetError(104, "the connection was closed")
        return self._conn.recv(_PIECE)


def connect(path: str, patience: float) -> socket.socket:
    conn = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    conn.settimeout(patience)
    try:
        if len(os.fsencode(path)) < 108:
            conn.connect(path)
            return conn
        where = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:  # by its folder's descriptor: a socket's path may be 108 bytes at most
            conn.connect(f"/proc/self/fd/{where}/{os.path.basename(path)}")
        finally:
            os.close(where)
    except BaseException:
        conn.close()
        raise
    return conn


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
