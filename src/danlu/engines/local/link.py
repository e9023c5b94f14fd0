"""The client of the spawner: starts it, talks to it, restarts it if it dies."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import danlu
from danlu.engines.api import InDoubt, Unreachable
from danlu.engines.local.keeper.frames import LENGTH

_CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from danlu.engines.local.keeper.spawner import main; main(int(sys.argv[2]))"
)
Ended = Callable[[list[tuple[str, int]]], None]  # tasks (attempt, index) that have ended
_ROOT = str(Path(danlu.__file__).resolve().parents[1])


class _Wire(asyncio.Protocol):
    """Length-prefixed JSON. Answers come in the order of the requests, with events in between."""

    def __init__(self, on_ended: Ended) -> None:
        self._on_ended = on_ended
        self.transport: asyncio.Transport | None = None
        self.waiting: list[asyncio.Future[dict[str, Any]]] = []
        self.lost = asyncio.Event()
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # No isinstance: uvloop's transports do not derive from asyncio's.
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(self._buffer)[0]
            if len(self._buffer) < end:
                return
            answer = json.loads(self._buffer[LENGTH.size : end])
            del self._buffer[:end]
            if "ended" in answer:
                self._on_ended(answer["ended"])
                continue
            waiter = self.waiting.pop(0)
            if not waiter.done():
                waiter.set_result(answer)

    def connection_lost(self, _: Exception | None) -> None:
        self.lost.set()
        for waiter in self.waiting:
            if not waiter.done():
                waiter.set_exception(InDoubt("the spawner exited before it answered"))
        self.waiting.clear()

    def ask(self, body: bytes) -> asyncio.Future[dict[str, Any]]:
        assert self.transport is not None
        waiter: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.waiting.append(waiter)
        self.transport.write(LENGTH.pack(len(body)) + body)
        return waiter


class SpawnerClient:
    def __init__(self, hello: dict[str, Any], on_ended: Ended) -> None:
        self._on_ended = on_ended
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._hello = json.dumps(hello | {"files": [soft, hard]}).encode()
        self._wire: _Wire | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._starting = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def start(self) -> dict[str, Any]:
        ours, theirs = socket.socketpair()
        fd = theirs.fileno()
        words = [sys.executable, "-I", "-S", "-c", _CODE, _ROOT, str(fd), "danlu-spawner"]
        try:
            self._process = subprocess.Popen(  # noqa: ASYNC220 - only at start-up
                words,
                pass_fds=(fd,),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=os.environ | {"LD_BIND_NOW": "1"},  # else every keeper binds symbols itself
            )
        except OSError as error:
            ours.close()
            raise Unreachable(f"the spawner cannot be started: {error.strerror}") from error
        finally:
            theirs.close()
        ours.setblocking(False)
        loop = asyncio.get_running_loop()
        _, self._wire = await loop.create_unix_connection(lambda: _Wire(self._on_ended), sock=ours)
        try:
            return await self._wire.ask(self._hello)
        except InDoubt as error:
            code = self._process.wait()
            raise Unreachable(f"the spawner exited at start-up with status {code}") from error

    async def ask(self, payload: bytes) -> dict[str, Any]:
        """`payload` is a JSON object. Raises InDoubt if it may have been carried out."""
        wire = self._wire
        if wire is None or wire.lost.is_set():
            wire = await self._again()
        return await asyncio.shield(wire.ask(payload))

    async def _again(self) -> _Wire:
        async with self._starting:
            if self._wire is None or self._wire.lost.is_set():
                self._bury()
                await self.start()
            assert self._wire is not None
            return self._wire

    def _bury(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.wait()

    async def close(self) -> None:
        """Its keepers keep running."""
        if self._wire is not None and self._wire.transport is not None:
            self._wire.transport.close()
        if self._process is not None:
            await asyncio.to_thread(self._process.wait)
