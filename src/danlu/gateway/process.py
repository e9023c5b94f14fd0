"""The gateway process: serves SSH and web doors, also while the server is away."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import time
from pathlib import Path

from danlu.gateway import host_key
from danlu.gateway.link import Link
from danlu.gateway.ssh import Connection, Reaches, serve
from danlu.gateway.web.settings import WebSettings
from danlu.gateway.web.web import Web

LOCK = "lock"
SOCKET = "server.sock"
IDLE_SECONDS = 600.0
_ORPHAN_SECONDS = 60.0
_LOOK = 1.0


async def run(
    folder: Path,
    listener: socket.socket | None,
    version: str,
    reaches: Reaches,
    settings: WebSettings | None = None,
) -> None:
    """Until nobody is connected any more, and nobody has been for a while.

    `listener`: None: without SSH. `settings`: None: without web doors."""
    os.chdir(folder)  # the path of a socket has at most 108 bytes
    lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.truncate(lock, 0)
    os.write(lock, f"{os.getpid()}\n".encode())
    link = Link(SOCKET, version)
    living: set[Connection] = set()
    draining = asyncio.Event()
    acceptor = None
    if listener is not None:
        acceptor = await serve(listener, [str(host_key.made(folder))], link, reaches, living)
    web = None if settings is None else Web(folder, settings, link, reaches)
    if web is not None:
        await web.start()

    def drain() -> None:
        """A newer one takes the ports; those who are connected stay."""
        if not draining.is_set():
            if acceptor is not None:
                acceptor.close()
            if web is not None:
                web.drain()
            os.close(lock)
            draining.set()

    link.on_drain = drain
    linked = asyncio.create_task(link.run())
    last = time.monotonic()
    while True:
        await asyncio.sleep(_LOOK)
        now = time.monotonic()
        if web is not None:
            await web.tidy()
        away = link.away_since is not None and now - link.away_since > _ORPHAN_SECONDS
        if living or (web is not None and web.connected):
            last = now
        elif draining.is_set() or away:
            break
        elif web is not None and web.open:
            last = now
        elif now - last > IDLE_SECONDS:
            break
    drain()
    linked.cancel()
