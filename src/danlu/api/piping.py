"""Bodies that go between a connection and a pipe inside the kernel, past this process.

The server offers it for connections without TLS; whoever asks has the usual way as well.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from starlette.types import Scope

EXTENSION = "danlu.piping"
WORTH = 256 << 10
"""Bytes; shorter bodies go the usual way."""


class Stuck(Exception):
    """The other end of the pipe has done nothing for too long."""


class Ended(Exception):
    """The other end of the pipe was closed before its time."""


class Piping(Protocol):
    def length(self) -> int | None:
        """Bytes of the request's body; None: not known, or it cannot be piped."""

    async def send_from(self, pipe: int, size: int, patience: float) -> bool:
        """Sends a part of the response's body. False: the connection has ended.

        Raises Ended, and Stuck after `patience` seconds in which nothing came through the pipe.
        """

    async def receive_into(
        self, pipe: int, patience: float, every: int, check: Callable[[], Awaitable[object]]
    ) -> bool:
        """Receives the request's body. False: the connection, or the pipe, ended before it.

        After each `every` bytes `check` is asked; whatever it raises ends it. Raises Stuck.
        """


def piping(scope: Scope) -> Piping | None:
    found: Piping | None = scope.get("extensions", {}).get(EXTENSION)
    return found
