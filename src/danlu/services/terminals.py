"""Terminals that survive a reload of the page: kept for a while after their connection is gone."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from danlu.engines.api import Duplex

KEEP_SECONDS = 120.0
_KEPT_BYTES = 128 * 1024
_AHEAD = 64  # pieces a slow reader may lag behind before the shell has to wait

Piece = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class TerminalKey:
    """Nobody gets into another user's terminal, whatever name they know."""

    user: str
    job_id: str
    task: int
    name: str


class Terminal:
    """One shell, read by at most one connection at a time."""

    def __init__(self, duplex: Duplex, ended: Callable[[], None]) -> None:
        self.duplex = duplex
        self._ended = ended
        self._kept: deque[Piece] = deque()
        self._size = 0
        self._view: View | None = None
        self._closing: asyncio.TimerHandle | None = None
        self._pump = asyncio.create_task(self._read())
        self._closed: asyncio.Task[None] | None = None

    def view(self) -> View:
        """A new reader. It gets what was printed last first; an earlier reader is cut off."""
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None
        if self._view is not None:
            self._view.cut_off()
        self._view = View(self, list(self._kept), self._pump.done())
        return self._view

    def left(self, view: View, keep: bool) -> None:
        if self._view is not view:
            return  # another connection has taken over
        self._view = None
        view.cut_off()
        if not keep or self._pump.done():
            self.close()
        else:
            loop = asyncio.get_running_loop()
            self._closing = loop.call_later(KEEP_SECONDS, self.close)

    def close(self) -> None:
        if self._closed is None:
            self._closed = asyncio.create_task(self._close())

    async def closed(self) -> None:
        """Waits for the end of one that is being closed."""
        if self._closed is not None:
            await self._closed

    async def _close(self) -> None:
        self._ended()
        self._pump.cancel()
        await asyncio.gather(self._pump, return_exceptions=True)
        if self._view is not None:
            self._view.cut_off()
        await self.duplex.close()

    async def _read(self) -> None:
        with contextlib.suppress(OSError):
            while (piece := await self.duplex.receive()) is not None:
                self._kept.append(piece)
                self._size += len(piece[1])
                while self._size > _KEPT_BYTES and len(self._kept) > 1:
                    self._size -= len(self._kept.popleft()[1])
                if self._view is not None:
                    await self._view.put(piece)
        if self._view is not None:
            await self._view.put(None)
        else:
            self.close()


class View:
    """The duplex that a connection reads and writes: what is kept first, then what comes."""

    def __init__(self, terminal: Terminal, kept: list[Piece], over: bool) -> None:
        self._terminal = terminal
        self._pieces: asyncio.Queue[Piece | None] = asyncio.Queue(_AHEAD)
        self._kept = deque(kept)
        self._over = over
        self._cut = asyncio.Event()

    async def put(self, piece: Piece | None) -> None:
        putting = asyncio.create_task(self._pieces.put(piece))
        cut = asyncio.create_task(self._cut.wait())
        await asyncio.wait({putting, cut}, return_when=asyncio.FIRST_COMPLETED)
        putting.cancel()
        cut.cancel()

    def cut_off(self) -> None:
        self._cut.set()

    async def receive(self) -> Piece | None:
        if self._kept:
            return self._kept.popleft()
        if self._over:
            return None
        getting = asyncio.create_task(self._pieces.get())
        cut = asyncio.create_task(self._cut.wait())
        try:
            await asyncio.wait({getting, cut}, return_when=asyncio.FIRST_COMPLETED)
            if getting.done():
                return getting.result()
            return None
        finally:
            getting.cancel()
            cut.cancel()

    async def send(self, data: bytes) -> None:
        await self._terminal.duplex.send(data)

    async def send_eof(self) -> None:
        await self._terminal.duplex.send_eof()

    async def resize(self, rows: int, cols: int) -> None:
        await self._terminal.duplex.resize(rows, cols)

    async def signal(self, number: int) -> None:
        await self._terminal.duplex.signal(number)

    @property
    def exit_signal(self) -> int | None:
        return self._terminal.duplex.exit_signal

    async def exit_code(self) -> int | None:
        if self._cut.is_set():
            raise OSError("another page has taken over this terminal")
        return await self._terminal.duplex.exit_code()

    async def close(self) -> None:
        """Ends the shell for good."""
        self._terminal.left(self, keep=False)
        await self._terminal.closed()

    def leave(self) -> None:
        """The connection is gone; the shell stays for a while."""
        self._terminal.left(self, keep=True)


class Terminals:
    def __init__(self) -> None:
        self._open: dict[TerminalKey, Terminal] = {}

    def find(self, key: TerminalKey) -> Terminal | None:
        return self._open.get(key)

    def add(self, key: TerminalKey, duplex: Duplex, ended: Callable[[], None]) -> Terminal:
        def gone() -> None:
            if self._open.get(key) is terminal:
                del self._open[key]
            ended()

        terminal = self._open[key] = Terminal(duplex, gone)
        return terminal
