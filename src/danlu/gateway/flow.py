"""Bytes of one channel in both directions, at the pace of the slower end."""

from __future__ import annotations

import asyncio
from typing import Any

from danlu.engines.api import Duplex

_AHEAD = 1 << 20  # bytes of input that may wait for the task


class Flow:
    """What sessions and tunnels have in common; asyncssh calls the methods without underscore."""

    def __init__(self) -> None:
        self._chan: Any = None
        self._waiting: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._size = 0
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, chan: Any) -> None:
        self._chan = chan

    async def _feed(self, duplex: Duplex) -> None:
        """Passes on what the client sends, until it sends no more."""
        while (piece := await self._waiting.get()) is not None:
            pieces: list[bytes] = [piece]
            ended = False
            while not self._waiting.empty() and not ended:
                following = self._waiting.get_nowait()
                if following is None:
                    ended = True
                else:
                    pieces.append(following)
            data = b"".join(pieces) if len(pieces) > 1 else piece
            await duplex.send(data)
            self._size -= len(data)
            if self._size < _AHEAD // 2:
                self._chan.resume_reading()
            if ended:
                break
        await duplex.send_eof()

    def data_received(self, data: bytes, datatype: object = None) -> None:
        self._size += len(data)
        self._waiting.put_nowait(data)
        if self._size > _AHEAD:
            self._chan.pause_reading()

    def eof_received(self) -> bool:
        self._waiting.put_nowait(None)
        return True

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()
