"""Bodies that go between a connection and a pipe inside the kernel: no byte is copied by us.

At the other end of the pipe is a user's helper, so nothing here waits for a disk. uvloop keeps the
connection; a second descriptor of it is spliced while uvloop has nothing to write (a response), or
does not read (a request).
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
from asyncio.events import AbstractEventLoop
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import httptools
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from danlu.api.piping import Ended, Stuck

if TYPE_CHECKING:
    from danlu.server.connections import LimitedProtocol

STEP = 1 << 20
LOOK = 2.0  # seconds between looks whether the helper is still there
LINGER = 2.0  # seconds for which a refused client may go on sending
_FLAGS = os.SPLICE_F_NONBLOCK | os.SPLICE_F_MOVE
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
Watch = Callable[..., object]


class Lost(Exception):
    """The connection has ended."""


class ConnectionPiping:
    """For one request of a connection without TLS."""

    __slots__ = ("_cycle", "_loop", "_protocol")

    def __init__(self, protocol: LimitedProtocol, cycle: RequestResponseCycle) -> None:
        self._protocol = protocol
        self._cycle = cycle
        self._loop: AbstractEventLoop = protocol.loop

    # -- responses ----------------------------------------------------------------------------

    async def send_from(self, pipe: int, size: int, patience: float) -> bool:
        left = size
        try:
            await self._written()
            link = self._link()
            try:
                while left:
                    moved = await self._pass_on(pipe, link, left, patience)
                    if not moved:
                        raise Ended
                    left -= moved
            finally:
                os.close(link)
        except (Lost, ConnectionError):
            self._protocol.transport.abort()
            return False
        self._cycle.expected_content_length -= size
        return True

    async def _written(self) -> None:
        """Until uvloop has written the head: it does so when it is its turn."""
        pause = 0.0
        while self._protocol.transport.get_write_buffer_size():
            self._there()
            await asyncio.sleep(pause)
            pause = 0.005

    async def _pass_on(self, pipe: int, link: int, left: int, patience: float) -> int:
        while True:
            self._there()
            try:
                moved = os.splice(pipe, link, min(left, STEP), flags=_FLAGS)
            except BlockingIOError:
                if _ready(pipe, select.POLLIN):
                    await self._writable(link)  # the client reads when it likes
                elif not await self._readable(pipe, patience):
                    raise Stuck from None
            else:
                await asyncio.sleep(0)  # others have their turn
                return moved

    # -- requests -----------------------------------------------------------------------------

    def length(self) -> int | None:
        if self._protocol.cycle is not self._cycle or not self._cycle.more_body:
            return None
        told = [value for name, value in self._protocol.headers if name == b"content-length"]
        chunked = any(name == b"transfer-encoding" for name, _ in self._protocol.headers)
        if chunked or len(told) != 1 or not told[0].isdigit() or len(told[0]) > 18:
            return None
        return int(told[0])

    async def receive_into(
        self, pipe: int, patience: float, every: int, check: Callable[[], Awaitable[object]]
    ) -> bool:
        cycle, length = self._cycle, self.length()
        assert length is not None
        try:
            link = self._link()
        except Lost:
            return False
        self._protocol.in_use()
        self._protocol.flow.pause_reading()
        # Until the parser is told of the rest, it takes whatever comes next for this body.
        keep_alive, cycle.keep_alive = cycle.keep_alive, False
        over = False  # nothing more comes
        try:
            held, left = self._begin(length)
            await self._put(pipe, held, patience)
            due = every
            while left:
                moved = await self._take(link, pipe, left, patience)
                if not moved:
                    over = True
                    return False
                left, due = left - moved, due - moved
                if due <= 0:
                    due = every
                    await check()
            over = True
        except Lost:
            over = True
            return False
        except BrokenPipeError:
            return False  # if the helper has gone, it has said why
        finally:
            if over:
                os.close(link)
            else:
                _Lingering(self._loop, link)
        cycle.keep_alive = keep_alive
        self._end()
        return True

    def _begin(self, length: int) -> tuple[bytes, int]:
        """What the parser has had of the body, and how many bytes are left."""
        cycle = self._cycle
        if cycle.waiting_for_100_continue:
            cycle.waiting_for_100_continue = False
            self._protocol.transport.write(_CONTINUE)
        held, cycle.body = bytes(cycle.body), bytearray()
        cycle.message_event.clear()
        return held, length - self._protocol.parsed

    def _end(self) -> None:
        """The parser waits for a body that has passed it by: the next request has a new one."""
        self._protocol.parser = httptools.HttpRequestParser(self._protocol)
        self._protocol.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._protocol.on_message_complete()

    async def _put(self, pipe: int, held: bytes, patience: float) -> None:
        view = memoryview(held)
        while view:
            try:
                view = view[os.write(pipe, view) :]
            except BlockingIOError:
                if not await self._writable(pipe, patience):
                    raise Stuck from None

    async def _take(self, link: int, pipe: int, left: int, patience: float) -> int:
        """0: the connection has ended, or nothing came for too long."""
        while True:
            self._there()
            try:
                moved = os.splice(link, pipe, min(left, STEP), flags=_FLAGS)
            except BlockingIOError:
                if _ready(link, select.POLLIN):
                    if not await self._writable(pipe, patience):
                        raise Stuck from None
                elif not await self._more(link, pipe):
                    self._protocol.refuse_slow_body()
                    return 0
            except BrokenPipeError:
                raise
            except ConnectionError:
                return 0
            else:
                await asyncio.sleep(0)
                return moved

    async def _more(self, link: int, pipe: int) -> bool:
        """Waits until more arrives, or nobody takes it any more."""
        end = self._loop.time() + self._protocol.body_seconds
        while (left := end - self._loop.time()) > 0:
            if await self._readable(link, min(left, LOOK)):
                return True
            if _ready(pipe, 0):
                raise BrokenPipeError
        return False

    # -- the connection -----------------------------------------------------------------------

    def _link(self) -> int:
        """uvloop watches its own descriptor and nobody else may, so this is another one."""
        self._there()
        sock = self._protocol.transport.get_extra_info("socket")
        return os.dup(sock.fileno())

    def _there(self) -> None:
        if self._protocol.transport.is_closing():
            raise Lost

    async def _readable(self, fd: int, seconds: float) -> bool:
        return await self._watched(self._loop.add_reader, self._loop.remove_reader, fd, seconds)

    async def _writable(self, fd: int, seconds: float | None = None) -> bool:
        return await self._watched(self._loop.add_writer, self._loop.remove_writer, fd, seconds)

    async def _watched(self, add: Watch, remove: Watch, fd: int, seconds: float | None) -> bool:
        """Raises Lost."""
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._protocol.piped = waiter
        add(fd, _wake, waiter)
        try:
            async with asyncio.timeout(seconds):
                await waiter
        except TimeoutError:
            return False
        finally:
            remove(fd)
            self._protocol.piped = None
        self._there()
        return True


class _Lingering:
    """Keeps a connection open after its refusal: to hang up on bytes that are still coming is a
    reset, which can overtake the answer."""

    __slots__ = ("_end", "_loop", "_sock")

    def __init__(self, loop: AbstractEventLoop, link: int) -> None:
        self._loop = loop
        self._sock = socket.socket(fileno=link)
        self._end = loop.call_later(LINGER, self._close)
        loop.add_reader(link, self._discard)

    def _discard(self) -> None:
        try:
            if self._sock.recv_into(_NOWHERE, STEP, socket.MSG_TRUNC):  # does not even copy them
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self._close()

    def _close(self) -> None:
        self._end.cancel()
        self._loop.remove_reader(self._sock.fileno())
        self._sock.close()


_NOWHERE = bytearray(STEP)


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _ready(fd: int, event: int) -> bool:
    poll = select.poll()
    poll.register(fd, event)
    return bool(poll.poll(0))
