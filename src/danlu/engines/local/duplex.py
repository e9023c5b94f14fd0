"""Connections to a task: to its processes through its keeper, or to one of its ports."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from typing import Any

from danlu.engines.api import Endpoint, Refused
from danlu.engines.local.keeper import frames

_STREAMS = {frames.OUT: 1, frames.ERR: 2}
_PIECE = 64 * 1024
_OPENING_PATIENCE = 15.0  # seconds


class NoKeeper(Refused):
    """The task has no keeper that listens: not yet, or no more."""


class KeeperDuplex:
    """Frames over the keeper's socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._code: int | None = None
        self.exit_signal: int | None = None
        self._ended = self._taken = False

    async def send(self, data: bytes) -> None:
        for at in range(0, len(data), _PIECE):
            await self._put(frames.INPUT, data[at : at + _PIECE])

    async def send_eof(self) -> None:
        await self._put(frames.END_OF_INPUT)

    async def signal(self, number: int) -> None:
        await self._put(frames.SIGNAL, bytes([number]))

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
        self.exit_signal = answer.get("signal")
        self._taken = bool(answer.get("taken"))
        if answer.get("error"):
            return 2, f"danlu: {answer['error']}\n".encode()
        return None

    async def exit_code(self) -> int | None:
        while await self.receive() is not None:
            pass
        if self._taken:
            raise OSError("another connection has taken over this terminal")
        return self._code

    async def close(self) -> None:
        self._writer.close()

    async def _put(self, kind: bytes, body: bytes = b"") -> None:
        try:
            self._writer.write(frames.pack(kind, body))
            await self._writer.drain()
        except ConnectionError:
            self._ended = True


class SocketDuplex:
    """Bytes over a socket that was made inside the task."""

    exit_signal = None

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
        """A socket has no size."""

    async def signal(self, number: int) -> None:
        """Nor a process."""

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


class SocketListener:
    """`link` to the keeper: the socket's path is removed when it closes."""

    def __init__(self, listening: socket.socket, endpoint: Endpoint, link: socket.socket) -> None:
        self._listening = listening
        self._link = link
        self.endpoint = endpoint

    async def accept(self) -> SocketDuplex | None:
        loop = asyncio.get_running_loop()
        accepting = asyncio.ensure_future(loop.sock_accept(self._listening))
        ended = asyncio.ensure_future(loop.sock_recv(self._link, 1))
        try:
            await asyncio.wait({accepting, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not accepting.done() or accepting.exception() is not None:
                return None
            return SocketDuplex(*await _streams(accepting.result()[0]))
        finally:
            accepting.cancel()
            ended.cancel()

    async def close(self) -> None:
        self._listening.close()
        self._link.close()


async def to_keeper(folder: str, task: int, kind: bytes, ask: dict[str, Any]) -> KeeperDuplex:
    reader, writer = await asyncio.open_unix_connection(sock=reach(folder, task))
    writer.write(frames.pack(kind, json.dumps(ask).encode()))
    await writer.drain()
    return KeeperDuplex(reader, writer)


async def connect(folder: str, task: int, to: Endpoint) -> SocketDuplex:
    opened, link, _ = await _opened(folder, task, frames.CONNECT, to)
    link.close()
    return SocketDuplex(*await _streams(opened))


async def listen(folder: str, task: int, at: Endpoint) -> SocketListener:
    opened, link, address = await _opened(folder, task, frames.LISTEN, at)
    opened.setblocking(False)
    if isinstance(address, list):
        return SocketListener(opened, Endpoint(int(address[1]), str(address[0])), link)
    return SocketListener(opened, Endpoint(path=str(address)), link)


async def _opened(
    folder: str, task: int, kind: bytes, where: Endpoint
) -> tuple[socket.socket, socket.socket, Any]:
    """A socket from inside the task, the link it came over, and its address."""
    link = reach(folder, task)
    try:
        ask = {"port": where.port, "host": where.host, "path": where.path}
        await asyncio.get_running_loop().sock_sendall(
            link, frames.pack(kind, json.dumps(ask).encode())
        )
        async with asyncio.timeout(_OPENING_PATIENCE):
            data, rights = await with_rights(link)
        kind, length = frames.HEAD.unpack(data[: frames.HEAD.size])
        answer = json.loads(data[frames.HEAD.size : frames.HEAD.size + length])
    except (OSError, TimeoutError, ValueError) as error:
        link.close()
        raise Refused(f"task {task} did not answer: {error}") from error
    if not rights:
        link.close()
        raise Refused(str(answer.get("error")))
    return socket.socket(fileno=rights[0]), link, answer["address"]


async def with_rights(link: socket.socket, most: int = 1) -> tuple[bytes, list[int]]:
    """The next answer, and the descriptors that came with it."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(link, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(link)
    data, rights, _, _ = socket.recv_fds(link, _PIECE, most, socket.MSG_CMSG_CLOEXEC)
    if len(data) < frames.HEAD.size:
        raise ConnectionResetError(104, "the task has ended")
    return data, rights


def reach(folder: str, task: int) -> socket.socket:
    try:
        where = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NoKeeper(f"task {task} is not running") from None
    conn = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    conn.setblocking(False)
    try:
        # By the folder's descriptor: socket paths are limited to 108 bytes.
        conn.connect(f"/proc/self/fd/{where}/{task}.sock")
    except OSError:
        conn.close()
        raise NoKeeper(f"task {task} is not running") from None
    finally:
        os.close(where)
    return conn


async def _streams(link: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    link.setblocking(False)
    with contextlib.suppress(OSError):  # not TCP
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if link.family == socket.AF_UNIX:
        return await asyncio.open_unix_connection(sock=link)
    return await asyncio.open_connection(sock=link)


def _clamp(size: int) -> int:
    return max(1, min(size, 65535))
