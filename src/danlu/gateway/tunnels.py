"""Forwarded ports and sockets: bytes between the client and a socket inside the task."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

import asyncssh

from danlu.engines.api import Duplex, Endpoint, Listener
from danlu.gateway.flow import Flow

_PIECE = 64 * 1024

Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


class Tunnel(Flow, asyncssh.SSHTCPSession[bytes], asyncssh.SSHUNIXSession[bytes]):
    """From the client to something that listens in the task."""

    def __init__(self, duplex: Duplex, spawn: Spawn, ended: Callable[[], None]) -> None:
        super().__init__()
        self._duplex = duplex
        self._ended = ended
        self._spawn = spawn
        self._tasks: list[asyncio.Task[None]] = []

    def session_started(self) -> None:
        self._tasks = [self._spawn(self._outward()), self._spawn(self._inward())]

    async def _outward(self) -> None:
        while (piece := await self._duplex.receive()) is not None:
            await self._writable.wait()
            self._chan.write(piece[1])
        self._chan.write_eof()

    async def _inward(self) -> None:
        with contextlib.suppress(OSError):
            await self._feed(self._duplex)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended()
        for task in self._tasks:
            task.cancel()
        asyncio.ensure_future(self._duplex.close())  # noqa: RUF006 - ends by itself


class TunnelListener(asyncssh.SSHListener):
    """From the task to the client, who asked for it (`ssh -R`)."""

    def __init__(
        self, listening: Listener, conn: asyncssh.SSHServerConnection, asked: Endpoint, spawn: Spawn
    ) -> None:
        super().__init__()
        self._listening = listening
        self._conn = conn
        self._asked = asked
        self._serving = spawn(self._serve(spawn))

    def get_port(self) -> int:
        return self._listening.endpoint.port or 0

    def get_addresses(self) -> list[tuple[str, int]]:
        here = self._listening.endpoint
        return [(here.host, here.port or 0)]

    async def _serve(self, spawn: Spawn) -> None:
        while (accepted := await self._listening.accept()) is not None:
            spawn(self._pass_on(accepted))

    async def _pass_on(self, accepted: Duplex) -> None:
        try:
            if self._asked.path is not None:
                opening = self._conn.open_unix_connection(self._asked.path, encoding=None)
            else:
                port = self._asked.port or self.get_port()
                opening = self._conn.open_connection(
                    self._asked.host, port, "127.0.0.1", 0, encoding=None
                )
            reader, writer = await opening
            await relay(accepted, reader, writer)
        except (OSError, asyncssh.Error):
            pass
        finally:
            await accepted.close()

    def close(self) -> None:
        self._serving.cancel()
        asyncio.ensure_future(self._listening.close())  # noqa: RUF006 - ends by itself

    async def wait_closed(self) -> None:
        await asyncio.wait({self._serving})


async def relay(duplex: Duplex, reader: Any, writer: Any) -> None:
    """Between a socket in the task and a channel of the client, until both directions end."""

    async def outward() -> None:
        while (piece := await duplex.receive()) is not None:
            writer.write(piece[1])
            await writer.drain()
        writer.write_eof()

    async def inward() -> None:
        while data := await reader.read(_PIECE):
            await duplex.send(data)
        await duplex.send_eof()

    try:
        await asyncio.gather(outward(), inward())
    finally:
        writer.close()
        await duplex.close()
