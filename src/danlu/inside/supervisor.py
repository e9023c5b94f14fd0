"""The main process of an environment: starts its tools when they are opened, and keeps them.

It is asked through a socket in the task's own folder, control.sock: a line of JSON, a line back.

    {"start": "lab"}                                {"ready": true, "socket": "/run/..."}
    {"start": "tensorboard", "folders": ["/logs"]}  {"error": {"en": "...", "zh": "..."}}
    {"status": 1}                                   {"tools": {...}, "kernels": {...}}
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import os
import signal
from typing import Any

from danlu.inside import commands, http
from danlu.inside.commands import Place
from danlu.inside.program import Program
from danlu.inside.words import Trouble, note

CONTROL = "control.sock"
_LONGEST_ASK = 64 * 1024
_MOST_FOLDERS = 100


def environment(words: list[str]) -> int:
    """`words`: tools to start at once."""
    return _supervise(Supervisor(Place(dict(os.environ)), ("lab", "code", "tensorboard")), words)


def tensorboard(folders: list[str]) -> int:
    return _supervise(
        Supervisor(Place(dict(os.environ)), ("tensorboard",), folders), ["tensorboard"]
    )


def _supervise(supervisor: Supervisor, at_once: list[str]) -> int:
    asyncio.run(supervisor.run(at_once))
    return 0


class Supervisor:
    """`offered`: the tools that may be started."""

    def __init__(self, place: Place, offered: tuple[str, ...], folders: list[str] = []) -> None:  # noqa: B006
        self._place = place
        self._offered = offered
        self._folders = folders or [os.getcwd()]
        self._programs: dict[str, Program] = {}

    async def run(self, at_once: list[str]) -> None:
        over = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, over.set)
        path = f"{self._place.run}/{CONTROL}"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        mask = os.umask(0o177)
        server = await asyncio.start_unix_server(self._serve, path, limit=_LONGEST_ASK)
        os.umask(mask)
        note("ready", "已就绪")
        early = [asyncio.create_task(self._start(name)) for name in at_once]
        await over.wait()
        server.close()
        for task in early:
            task.cancel()
        await asyncio.gather(*(program.end() for program in self._programs.values()))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while line := await _line(reader):
                writer.write(json.dumps(await self._answer(line)).encode() + b"\n")
                await writer.drain()
        writer.close()

    async def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            ask = json.loads(line)
            if not isinstance(ask, dict):
                raise ValueError
        except (ValueError, RecursionError):
            return Trouble("not a request", "不是请求").values()
        try:
            if "start" in ask:
                socket = await self._start(ask["start"], ask.get("folders"))
                return {"ready": True, "socket": socket}
            return {"tools": self._states(), "kernels": await self._kernels()}
        except Trouble as trouble:
            return trouble.values()

    async def _start(self, name: object, folders: object = None) -> str:
        if not isinstance(name, str) or name not in self._offered:
            raise Trouble(f"{name}: no such tool here", f"{name}：这里没有这个工具")
        if name == "tensorboard" and folders is not None:
            await self._look_into(folders)
        if name not in self._programs:
            self._programs[name] = self._program(name)
        return await self._programs[name].start()

    def _program(self, name: str) -> Program:
        if name == "lab":
            return commands.lab(self._place)
        if name == "code":
            return commands.code(self._place)
        return commands.tensorboard(self._place, self._folders)

    async def _look_into(self, folders: object) -> None:
        """TensorBoard shows these folders from now on."""
        few = isinstance(folders, list) and 0 < len(folders) <= _MOST_FOLDERS
        if not few or not all(isinstance(each, str) and each[:1] == "/" for each in folders):  # type: ignore[attr-defined]
            raise Trouble("folders: absolute paths", "folders：须为绝对路径")
        if folders == self._folders:
            return
        self._folders = list(folders)  # type: ignore[call-overload]
        before = self._programs.pop("tensorboard", None)
        if before is not None:
            await before.end()

    def _states(self) -> dict[str, dict[str, str]]:
        return {
            name: {"state": program.state, "socket": program.socket}
            for name, program in self._programs.items()
        }

    async def _kernels(self) -> dict[str, float]:
        """How many are busy and idle, and when one was last."""
        lab = self._programs.get("lab")
        found = await http.get_json(lab.socket, "/api/kernels") if lab else None
        kernels = found if isinstance(found, list) else []
        busy = sum(kernel.get("execution_state") == "busy" for kernel in kernels)
        last = max((_seconds(kernel.get("last_activity")) for kernel in kernels), default=0.0)
        return {"busy": busy, "idle": len(kernels) - busy, "last": last}


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ValueError:  # longer than any request
        return b""


def _seconds(text: object) -> float:
    try:
        return datetime.datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return 0.0
