"""Questions and answers between the server and its helpers: JSON lines over a unix socket.

Each side may ask; an answer names the question. A message without an answer is a notice.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from danlu.spec.text import Text

log = logging.getLogger("danlu.wire")
LONGEST = 1 << 20
Values = dict[str, Any]
Handler = Callable[[Values], Awaitable[Values]]


class Rejected(Exception):
    """The other side says no, with a sentence."""

    def __init__(self, text: Text, code: str = "") -> None:
        super().__init__(text.en)
        self.text = text
        self.code = code


class Gone(Exception):
    """The connection was lost: the answer is not known."""


class Peer:
    """One end of a connection. `run` serves it until it is lost."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        handlers: Mapping[str, Handler],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._handlers = handlers
        self._numbers = itertools.count()
        self._asked: dict[int, asyncio.Future[Values]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._gone = False

    async def ask(self, what: str, **values: Any) -> Values:
        """Raises Rejected or Gone."""
        number = next(self._numbers)
        answer: asyncio.Future[Values] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        try:
            self._send({"ask": what, "id": number, **values})
            return await answer
        finally:
            self._asked.pop(number, None)

    async def run(self) -> None:
        try:
            while line := await self._reader.readline():
                self._take(json.loads(line))
        except (ConnectionError, ValueError, asyncio.LimitOverrunError):
            pass
        finally:
            self.close()

    def close(self) -> None:
        self._gone = True
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(Gone())
        for task in list(self._tasks):
            task.cancel()
        self._writer.close()

    def _take(self, message: Values) -> None:
        if "ask" in message:
            task = asyncio.create_task(self._answer(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        answer = self._asked.get(int(message["id"]))
        if answer is None or answer.done():
            return
        if "no" in message:
            no = message["no"]
            answer.set_exception(Rejected(Text(no["en"], no["zh"]), no.get("code", "")))
        else:
            answer.set_result(message["yes"])

    async def _answer(self, message: Values) -> None:
        handler = self._handlers.get(str(message.pop("ask")))
        number = message.pop("id")
        try:
            if handler is None:
                raise Rejected(Text("not known here", "此处不支持"))
            answer: Values = {"id": number, "yes": await handler(message)}
        except Rejected as no:
            words = {"en": no.text.en, "zh": no.text.zh, "code": no.code}
            answer = {"id": number, "no": words}
        except Exception:
            log.exception("a question of the other side")
            words = {"en": "internal error", "zh": "内部错误", "code": "internal"}
            answer = {"id": number, "no": words}
        with contextlib.suppress(Gone):
            self._send(answer)

    def _send(self, message: Values) -> None:
        if self._gone:
            raise Gone
        self._writer.write(json.dumps(message).encode() + b"\n")
