"""Streams a backup of the running server: admins only, one at a time."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from danlu.access import audit, rules
from danlu.access.errors import Clash, NotAllowed
from danlu.access.principal import Asker
from danlu.control.controller import Controller
from danlu.engines.api import Engine, LogFile
from danlu.spec.text import Text

if TYPE_CHECKING:
    from danlu.files.backup import Source

log = logging.getLogger("danlu.services")
PIECE = 1 << 18
WAITING = 4  # chunks buffered for a slow reader

_one = threading.Lock()


class Backup:
    def __init__(self, controller: Controller) -> None:
        self._context = controller.context

    async def make(self, asks: Asker, homes: bool) -> AsyncIterator[bytes]:
        """A snapshot of the database, with the logs, settings and keys."""
        if not rules.runs_server(asks.who):
            raise NotAllowed(Text("Only an admin may do this", "只有管理员可以执行"))
        from danlu.files.backup import Source  # imported on demand to save memory

        turn = _Turn()
        context = self._context
        await context.store.write(
            lambda tx: audit.note(tx, asks, "server.backup", "server", homes=homes)
        )
        engines = context.engines.there()
        source = Source(
            context.store.database, context.settings.files, lambda: _logs(engines), homes
        )
        return _pieces(source, turn)


def _logs(engines: list[Engine]) -> Iterator[LogFile]:
    for engine in engines:
        yield from engine.export_logs()


async def _pieces(source: Source, turn: _Turn) -> AsyncIterator[bytes]:
    pipe = _Pipe(asyncio.get_running_loop())
    # Not asyncio.to_thread: the server stops even while this waits for a disk that never answers.
    worker = threading.Thread(
        target=_work, args=(source, pipe, turn), name="danlu-backup", daemon=True
    )
    worker.start()
    try:
        while (piece := await pipe.queue.get()) is not None:
            yield piece
        if pipe.failure is not None:
            raise pipe.failure  # aborts the connection, or the file would look complete
    finally:
        pipe.give_up()


def _work(source: Source, pipe: _Pipe, turn: _Turn) -> None:
    from danlu.files.backup import write_backup

    try:
        write_backup(source, pipe)
        pipe.flush()
    except _GivenUp:
        return
    except Exception as error:
        log.warning("a backup failed: %s", error)
        pipe.failure = error
    finally:
        turn.over()
        pipe.end()


class _Turn:
    """Allows one backup at a time; released even if the response is dropped before it starts."""

    def __init__(self) -> None:
        self._mine = _one.acquire(blocking=False)
        if not self._mine:
            raise Clash(
                "busy",
                Text(
                    "Another backup is in progress; wait for it to finish",
                    "另一个备份正在进行；请等待其结束",
                ),
            )

    def over(self) -> None:
        if self._mine:
            self._mine = False
            _one.release()

    __del__ = over


class _GivenUp(Exception):
    pass


class _Pipe:
    """Passes chunks from a thread to the event loop; a slow reader blocks the thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue(WAITING)
        self._loop = loop
        self._held = bytearray()
        self._gone = threading.Event()
        self.failure: Exception | None = None

    def write(self, data: bytes) -> None:
        self._held += data
        if len(self._held) >= PIECE:
            self.flush()

    def flush(self) -> None:
        if self._held:
            piece, self._held = bytes(self._held), bytearray()
            self._put(piece)

    def end(self) -> None:
        with contextlib.suppress(_GivenUp):
            self._put(None)

    def give_up(self) -> None:
        self._gone.set()

    def _put(self, piece: bytes | None) -> None:
        putting = self.queue.put(piece)
        try:
            future = asyncio.run_coroutine_threadsafe(putting, self._loop)
        except RuntimeError:  # the loop is closed: the server has stopped meanwhile
            putting.close()
            raise _GivenUp from None
        while not self._gone.is_set():
            try:
                return future.result(0.5)
            except concurrent.futures.TimeoutError:
                continue
        future.cancel()
        raise _GivenUp
