"""The server's end for web doors: who shows a cookie, and when that ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from danlu.services.strips import Strip, Strips
from danlu.services.web_doors import LASTS, DoorKey, WebDoors, WebWay
from danlu.wire import Gone, Peer, Rejected, Values


class DoorAnswers:
    """For one connected gateway."""

    def __init__(self, doors: WebDoors, strips: Strips) -> None:
        self._doors = doors
        self._strips = strips
        self._watching: dict[str, asyncio.Task[None]] = {}  # by cookie or door
        self.peer: Peer | None = None

    def close(self) -> None:
        for task in self._watching.values():
            task.cancel()

    async def enter(self, ask: Values) -> Values:
        key = DoorKey(str(ask["job"]), int(ask["task"]), str(ask["target"]))
        token = await self._doors.enter(str(ask["ticket"]), key, str(ask["address"]))
        return {"token": token, "lasts": LASTS}

    async def visit(self, ask: Values) -> Values:
        digest = str(ask["digest"])
        way = await self._way(ask)
        self._watch(digest, self._cut_off(digest, way))
        return {
            "user": way.asks.name,
            "reach": dict(way.reach),
            "attempt": way.task.attempt_id,
            "task": way.task.task,
            "handle": way.task.handle,
            "control": way.control,
        }

    async def strip(self, ask: Values) -> Values:
        """Who only looks at the strip is not present for that."""
        way, act = await self._way(ask), str(ask["act"])
        return _strip(await (self._strips.act(way, act) if act else self._strips.show(way)))

    async def _way(self, ask: Values) -> WebWay:
        return await self._doors.visit(
            str(ask["digest"]), str(ask["door"]), str(ask["address"]), bool(ask["encrypted"])
        )

    async def left(self, ask: Values) -> Values:
        self._end(str(ask["digest"]))
        return {}

    async def doors(self, ask: Values) -> Values:
        """Which of these lead nowhere any more; of the others it is told later."""
        over = []
        for each in ask["doors"]:
            id, job = str(each["id"]), str(each["job"])
            if self._doors.is_over(job):
                over.append(id)
            else:
                self._watch(f"door {id}", self._close(id, job))
        return {"over": over}

    def _watch(self, key: str, work: Coroutine[Any, Any, None]) -> None:
        """In place of what was watched before: the way may be another now."""
        self._end(key)
        task = asyncio.create_task(work)
        self._watching[key] = task
        task.add_done_callback(lambda done: self._ended(key, done))

    def _ended(self, key: str, done: asyncio.Task[None]) -> None:
        if self._watching.get(key) is done:
            del self._watching[key]

    def _end(self, key: str) -> None:
        if (task := self._watching.pop(key, None)) is not None:
            task.cancel()

    async def _cut_off(self, digest: str, way: WebWay) -> None:
        leave = self._doors.present(way.job_id)
        try:
            await self._doors.ended(way)
        finally:
            leave()
        await self._tell("door-cut", digest=digest)

    async def _close(self, id: str, job: str) -> None:
        await self._doors.job_over(job)
        await self._tell("door-over", door=id)

    async def _tell(self, what: str, **values: str) -> None:
        with contextlib.suppress(Gone, Rejected):
            if self.peer is not None:
                await self.peer.ask(what, **values)


def _strip(strip: Strip) -> Values:
    return {
        "owner": strip.owner,
        "name": strip.name,
        "ends_in": strip.ends_in,
        "idle_in": strip.idle_in,
        "doing": strip.doing.values(),
        "acts": strip.acts,
        "saves": strip.saves,
    }
