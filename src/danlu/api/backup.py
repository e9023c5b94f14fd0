"""The route that makes a backup: admins only, streamed, one at a time."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from danlu.access import audit, rules
from danlu.api.problems import ApiProblem, told
from danlu.api.services import Asks, Our

if TYPE_CHECKING:
    from danlu.control.backup import Source

router = APIRouter(tags=["platform"])
log = logging.getLogger("danlu.api")
PIECE = 1 << 18
WAITING = 4  # pieces that may wait for a slow reader

_one = threading.Lock()


@router.post(
    "/backup",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/gzip": {}}}, **told(403, 409)},
)
async def backup(
    our: Our,
    asks: Asks,
    homes: Annotated[bool, Query(description="the users' own folders, too")] = False,
) -> StreamingResponse:
    """Makes a backup while everything runs.

    The answer is a file: the database as it is at one moment, the logs, the settings and the keys.
    It holds everybody's secrets. A connection that ends before the last chunk left a file that is
    not whole, and `danlu restore` says so.
    """
    if not rules.runs_server(asks.who):
        raise ApiProblem(403, "not_allowed", "Only an admin may do this", "只有管理员可以执行")
    from danlu.control.backup import Source  # on demand: with its archives it takes memory

    turn = _Turn()
    rooms = our.controller.rooms
    await rooms.store.write(lambda tx: audit.note(tx, asks, "server.backup", "server", homes=homes))
    settings = rooms.settings
    source = Source(rooms.store.database, settings.data, settings.config_file, homes)
    name = time.strftime("danlu-%Y%m%d-%H%M%S.backup")
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "no-store",
    }
    return StreamingResponse(_pieces(source, turn), media_type="application/gzip", headers=headers)


async def _pieces(source: Source, turn: _Turn) -> AsyncIterator[bytes]:
    pipe = _Pipe(asyncio.get_running_loop())
    work = asyncio.create_task(asyncio.to_thread(_work, source, pipe))
    try:
        while (piece := await pipe.queue.get()) is not None:
            yield piece
        await work  # its failure must break the connection off, or the file would look whole
    finally:
        pipe.give_up()
        with contextlib.suppress(Exception, asyncio.CancelledError):
            await work
        turn.over()


def _work(source: Source, pipe: _Pipe) -> None:
    from danlu.control.backup import write_backup

    try:
        write_backup(source, pipe)
        pipe.flush()
    except _GivenUp:
        return
    except Exception as error:
        log.warning("a backup failed: %s", error)
        raise
    finally:
        pipe.end()


class _Turn:
    """One backup at a time; over also when the answer was dropped before it began."""

    def __init__(self) -> None:
        self._mine = _one.acquire(blocking=False)
        if not self._mine:
            raise ApiProblem(
                409,
                "busy",
                "Another backup is being made; wait for its end",
                "另一个备份正在进行；请等待其结束",
            )

    def over(self) -> None:
        if self._mine:
            self._mine = False
            _one.release()

    __del__ = over


class _GivenUp(Exception):
    pass


class _Pipe:
    """From a thread to the event loop; the thread waits for a reader that is slow."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue(WAITING)
        self._loop = loop
        self._held = bytearray()
        self._gone = threading.Event()

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
        future = asyncio.run_coroutine_threadsafe(self.queue.put(piece), self._loop)
        while not self._gone.is_set():
            try:
                return future.result(0.5)
            except concurrent.futures.TimeoutError:
                continue
        future.cancel()
        raise _GivenUp
