"""Connections to a task: to its processes through its keeper, or to one of its ports."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from typing import Any

from danlu.engines.api import Refused
from danlu.engines.local.keeper import frames

_STREAMS = {frames.OUT: 1, frames.ERR: 2}
_PIECE = 64 * 1024


class KeeperDuplex:
    """Frames over the keeper's socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._code: int | None = None
        self._ended = False

    async def send(self, data: bytes) -> None:
        for at in range(0, len(data), _PIECE):
            await self._put(frames.INPUT, data[at : at + _PIECE])

    async def send_eof(self) -> None:
        await self._put(frames.END_OF_INPUT)

    async def resize(self, rows: int, cols: int) -> None:
        await self._put(frames.RESIZE, frames.SIZE.pack(_clamp(rows), _clamp(cols)))

    async def receive(self) -> tuple[int, bytes] | None:
        if self._ended:
            return None
        try:
            head = await self._reader.readexactly(frames.HEAD.size)
            kind, length = frames.HEAD.unpack(head)
            body = await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            self._ended = True  # the task has ended
            return None
        if kind in _STREAMS:
            return _STREAMS[kind], body
        self._ended = True
        answer = json.loads(body)
        self._code = answer.get("code")
        if answer.get("error"):
            return 2, f"danlu: {answer['error']}\n".encode()
        return None

    async def exit_code(self) -> int | None:
        while await self.receive() is not None:
            pass
        return self._code

    async def close(self) -> None:
        self._writer.close()

    async def _put(self, kind: bytes, body: bytes = b"") -> None:
        try:
            self._writer.write(frames.pack(kind, body))
            await self._writer.drain()
        except ConnectionError:
            self._ended = True


class PortDuplex:
    """Bytes over TCP to a port the task listens on."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def send_eof(self) -> None:
        if self._writer.can_write_eof():
            self._writer.write_eof()

    async def resize(self, rows: int, cols: int) -> None:
        """A port has no size."""

    async def receive(self) -> tuple[int, bytes] | None:
        try:
            data = await self._reader.read(_PIECE)
        except ConnectionError:
            data = b""
        return (1, data) if data else None

    async def exit_code(self) -> int | None:
        return None

    async def close(self) -> None:
        self._writer.close()


async def to_keeper(folder: str, task: int, kind: bytes, ask: dict[str, Any]) -> KeeperDuplex:
    try:
        where = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Refused(f"task {task} is not running") from None
    conn = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    conn.setblocking(False)
    try:
        # By the folder's descriptor: socket paths are limited to 108 bytes.
        conn.connect(f"/proc/self/fd/{where}/{task}.sock")
    except OSError:
        conn.close()
        raise Refused(f"task {task} is not running") from None
    finally:
        os.close(where)
    reader, writer = await asyncio.open_unix_connection(sock=conn)
    writer.write(frames.pack(kind, json.dumps(ask).encode()))
    await writer.drain()
    return KeeperDuplex(reader, writer)


async def to_port(address: str, port: int) -> PortDuplex:
    try:
        return PortDuplex(*await asyncio.open_connection(address, port))
    except OSError as error:
        raise Refused(
            f"nothing is listening on port {port} of the task: {error.strerror}"
        ) from error


def _clamp(size: int) -> int:
    return max(1, min(size, 65535))
