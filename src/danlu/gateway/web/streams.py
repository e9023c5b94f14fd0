"""Bytes of one side of a connection, and the bodies in them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable

from danlu.gateway.web.heads import BadMessage, Ends, Size

PIECE = 64 * 1024
_BARE = re.compile(rb"(?<!\r)\n|\r(?=[^\n])")
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?")
_LONGEST_LINE = 4096
_MOST_TRAILERS = 64
_END = b"\r\n\r\n"


class Source:
    """`receive`: the next bytes; none at the end."""

    def __init__(self, receive: Callable[[], Awaitable[bytes]]) -> None:
        self._receive = receive
        self._buffer = bytearray()
        self._ahead: asyncio.Future[bytes] | None = None

    @property
    def waiting(self) -> bool:
        """Whether there are bytes that were not taken yet."""
        return bool(self._buffer)

    def watch(self) -> None:
        """Reads ahead while nothing is expected, to notice the end."""
        if self._ahead is None:
            self._ahead = asyncio.ensure_future(self._receive())

    @property
    def quiet(self) -> bool:
        """Neither ended nor sent anything since `watch`."""
        return not self._buffer and self._ahead is not None and not self._ahead.done()

    async def _next(self) -> bytes:
        if self._ahead is None:
            return await self._receive()
        await asyncio.wait({self._ahead})
        done, self._ahead = self._ahead, None
        return b"" if done.cancelled() else done.result()

    async def _more(self) -> bool:
        data = await self._next()
        self._buffer += data
        return bool(data)

    async def started(self) -> bool:
        """Waits for the first byte of something new; False: the end came instead."""
        return bool(self._buffer) or await self._more()

    async def head(self, most: int) -> bytes:
        """Up to an empty line, which is not part of it."""
        seen = 0
        while (at := self._buffer.find(_END, max(0, seen - 3))) < 0:
            if _BARE.search(self._buffer, max(0, seen - 1)):
                raise BadMessage("lines have to end with CR LF")
            seen = len(self._buffer)
            if seen > most:
                raise BadMessage("the head is too large", 431)
            if not await self._more():
                raise BadMessage("the head is not complete")
        if at > most:
            raise BadMessage("the head is too large", 431)
        head = bytes(self._buffer[:at])
        del self._buffer[: at + len(_END)]
        if _BARE.search(head):
            raise BadMessage("lines have to end with CR LF")
        return head

    async def some(self, most: int = PIECE) -> bytes:
        """Whatever there is, at least a byte; none at the end."""
        if not self._buffer:
            data = await self._next()
            if len(data) <= most:
                return data
            self._buffer += data
        piece = bytes(self._buffer[:most])
        del self._buffer[:most]
        return piece

    async def _line(self) -> bytes:
        while (at := self._buffer.find(b"\r\n")) < 0:
            if len(self._buffer) > _LONGEST_LINE or not await self._more():
                raise BadMessage("a chunk is broken")
        line = bytes(self._buffer[:at])
        del self._buffer[: at + 2]
        return line

    async def body(self, size: Size) -> AsyncIterator[bytes]:
        """Raises BadMessage where it is cut off."""
        if size is Ends.CLOSE:
            while piece := await self.some():
                yield piece
        elif size is Ends.CHUNKED:
            async for piece in self._chunks():
                yield piece
        else:
            async for piece in self._exactly(size):
                yield piece

    async def _exactly(self, size: int) -> AsyncIterator[bytes]:
        while size:
            piece = await self.some(min(size, PIECE))
            if not piece:
                raise BadMessage("the body is cut off")
            size -= len(piece)
            yield piece

    async def _chunks(self) -> AsyncIterator[bytes]:
        while True:
            found = _CHUNK.fullmatch(await self._line())
            if found is None:
                raise BadMessage("a chunk is broken")
            size = int(found[1], 16)
            if size == 0:
                break
            async for piece in self._exactly(size):
                yield piece
            if await self._line():
                raise BadMessage("a chunk is broken")
        for _ in range(_MOST_TRAILERS):  # which nobody needs
            if not await self._line():
                return
        raise BadMessage("too many trailers")

    def drop(self) -> None:
        if self._ahead is not None:
            self._ahead.cancel()


def chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


LAST_CHUNK = b"0\r\n\r\n"
