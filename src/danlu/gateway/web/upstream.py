"""Connections to the program behind a door, made inside its task."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from danlu.engines.api import Duplex, Endpoint, Reach, Refused, TaskRef
from danlu.engines.supervisor import ask
from danlu.gateway.web.streams import Source
from danlu.spec.text import Text
from danlu.wire import Rejected

_NAMES = {"lab": "JupyterLab", "code": "VS Code", "tensorboard": "TensorBoard"}
TOOLS = tuple(_NAMES)
PORT = "port "  # before the number of a door to a port
_START_PATIENCE = 60.0
_LOOK = 0.1  # seconds, for a supervisor that has just been started itself
_LONGEST_SENTENCE = 2000


@dataclass(frozen=True, slots=True)
class Way:
    """To the task behind a door."""

    reach: Reach
    task: TaskRef
    control: str  # the socket that starts tools; empty: it has none

    @property
    def key(self) -> tuple[str, int]:
        return self.task.attempt_id, self.task.task


class Dropped(Exception):
    """The program ended the connection before it answered."""


class Upstream:
    """One connection to the program."""

    def __init__(self, duplex: Duplex) -> None:
        self._duplex = duplex
        self.source = Source(self._receive)
        self.closed = False

    async def _receive(self) -> bytes:
        piece = await self._duplex.receive()
        return b"" if piece is None else piece[1]

    async def send(self, data: bytes) -> None:
        """Raises Dropped."""
        try:
            await self._duplex.send(data)
        except OSError as error:
            raise Dropped from error

    def close(self) -> None:
        """Ends what is being read from it, too."""
        if not self.closed:
            self.closed = True
            self.source.drop()
            asyncio.ensure_future(self._duplex.close())  # noqa: RUF006 - ends by itself


class Tools:
    """Where the tools of tasks listen. They are started by the first who opens them."""

    def __init__(self) -> None:
        self._starting: dict[tuple[str, int, str], asyncio.Future[str]] = {}
        self._known: dict[tuple[str, int, str], str] = {}

    async def connect(self, way: Way, target: str) -> Upstream:
        """Raises Rejected."""
        if target.startswith(PORT):
            port = int(target.removeprefix(PORT))
            return await self._to_port(way, port)
        key = (*way.key, target)
        known = self._known.get(key)
        if known is not None:
            try:
                return Upstream(await way.reach.connect(way.task, Endpoint(path=known)))
            except Refused:
                self._known.pop(key, None)  # it has ended: its supervisor starts another
        path = await self._started(way, target)
        try:
            return Upstream(await way.reach.connect(way.task, Endpoint(path=path)))
        except Refused as no:
            raise _does_not_answer(target) from no

    async def _to_port(self, way: Way, port: int) -> Upstream:
        try:
            return Upstream(await way.reach.connect(way.task, Endpoint(port)))
        except Refused as no:
            raise Rejected(
                Text(
                    f"Nothing in this job answers on port {port}. Start the program that listens "
                    "there, and reload this page",
                    f"任务中没有程序在端口 {port} 上响应。请先启动监听该端口的程序，再刷新本页",
                ),
                "nothing_there",
            ) from no

    async def _started(self, way: Way, target: str) -> str:
        """Many requests that come at once start it once."""
        key = (*way.key, target)
        starting = self._starting.get(key)
        if starting is None:
            starting = asyncio.ensure_future(_start(way, target))
            self._starting[key] = starting
            starting.add_done_callback(lambda done: self._note(key, done))
        return await asyncio.shield(starting)

    def _note(self, key: tuple[str, int, str], done: asyncio.Future[str]) -> None:
        self._starting.pop(key, None)
        if not done.cancelled() and done.exception() is None:
            self._known[key] = done.result()

    def forget_all_but(self, attempts: set[str]) -> None:
        """Those that nobody visits are asked for again."""
        for key in [key for key in self._known if key[0] not in attempts]:
            del self._known[key]


async def _start(way: Way, target: str) -> str:
    """Asks the supervisor in the task. Raises Rejected."""
    if not way.control:
        raise Rejected(
            Text(
                f"This job has no {_NAMES[target]}: only development environments start it",
                f"该任务没有 {_NAMES[target]}：只有开发环境会启动它",
            ),
            "no_tool",
        )
    try:
        async with asyncio.timeout(_START_PATIENCE):
            answer = await ask(await _supervisor(way), {"start": target})
    except (OSError, ValueError) as error:
        raise _does_not_answer(target) from error
    if not isinstance(answer, dict) or not isinstance(answer.get("socket"), str):
        raise _refusal(target, answer)
    return str(answer["socket"])


async def _supervisor(way: Way) -> Duplex:
    """The task's first program may have begun a moment ago, and not listen yet."""
    while True:
        try:
            return await way.reach.connect(way.task, Endpoint(path=way.control))
        except Refused:
            await asyncio.sleep(_LOOK)


def _refusal(target: str, answer: object) -> Rejected:
    """What the supervisor says is as trustworthy as the task: a sentence, no more."""
    no = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(no, dict) or not isinstance(no.get("en"), str):
        return _does_not_answer(target)
    en = no["en"][:_LONGEST_SENTENCE]
    zh = no["zh"][:_LONGEST_SENTENCE] if isinstance(no.get("zh"), str) else en
    return Rejected(Text(en, zh), "no_tool")


def _does_not_answer(target: str) -> Rejected:
    return Rejected(
        Text(
            f"{_NAMES[target]} does not answer yet. This page tries again by itself; the log of "
            "the job says what it is doing",
            f"{_NAMES[target]} 尚未响应。本页会自动重试；任务日志中有它的输出",
        ),
        "starting",
    )
