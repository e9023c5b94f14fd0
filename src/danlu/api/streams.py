"""WebSockets into a task: its input, and commands inside it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Coroutine
from typing import Any

from fastapi import APIRouter, WebSocket, WebSocketDisconnect

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import AccessError
from danlu.access.principal import Asker
from danlu.api.jobs import several
from danlu.api.problems import ApiProblem
from danlu.api.services import Services, socket_asker
from danlu.engines.api import Duplex, InDoubt, Refused, TaskRef, Tty, Unreachable
from danlu.store.errors import StoreError
from danlu.store.rows import JobRow

router = APIRouter(prefix="/jobs", tags=["streams"])

Command = tuple[list[str], Tty | None] | None
"""What to run inside, and at which terminal; None: the task's own input."""

INPUT, STDOUT, STDERR, RESIZE, EXIT, END_OF_INPUT = 0, 1, 2, 3, 4, 5
_REFUSED = 4403
_NOT_THERE = 4404
_LATEST_START = 24 * 3600.0


@router.websocket("/{ref}/attach")
async def attach(socket: WebSocket, ref: str, task: int = 0) -> None:
    """Input only: what the task prints is its log. Waits for the task to start."""
    await _serve(socket, ref, task, None)


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
) -> None:
    """Runs a command inside the task."""
    words = _words(argv)
    if words is None:
        en, zh = "argv: not a JSON list of words", "argv：不是由词组成的 JSON 列表"
        await _refuse(socket, _REFUSED, en, zh)
        return
    terminal = Tty(_side(rows), _side(cols), _plain(term)) if tty else None
    await _serve(socket, ref, task, (words, terminal))


async def _serve(socket: WebSocket, ref: str, task: int, command: Command) -> None:
    our: Services = socket.app.state.services
    try:
        asker = await socket_asker(socket)
        row = await _enterable(our, asker, ref)
        place = await _running(our, row.id, task, wait=command is None)
        if command is None:
            duplex = await our.controller.rooms.engine.attach(place)
        else:
            duplex = await our.controller.rooms.engine.exec(place, command[0], command[1])
    except (ApiProblem, AccessError) as problem:
        denied = problem.status in (401, 403, 429)
        await _refuse(socket, _REFUSED if denied else _NOT_THERE, problem.en, problem.zh)
        return
    except StoreError as trouble:
        await _refuse(socket, _NOT_THERE, trouble.en, trouble.zh)
        return
    except (Refused, Unreachable, InDoubt, OSError) as trouble:
        await _refuse(socket, _NOT_THERE, str(trouble), str(trouble))
        return
    await socket.accept()
    barred = our.gate.barred(asker.who, lambda now: rules.enters_job(now, row.owner))
    await asyncio.gather(_relay(socket, duplex, barred), _noted(our, asker, row, task, command))


async def _noted(our: Services, asker: Asker, row: JobRow, task: int, command: Command) -> None:
    """The input of one's own job, as `danlu run` has it, is the job itself: nobody went in."""
    if command is None and asker.name == row.owner:
        return
    act = "job.attached" if command is None else "job.entered"
    await our.controller.rooms.store.write(
        lambda tx: note(tx, asker, act, row.ref, task=task, words=_shown(command))
    )


async def _enterable(our: Services, asker: Asker, ref: str) -> JobRow:
    row = (await several(our, asker.who, ref))[0]
    if not rules.enters_job(asker.who, row.owner):
        raise ApiProblem(
            403,
            "not_allowed",
            f"only {row.owner} or an admin may do this",
            f"只有 {row.owner} 或管理员可以执行",
        )
    return row


async def _running(our: Services, job_id: str, task: int, wait: bool) -> TaskRef:
    rooms = our.controller.rooms
    while True:
        waiter = rooms.bulletin.subscribe(job_id)
        job = rooms.jobs.get(job_id)
        if job is not None and job.launched and job.attempt is not None:
            rooms.bulletin.unsubscribe(job_id, waiter)
            if not 0 <= task < len(job.shapes):
                raise ApiProblem(404, "not_found", f"It has no task {task}", f"没有子任务 {task}")
            return TaskRef(job.attempt.id, task, job_id)
        if job is None or not wait:
            rooms.bulletin.unsubscribe(job_id, waiter)
            raise ApiProblem(409, "not_running", "It is not running", "它没有在运行")
        await rooms.bulletin.wait(job_id, waiter, _LATEST_START)


async def _relay(
    socket: WebSocket, duplex: Duplex, until_barred: Coroutine[Any, Any, None]
) -> None:
    inward = asyncio.create_task(_inward(socket, duplex))
    outward = asyncio.create_task(_outward(socket, duplex))
    barred = asyncio.create_task(until_barred)
    try:
        await asyncio.wait({inward, outward, barred}, return_when=asyncio.FIRST_COMPLETED)
        if barred.done():
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):
                await socket.close(_REFUSED, "not allowed any more")
        elif outward.done():
            with contextlib.suppress(Exception):
                code = await duplex.exit_code()
                await socket.send_bytes(bytes([EXIT]) + json.dumps({"code": code}).encode())
                await socket.close()
    finally:
        for task in (inward, outward, barred):
            task.cancel()
        await asyncio.gather(inward, outward, barred, return_exceptions=True)
        await duplex.close()


async def _inward(socket: WebSocket, duplex: Duplex) -> None:
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
    except (WebSocketDisconnect, OSError, ValueError, KeyError, TypeError):
        return


async def _outward(socket: WebSocket, duplex: Duplex) -> None:
    with contextlib.suppress(WebSocketDisconnect, OSError, RuntimeError):
        while (piece := await duplex.receive()) is not None:
            stream, data = piece
            await socket.send_bytes(bytes([STDERR if stream == 2 else STDOUT]) + data)


async def _refuse(socket: WebSocket, code: int, en: str, zh: str) -> None:
    # Accepted first: a client of a refused handshake would never see the reason.
    await socket.accept()
    # A reason has room for one language.
    why = zh if socket.headers.get("accept-language", "").lower().startswith("zh") else en
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):
        await socket.close(code, why.encode()[:120].decode("utf-8", "ignore"))


def _shown(command: Command) -> str:
    """The program's name only: its arguments may hold secrets."""
    return "" if command is None else command[0][0][:200]


def _words(argv: str) -> list[str] | None:
    try:
        words: Any = json.loads(argv)
    except ValueError:
        return None
    good = isinstance(words, list) and words and all(_passable(word) for word in words)
    return words if good else None


def _passable(word: Any) -> bool:
    """Whether a program can be given this as an argument at all."""
    surrogate = isinstance(word, str) and any("\ud800" <= char <= "\udfff" for char in word)
    return isinstance(word, str) and "\0" not in word and not surrogate


def _side(cells: int) -> int:
    return max(1, min(cells, 65535))


def _plain(term: str) -> str:
    good = term.isascii() and term.isprintable() and 0 < len(term) <= 64
    return term if good else "xterm"
