"""A command in a task whose input and output are pipes in this process; its keeper only says how
it ended. Between them, no byte is copied by anybody else.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Callable
from typing import Any

from danlu.engines.api import Refused
from danlu.engines.local import duplex
from danlu.engines.local.duplex import KeeperDuplex
from danlu.engines.local.keeper import frames

_MOST_READ = 256 * 1024
_PIPES = 3


class PipeDuplex:
    """`link`: to the keeper, which hangs up the command when it is closed.
    `pipes`: none if nothing was started; then the keeper says why.
    """

    def __init__(self, link: socket.socket, pipes: list[int], heard: bytes) -> None:
        self._link = link
        self._input, *outputs = pipes or [-1]
        self._outputs = list(enumerate(outputs, 1))
        self._frames = frames.Reader()
        self._answer: dict[str, Any] | None = None
        self._lost = self._closed = False
        self._waits: dict[asyncio.Future[None], tuple[list[int], list[int]]] = {}
        self._take(heard)

    @property
    def exit_signal(self) -> int | None:
        return None if self._answer is None else self._answer.get("signal")

    # -- input --------------------------------------------------------------------------------

    async def send(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest and self._input >= 0:
            try:
                rest = rest[os.write(self._input, rest) :]
            except BlockingIOError:
                await self._wait([], [self._input])
            except OSError:
                await self.send_eof()  # nobody reads it any more

    async def send_eof(self) -> None:
        if self._input >= 0:
            self._forget(self._input)
            os.close(self._input)
            self._input = -1

    async def signal(self, number: int) -> None:
        if not self._closed:
            with contextlib.suppress(OSError):
                frame = frames.pack(frames.SIGNAL, bytes([number]))
                await asyncio.get_running_loop().sock_sendall(self._link, frame)

    async def resize(self, rows: int, cols: int) -> None:
        """Pipes have no size."""

    # -- output -------------------------------------------------------------------------------

    async def receive(self) -> tuple[int, bytes] | None:
        while not self._closed:
            # What was printed before it ended is all there once its end is known.
            known = self._answer is not None or self._lost
            for stream, fd in self._outputs:
                data = self._read(fd)
                if data is None:
                    continue
                if data:
                    self._outputs.reverse()  # or what fills one would hide the other
                    return stream, data
                self._end(stream, fd)
                break
            else:
                if known:
                    return self._last_word()
                await self._wait([fd for _, fd in self._outputs] + [self._link.fileno()], [])
                self._hear()
        return None

    def _read(self, fd: int) -> bytes | None:
        """None: nothing yet."""
        try:
            return os.read(fd, _MOST_READ)
        except BlockingIOError:
            return None

    def _end(self, stream: int, fd: int) -> None:
        self._outputs.remove((stream, fd))
        os.close(fd)

    def _hear(self) -> None:
        if self._closed or self._lost or self._answer is not None:
            return
        try:
            data = self._link.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._lost = not data  # the task has ended
        self._take(data)

    def _take(self, data: bytes) -> None:
        for kind, body in self._frames.feed(data):
            if kind == frames.EXIT:
                self._answer = json.loads(body)

    def _last_word(self) -> tuple[int, bytes] | None:
        if self._answer is None or not self._answer.get("error"):
            return None
        return 2, f"danlu: {self._answer.pop('error')}\n".encode()

    async def exit_code(self) -> int | None:
        while await self.receive() is not None:
            pass
        return None if self._answer is None else self._answer.get("code")

    # -- waiting ------------------------------------------------------------------------------

    async def _wait(self, read: list[int], write: list[int]) -> None:
        """Until one of them is ready, or all is closed."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            if not ready.done():
                ready.set_result(None)

        self._waits[ready] = (read, write)
        _watch(loop.add_reader, read, wake)
        _watch(loop.add_writer, write, wake)
        try:
            await ready
        finally:
            if self._waits.pop(ready, None) is not None:
                _watch(loop.remove_reader, read)
                _watch(loop.remove_writer, write)

    def _forget(self, *closing: int) -> None:
        """Nobody waits for a descriptor that is closed: its number may be another's soon."""
        loop = asyncio.get_running_loop()
        for ready, (read, write) in list(self._waits.items()):
            if not closing or {*closing} & {*read, *write}:
                del self._waits[ready]
                _watch(loop.remove_reader, read)
                _watch(loop.remove_writer, write)
                if not ready.done():
                    ready.set_result(None)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._forget()
        self._link.close()
        for fd in [fd for _, fd in self._outputs] + [self._input] * (self._input >= 0):
            os.close(fd)
        self._outputs, self._input = [], -1


def _watch(call: Callable[..., Any], fds: list[int], *callback: Callable[[], None]) -> None:
    for fd in fds:
        call(fd, *callback)


async def exec_apart(folder: str, task: int, ask: dict[str, Any]) -> PipeDuplex | KeeperDuplex:
    link = duplex.reach(folder, task)
    try:
        request = frames.pack(frames.EXEC_APART, json.dumps(ask).encode())
        await asyncio.get_running_loop().sock_sendall(link, request)
        data, pipes = await duplex.with_rights(link, _PIPES)
    except ConnectionError:  # a keeper from before there was this
        link.close()
        return await duplex.to_keeper(folder, task, frames.EXEC, ask)
    except BaseException:
        link.close()
        raise
    if len(pipes) not in (0, _PIPES):  # this process has as many files open as it may
        for fd in pipes:
            os.close(fd)
        link.close()
        raise Refused(f"task {task}: too many open files")
    return PipeDuplex(link, pipes, data)
