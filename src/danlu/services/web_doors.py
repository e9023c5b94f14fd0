"""Doors for browsers: what a job serves, opened with a one-time ticket.

The gateway serves them. It asks here who shows it a cookie, and is told when that ends.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from danlu.access.door import place_of
from danlu.access.errors import Clash, NotAllowed
from danlu.access.gate import Gate, digest_of, new_token
from danlu.access.principal import Asker, Principal
from danlu.access.tickets import Tickets
from danlu.control.context import Context
from danlu.control.life import Stage
from danlu.engines.api import Reachable, TaskRef
from danlu.engines.supervisor import CONTROL
from danlu.services.doors import Doors
from danlu.services.tasks import Tasks
from danlu.spec.job import RunAs
from danlu.spec.text import Text
from danlu.store import door_tokens
from danlu.store.rows import DoorTokenRow

LASTS = 30 * 86400.0
_LOOK_AGAIN = 3600.0
_OVER = frozenset({Stage.ENDED, Stage.CONCLUDED})

OpenDoor = Callable[[Mapping[str, Any]], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class DoorKey:
    """One door: to a tool or a port of one task."""

    job_id: str
    task: int
    target: str  # lab, code, tensorboard or `port N`

    @property
    def id(self) -> str:
        """Also part of host names and of names of cookies."""
        return hashlib.sha256(self.purpose.encode()).hexdigest()[:20]

    @property
    def purpose(self) -> str:
        """Of a ticket."""
        return f"door {self.job_id} {self.task} {self.target}"


@dataclass(frozen=True, slots=True)
class Opened:
    key: DoorKey
    port: int
    ticket: str
    domain: str  # empty: the door has no name of its own


@dataclass(frozen=True, slots=True)
class WebWay:
    """Somebody who has shown their cookie, and how the gateway gets to the task."""

    asks: Asker
    owner: str
    job_id: str
    task: TaskRef
    reach: Mapping[str, str]
    control: str  # the socket that starts tools; empty: it has none


class WebDoors:
    def __init__(
        self, context: Context, gate: Gate, tickets: Tickets, tasks: Tasks, doors: Doors
    ) -> None:
        self._context = context
        self._gate = gate
        self._tickets = tickets
        self._tasks = tasks
        self._doors = doors
        self.open_door: OpenDoor | None = None
        """Has the gateway listen; set by the server. None: web doors are off."""
        self.expect_visitors: Callable[[], None] = lambda: None
        """Has the gateway start, for doors that will be opened soon; set by the server."""
        self.domain = ""

    async def open(self, asks: Asker, ref: str, task: int, target: str) -> Opened:
        """Raises AccessError: no such task, not running, not theirs."""
        row, place, engine = await self._tasks.find(asks, ref, task)
        if self.open_door is None:
            raise Clash(
                "web_off",
                Text(
                    "This server has no web doors; ask an admin about server.web",
                    "该服务器没有开放网页入口；请向管理员询问 server.web",
                ),
            )
        if not isinstance(engine, Reachable):
            raise Clash(
                "no_door",
                Text(
                    f"{row.ref} runs where web doors do not reach",
                    f"网页入口无法到达 {row.ref} 所在的位置",
                ),
            )
        key = DoorKey(row.id, place.task, target)
        door = {"door": key.id, "job": row.id, "ref": row.ref, "owner": row.owner}
        port = await self.open_door({**door, "task": place.task, "target": target})
        return Opened(key, port, self._tickets.make(asks.who, key.purpose), self.domain)

    async def enter(self, ticket: str, key: DoorKey, address: str) -> str:
        """A ticket becomes the secret of a cookie."""
        who = await self._tickets.redeem(ticket, key.purpose)
        if who is None:
            self._gate.door.wrong_token(address)
            raise NotAllowed(
                Text(
                    "This link has been used or has expired. Open the page from Danlu again",
                    "该链接已被使用或已过期。请从丹炉页面重新打开",
                ),
                "not_signed_in",
            )
        asks = Asker(who, address)
        row, place, _ = await self._tasks.find(asks, key.job_id, key.task)
        secret, now = new_token(), time.time()
        made = DoorTokenRow(
            digest_of(secret),
            who.token_id,
            who.user_id,
            key.job_id,
            key.task,
            key.target,
            address,
            now,
            now + LASTS,
        )
        await self._context.store.write(lambda tx: door_tokens.add(tx, made))
        await self._tasks.note_entered(asks, row.ref, place.task, f"web {key.target}")
        return secret

    async def visit(self, digest: str, door: str, address: str, encrypted: bool) -> WebWay:
        """Whose cookie it is, and the way into the task."""
        row = await self._context.store.read(lambda tx: door_tokens.get(tx, digest))
        if row is None:
            self._gate.door.wrong_token(address)
        if row is None or row.expires_at < time.time() or _key(row).id != door:
            raise _not_signed_in()
        if not encrypted and place_of(row.address) != place_of(address):
            raise _not_signed_in()
        asks = Asker(Principal("", user_id=row.user_id, token_id=row.token_id), address)
        asks = await self._doors.again(asks)
        job, place, engine = await self._tasks.find(asks, row.job_id, row.task)
        if not isinstance(engine, Reachable):
            raise _not_signed_in()
        control = CONTROL if self._has_tools(job.id) else ""
        return WebWay(asks, job.owner, job.id, place, engine.reach_settings(), control)

    def _has_tools(self, job_id: str) -> bool:
        job = self._context.jobs.get(job_id)
        return job is not None and job.spec.roles[0].command.run_as is RunAs.TOOL

    def present(self, job_id: str) -> Callable[[], None]:
        """Somebody is at a door; returns what to call when they have left."""
        return self._doors.present(job_id)

    async def ended(self, way: WebWay) -> None:
        """Returns when somebody loses access, or the attempt they are in is over."""
        ends = {
            asyncio.ensure_future(self._doors.barred(way.asks, way.owner, way.job_id)),
            asyncio.ensure_future(self._attempt_over(way)),
        }
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in ends:
                each.cancel()

    async def _attempt_over(self, way: WebWay) -> None:
        await self._until(way.job_id, way.task.attempt_id)

    async def job_over(self, job_id: str) -> None:
        """Returns when a job has ended for good."""
        await self._until(job_id, None)

    async def _until(self, job_id: str, attempt_id: str | None) -> None:
        notifier = self._context.notifier
        while True:
            waiter = notifier.subscribe(job_id)
            if self._is_over(job_id, attempt_id):
                notifier.unsubscribe(job_id, waiter)
                return
            await notifier.wait(job_id, waiter, _LOOK_AGAIN)

    def is_over(self, job_id: str) -> bool:
        return self._context.jobs.get(job_id) is None

    def _is_over(self, job_id: str, attempt_id: str | None) -> bool:
        job = self._context.jobs.get(job_id)
        if job is None:
            return True
        if attempt_id is None:
            return False
        return job.attempt is None or job.attempt.id != attempt_id or job.stage in _OVER


def _key(row: DoorTokenRow) -> DoorKey:
    return DoorKey(row.job_id, row.task, row.target)


def _not_signed_in() -> NotAllowed:
    return NotAllowed(
        Text(
            "You are not signed in here. Open this page from Danlu, or with danlu open",
            "尚未登录。请从丹炉页面打开，或使用 danlu open",
        ),
        "not_signed_in",
    )
