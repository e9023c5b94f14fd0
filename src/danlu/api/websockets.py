"""WebSockets into a task: its input, and commands inside it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, WebSocket, WebSocketDisconnect

from danlu.access.errors import AccessError
from danlu.access.principal import Asker
from danlu.api.dependencies import socket_asker
from danlu.api.problems import ApiProblem
from danlu.engines.api import Duplex, InDoubt, Refused, Tty, Unreachable
from danlu.services.services import Services
from danlu.services.tasks import Command, Entered
from danlu.services.values import StoreError
from danlu.spec.text import Text

router = APIRouter(prefix="/jobs", tags=["streams"])

Enter = Callable[[Services, Asker], Awaitable[Entered]]

INPUT, STDOUT, STDERR, RESIZE, EXIT, END_OF_INPUT, LEAVE = 0, 1, 2, 3, 4, 5, 6
_REFUSED = 4403
_NOT_THERE = 4404
_LONGEST_NAME = 64


@router.websocket("/{ref}/attach")
async def attach(socket: WebSocket, ref: str, task: int = 0) -> None:
    """Sends input to a task; its output is in its log. Waits for the task to start."""
    await _serve(socket, lambda our, asks: our.tasks.attach(asks, ref, task))


@router.websocket("/{ref}/exec")
async def execute(
    socket: WebSocket,
    ref: str,
    argv: str,
    task: int = 0,
    tty: bool = False,
    rows: int = 24,
    cols: int = 80,
    term: str = "xterm-256color",
    name: str = "",
) -> None:
    """Runs a command inside the task.

    A terminal with a `name` chosen by the client stays in the task when the connection is lost, or
    the server restarts: reconnecting with the same name resumes it and repeats its latest output.
    """
    words = _words(argv)
    if words is None:
        message = Text("argv: must be a JSON list of strings", "argv：不是由词组成的 JSON 列表")
        await _refuse(socket, _REFUSED, message)
        return
    if len(name) > _LONGEST_NAME:
        message = Text(
            f"name: at most {_LONGEST_NAME} characters", f"name：最多 {_LONGEST_NAME} 个字符"
        )
        await _refuse(socket, _REFUSED, message)
        return
    terminal = Tty(_side(rows), _side(cols), _plain(term)) if tty else None
    command = Command(words, terminal, name if tty else "")
    await _serve(socket, lambda our, asks: our.tasks.execute(asks, ref, task, command))


async def _serve(socket: WebSocket, enter: Enter) -> None:
    our: Services = socket.app.state.services
    try:
        entered = await enter(our, await socket_asker(socket))
    except (ApiProblem, AccessError) as problem:
        denied = problem.status in (401, 403, 429)
        await _refuse(socket, _REFUSED if denied else _NOT_THERE, problem.message)
        return
    except StoreError as trouble:
        await _refuse(socket, _NOT_THERE, trouble.message)
        return
    except (Refused, Unreachable, InDoubt, OSError) as trouble:
        await _refuse(socket, _NOT_THERE, Text(str(trouble), str(trouble)))
        return
    left = False
    try:
        await socket.accept()
        left = await _relay(socket, entered)
    finally:
        await entered.close(end_kept=left)


async def _relay(socket: WebSocket, entered: Entered) -> bool:
    """Returns whether the client is done with it, rather than lost."""
    duplex = entered.duplex
    inward = asyncio.create_task(_inward(socket, duplex))
    outward = asyncio.create_task(_outward(socket, duplex))
    barred = asyncio.create_task(entered.barred())
    try:
        await asyncio.wait({inward, outward, barred}, return_when=asyncio.FIRST_COMPLETED)
        if barred.done():
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):
                await socket.close(_REFUSED, "no longer allowed")
        elif outward.done():
            with contextlib.suppress(Exception):
                code = await duplex.exit_code()
                await socket.send_bytes(bytes([EXIT]) + json.dumps({"code": code}).encode())
                await socket.close()
        return inward.done() and inward.result()
    finally:
        for task in (inward, outward, barred):
            task.cancel()
        await asyncio.gather(inward, outward, barred, return_exceptions=True)


async def _inward(socket: WebSocket, duplex: Duplex) -> bool:
    """Returns whether the client is done with it."""
    try:
        while True:
            frame = await socket.receive_bytes()
            kind, body = frame[:1], frame[1:]
            if kind == bytes([INPUT]):
                await duplex.send(body)
            elif kind == bytes([END_OF_INPUT]):
                await duplex.send_eof()
            elif kind == bytes([RESIZE]):
                size = json.loads(body)
                await duplex.resize(int(size["rows"]), int(size["cols"]))
            elif kind == bytes([LEAVE]):
                return True
    except (WebSocketDisconnect, OSError, ValueError, KeyError, TypeError):
        return False


async def _outward(socket: WebSocket, duplex: Duplex) -> None:
    with contextlib.suppress(WebSocketDisconnect, OSError, RuntimeError):
        while (piece := await duplex.receive()) is not None:
            stream, data = piece
            await socket.send_bytes(bytes([STDERR if stream == 2 else STDOUT]) + data)


async def _refuse(socket: WebSocket, code: int, message: Text) -> None:
    # Accept first: the client of a rejected handshake would never see the reason.
    await socket.accept()
    # A reason has room for one language.
    why = message.pick(socket.headers.get("accept-language", ""))
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):
        await socket.close(code, why.encode()[:120].decode("utf-8", "ignore"))


def _words(argv: str) -> list[str] | None:
    try:
        words: Any = json.loads(argv)
    except ValueError:
        return None
    good = isinstance(words, list) and words and all(_passable(word) for word in words)
    return words if good else None


def _passable(word: Any) -> bool:
    """Whether this can be passed as a program argument."""
    surrogate = isinstance(word, str) and any("\ud800" <= char <= "\udfff" for char in word)
    return isinstance(word, str) and "\0" not in word and not surrogate


def _side(cells: int) -> int:
    return max(1, min(cells, 65535))


def _plain(term: str) -> str:
    good = term.isascii() and term.isprintable() and 0 < len(term) <= 64
    return term if good else "xterm"
