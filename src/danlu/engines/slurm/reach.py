"""Ways into tasks on compute nodes, through the doors their keepers hold open.

Where a door is and what opens it is in a file of the server's own, so that the gateway finds it
without the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from danlu.engines.api import Duplex, Endpoint, Listener, Refused, Run, TaskRef, Unreachable
from danlu.engines.local.duplex import KeeperDuplex, SocketDuplex
from danlu.engines.local.keeper import frames
from danlu.engines.slurm.node import proof
from danlu.engines.slurm.node.door import ACCEPTED, TAKE, USAGE, WAKE

_CONNECTING = 10.0  # seconds
_ANSWERING = 20.0
_PATIENCE = 5.0  # seconds until a task that has just started must have a door
_LIMIT = 1 << 20

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Doors:
    """Files with the address and token of each task's door."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _path(self, attempt_id: str, task: int) -> Path:
        return self.folder / f"{attempt_id}.{task}"

    def write(self, attempt_id: str, task: int, host: str, port: int, token: str) -> None:
        path = self._path(attempt_id, task)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump({"host": host, "port": port, "token": token}, file)
        draft.rename(path)

    def read(self, attempt_id: str, task: int) -> tuple[str, int, bytes] | None:
        if "/" in attempt_id:
            return None
        try:
            values = json.loads(self._path(attempt_id, task).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return str(values["host"]), int(values["port"]), str(values["token"]).encode()

    def remove(self, attempt_id: str, count: int) -> None:
        for task in range(count):
            self._path(attempt_id, task).unlink(missing_ok=True)


async def knock(host: str, port: int, token: bytes) -> Streams:
    """A connection to a door, after both have shown that they know the token."""
    async with asyncio.timeout(_CONNECTING):
        reader, writer = await asyncio.open_connection(host, port, limit=_LIMIT)
        try:
            challenge = await reader.readexactly(proof.SIZE)
            said, wanted = proof.answer_to(token, challenge)
            writer.write(said)
            if not proof.is_same(await reader.readexactly(proof.SIZE), wanted):
                raise ConnectionError("something else answers at the task's port")
        except BaseException:
            writer.close()
            raise
    return reader, writer


class SlurmReach:
    """`is_over`: whether it is known that a task will not listen any more."""

    def __init__(
        self, folder: str | Path, is_over: Callable[[TaskRef], bool] = lambda _: False
    ) -> None:
        self._doors = Doors(Path(folder))
        self._is_over = is_over

    async def _enter(self, task: TaskRef) -> Streams:
        limit = asyncio.get_running_loop().time() + _PATIENCE
        while True:
            if self._is_over(task):
                raise Refused(f"task {task.task} is not running")
            door = self._doors.read(task.attempt_id, task.task)
            try:
                if door is not None:
                    return await knock(*door)
                trouble = "it has not started"
            except (OSError, EOFError, TimeoutError) as error:
                trouble = str(error) or type(error).__name__
            if asyncio.get_running_loop().time() > limit:
                raise Refused(f"task {task.task} cannot be reached: {trouble}")
            await asyncio.sleep(0.05)

    async def _ask(self, task: TaskRef, kind: bytes, ask: dict[str, Any]) -> Streams:
        reader, writer = await self._enter(task)
        writer.write(frames.pack(kind, json.dumps(ask).encode()))
        await writer.drain()
        return reader, writer

    async def attach(self, task: TaskRef) -> Duplex:
        return KeeperDuplex(*await self._ask(task, frames.ATTACH, {}))

    async def exec(self, task: TaskRef, run: Run) -> Duplex:
        if not run.words and not run.files:
            raise Refused("exec needs a command")
        tty = run.tty
        ask = {
            "argv": run.words,
            "tty": None if tty is None else {"rows": tty.rows, "cols": tty.cols, "term": tty.term},
            "env": dict(run.env),
            "cwd": run.cwd,
            "shell": run.shell,
            "files": run.files,
            "keep": None if run.keep is None else [run.keep.user, run.keep.name],
        }
        return KeeperDuplex(*await self._ask(task, frames.EXEC, ask))

    async def hang_up(self, task: TaskRef, user: str) -> None:
        link = KeeperDuplex(*await self._ask(task, frames.HANG_UP, {"user": user}))
        await link.exit_code()
        await link.close()

    async def connect(self, task: TaskRef, to: Endpoint) -> Duplex:
        streams, _ = await self._open(task, frames.CONNECT, to)
        return SocketDuplex(*streams)

    async def listen(self, task: TaskRef, at: Endpoint) -> Listener:
        streams, answer = await self._open(task, frames.LISTEN, at)
        address = answer.get("address")
        if isinstance(address, list):
            where = Endpoint(int(address[1]), str(address[0]))
        else:
            where = Endpoint(path=str(address))
        return DoorListener(streams, where, lambda key: self._ask(task, TAKE, {"key": key}))

    async def _open(
        self, task: TaskRef, kind: bytes, where: Endpoint
    ) -> tuple[Streams, dict[str, Any]]:
        ask = {"port": where.port, "host": where.host, "path": where.path}
        reader, writer = await self._ask(task, kind, ask)
        try:
            async with asyncio.timeout(_ANSWERING):
                got, answer = await read_frame(reader)
        except (OSError, EOFError, ValueError, TimeoutError) as error:
            writer.close()
            raise Refused(f"task {task.task} did not answer: {error}") from error
        if got != frames.OPENED:
            writer.close()
            raise Refused(str(answer.get("error")))
        return (reader, writer), answer


class DoorListener:
    """Connections accepted inside a task: the door tells of each, and we come for it."""

    def __init__(self, streams: Streams, endpoint: Endpoint, take: Any) -> None:
        self._reader, self._writer = streams
        self._take = take
        self.endpoint = endpoint

    async def accept(self) -> Duplex | None:
        while True:
            try:
                kind, answer = await read_frame(self._reader)
            except (OSError, EOFError, ValueError):
                return None
            if kind == ACCEPTED:
                with contextlib.suppress(Refused):
                    return SocketDuplex(*await self._take(answer["key"]))

    async def close(self) -> None:
        self._writer.close()


async def read_frame(reader: asyncio.StreamReader) -> tuple[bytes, dict[str, Any]]:
    kind, length = frames.HEAD.unpack(await reader.readexactly(frames.HEAD.size))
    if length > frames.LIMIT:
        raise ValueError("frame too large")
    answer = json.loads(await reader.readexactly(length) or b"{}")
    if not isinstance(answer, dict):
        raise ValueError("not an answer")
    return kind, answer


async def ask_once(door: tuple[str, int, bytes], kind: bytes, patience: float) -> dict[str, Any]:
    """A short question to a door (USAGE, WAKE). Raises Unreachable."""
    try:
        async with asyncio.timeout(patience):
            reader, writer = await knock(*door)
            try:
                writer.write(frames.pack(kind, b"{}"))
                return (await read_frame(reader))[1]
            finally:
                writer.close()
    except (OSError, EOFError, ValueError, TimeoutError) as error:
        raise Unreachable(f"the door at {door[0]}:{door[1]}: {error!r}") from error


__all__ = ["USAGE", "WAKE", "Doors", "SlurmReach", "ask_once"]
