"""The server's end: what the gateway asks about people and tasks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from danlu.access.errors import AccessError
from danlu.access.principal import Asker, Principal
from danlu.gateway.door_answers import DoorAnswers
from danlu.services.doors import Doors
from danlu.services.strips import Strips
from danlu.services.values import StoreError
from danlu.services.web_doors import WebDoors
from danlu.spec.text import Text
from danlu.wire import Gone, Handler, Peer, Rejected, Values


class Answers:
    """For one connected gateway."""

    def __init__(self, doors: Doors, web: WebDoors, strips: Strips) -> None:
        self._doors = doors
        self._web = DoorAnswers(web, strips)
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._inside: dict[str, Asker] = {}  # by session
        self._leave: dict[str, Callable[[], None]] = {}  # likewise
        self._peer: Peer | None = None

    def serve(self, peer: Peer) -> None:
        """Whom to tell when access ends."""
        self._peer = self._web.peer = peer

    def handlers(self) -> dict[str, Handler]:
        return {
            "key": _plain(self._key),
            "sign-in": _plain(self._sign_in),
            "enter": _plain(self._enter),
            "watch": _plain(self._watch),
            "left": _plain(self._left),
            "door-enter": _plain(self._web.enter),
            "door-visit": _plain(self._web.visit),
            "door-left": _plain(self._web.left),
            "door-list": _plain(self._web.doors),
            "strip": _plain(self._web.strip),
        }

    async def close(self, gone: bool) -> None:
        """`gone`: the gateway has ended, and with it all its connections."""
        self._web.close()
        for task in self._watching.values():
            task.cancel()
        for leave in self._leave.values():
            leave()
        for asks in self._inside.values() if gone else ():
            await self._doors.left(asks)

    async def _key(self, ask: Values) -> Values:
        return {"known": await self._doors.knows_key(str(ask["user"]), str(ask["fingerprint"]))}

    async def _sign_in(self, ask: Values) -> Values:
        name, address = str(ask["user"]), str(ask["address"])
        if "password" in ask:
            asks = await self._doors.by_password(name, str(ask["password"]), address)
        else:
            asks = await self._doors.by_key(name, str(ask["fingerprint"]), address)
        self._inside[asks.who.token_id] = asks
        return {"session": asks.who.token_id, "user": asks.who.user_id}

    async def _enter(self, ask: Values) -> Values:
        asks = await self._doors.again(_asker(ask))
        way = await self._doors.enter(asks, str(ask["job"]))
        return {
            "reach": dict(way.reach),
            "attempt": way.task.attempt_id,
            "task": way.task.task,
            "handle": way.task.handle,
            "job": way.ref,
            "job_id": way.job_id,
            "owner": way.owner,
            "shell_env": dict(way.env),
        }

    async def _watch(self, ask: Values) -> Values:
        """Tells the gateway when somebody who is inside loses access."""
        asks, owner, job = _asker(ask), str(ask["owner"]), str(ask["job_id"])
        key = asks.who.token_id
        self._inside[key] = asks
        if key not in self._watching:
            self._leave[key] = self._doors.present(job)
            self._watching[key] = asyncio.create_task(self._cut_off(asks, owner, job))
        return {}

    async def _cut_off(self, asks: Asker, owner: str, job: str) -> None:
        await self._doors.barred(asks, owner, job)
        with contextlib.suppress(Gone, Rejected):
            if self._peer is not None:
                await self._peer.ask("cut", session=asks.who.token_id)

    async def _left(self, ask: Values) -> Values:
        asks = _asker(ask)
        self._inside.pop(asks.who.token_id, None)
        watching = self._watching.pop(asks.who.token_id, None)
        if watching is not None:
            watching.cancel()
        leave = self._leave.pop(asks.who.token_id, None)
        if leave is not None:
            leave()
        await self._doors.left(asks)
        return {}


def _asker(ask: Values) -> Asker:
    who = Principal(str(ask["name"]), user_id=str(ask["user"]), token_id=str(ask["session"]))
    return Asker(who, str(ask["address"]))


def _plain(call: Callable[[Values], Awaitable[Values]]) -> Handler:
    async def answered(ask: Values) -> Any:
        try:
            return await call(ask)
        except AccessError as no:
            raise Rejected(no.message, no.code) from no
        except StoreError as trouble:
            raise Rejected(trouble.message, "store") from trouble
        except (KeyError, TypeError, ValueError) as error:
            raise Rejected(Text(f"bad request: {error}", f"请求有误：{error}")) from error

    return answered
