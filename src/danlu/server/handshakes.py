"""TLS handshakes, counted by address and with a deadline.

With uvicorn's own TLS a connection becomes visible after its handshake: those that never finish one
would be neither counted nor closed for a minute.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable

from danlu.server.connections import LimitedProtocol, Places

HANDSHAKE_SECONDS = 20.0
PAUSE_SECONDS = 0.1  # if no connection can be accepted, usually for lack of descriptors


class Handshake:
    """A new connection. Once it is encrypted, the HTTP protocol takes over."""

    def __init__(self, places: Places, address: str) -> None:
        self._places = places
        self._place = places.enter(address, self)
        self._task: asyncio.Task[None] | None = None

    def begin(self, work: asyncio.Task[None]) -> None:
        self._task = work

    @property
    def let_in(self) -> bool:
        return self._place is not None

    def give_way(self) -> None:
        self.leave()
        if self._task is not None:
            self._task.cancel()

    def leave(self) -> None:
        if self._place is not None:
            self._places.leave(self._place, self)
            self._place = None


class Encrypted:
    """Accepts the connections of TLS listeners."""

    seconds = HANDSHAKE_SECONDS

    def __init__(
        self, context: ssl.SSLContext, places: Places, http: Callable[[], LimitedProtocol]
    ) -> None:
        self._context = context
        self._places = places
        self._http = http
        self._tasks: set[asyncio.Task[None]] = set()

    async def accept(self, listener: socket.socket) -> None:
        """Until it is cancelled."""
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        try:
            while True:
                try:
                    link, address = await loop.sock_accept(listener)
                except OSError:
                    await asyncio.sleep(PAUSE_SECONDS)
                    continue
                self._welcome(link, str(address[0]))
        finally:
            for task in self._tasks:
                task.cancel()

    def _welcome(self, link: socket.socket, address: str) -> None:
        guest = Handshake(self._places, address)
        if not guest.let_in:
            link.close()  # no answer can be read before the handshake
            return
        task = asyncio.create_task(self._encrypt(link, guest))
        guest.begin(task)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _encrypt(self, link: socket.socket, guest: Handshake) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await asyncio.get_running_loop().connect_accepted_socket(
                    self._http,
                    link,
                    ssl=self._context,
                    ssl_handshake_timeout=self.seconds,
                )
        finally:
            guest.leave()
