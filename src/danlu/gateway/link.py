"""The gateway's end of the connection to the server, which may be away for a while."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from danlu.spec.text import Text
from danlu.wire import LONGEST, Gone, Handler, Peer, Rejected, Values

_PATIENCE = 20.0  # seconds that a question waits for a server that restarts
_AGAIN = 0.2
_Result = TypeVar("_Result")


@dataclass(slots=True)
class Session:
    """Somebody who has signed in."""

    id: str
    name: str
    user: str
    address: str
    jobs: dict[str, str] = field(default_factory=dict)  # that they are in, and whose these are

    def values(self) -> Values:
        return {"session": self.id, "name": self.name, "user": self.user, "address": self.address}


class Link:
    def __init__(self, path: str, version: str) -> None:
        self._path = path
        self._version = version
        self._peer: Peer | None = None
        self._there = asyncio.Event()
        self._sessions: dict[str, Session] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self.away_since: float | None = time.monotonic()
        self.on_cut: Callable[[str], None] = lambda _: None
        self.on_drain: Callable[[], None] = lambda: None
        self.handlers: dict[str, Handler] = {"cut": self._cut, "drain": self._drain}
        self.on_connected: list[Callable[[Peer], Awaitable[None]]] = []

    async def run(self) -> None:
        while True:
            with contextlib.suppress(OSError):
                await self._connected()
            await asyncio.sleep(_AGAIN)

    async def _connected(self) -> None:
        reader, writer = await asyncio.open_unix_connection(self._path, limit=LONGEST)
        peer = Peer(reader, writer, self.handlers)
        running = asyncio.create_task(peer.run())
        try:
            await peer.ask("hello", version=self._version)
            for session in list(self._sessions.values()):
                for job, owner in session.jobs.items():
                    await peer.ask("watch", job_id=job, owner=owner, **session.values())
            for hook in self.on_connected:
                await hook(peer)
            self._peer, self.away_since = peer, None
            self._there.set()
            await running
        except (Gone, Rejected):
            pass
        finally:
            running.cancel()
            peer.close()
            self._peer = None
            self.away_since = self.away_since or time.monotonic()
            self._there.clear()

    # -- questions ----------------------------------------------------------------------------

    async def knows_key(self, name: str, fingerprint: str) -> bool:
        return bool((await self.ask("key", user=name, fingerprint=fingerprint))["known"])

    async def sign_in(self, name: str, address: str, **proof: str) -> Session:
        """Goes on when cancelled: the server may have signed them in already."""
        signing = self.spawn(self._sign_in(name, address, proof))
        try:
            return await asyncio.shield(signing)
        except asyncio.CancelledError:
            signing.add_done_callback(self._sign_out)
            raise

    async def _sign_in(self, name: str, address: str, proof: dict[str, str]) -> Session:
        found = await self.ask("sign-in", user=name, address=address, **proof)
        session = Session(found["session"], name, found["user"], address)
        self._sessions[session.id] = session
        return session

    def _sign_out(self, signing: asyncio.Task[Session]) -> None:
        if not signing.cancelled() and signing.exception() is None:
            self.left(signing.result())

    async def enter(self, session: Session, job: str) -> Values:
        """`job`: as the user wrote it, perhaps with the number of a task; empty: none."""
        found = await self.ask("enter", job=job, **session.values())
        job_id, owner = found["job_id"], found["owner"]
        session.jobs[job_id] = owner
        await self.ask("watch", job_id=job_id, owner=owner, **session.values())
        return found

    def left(self, session: Session) -> None:
        self._sessions.pop(session.id, None)
        self.spawn(self._tell_left(session))

    def spawn(self, work: Coroutine[Any, Any, _Result]) -> asyncio.Task[_Result]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _tell_left(self, session: Session) -> None:
        with contextlib.suppress(Rejected):
            await self.ask("left", **session.values())

    async def ask(self, what: str, **values: Any) -> Values:
        """Waits for a server that restarts. Raises Rejected."""
        limit = time.monotonic() + _PATIENCE
        while True:
            try:
                async with asyncio.timeout(max(0.0, limit - time.monotonic())):
                    await self._there.wait()
                    if self._peer is not None:
                        return await self._peer.ask(what, **values)
            except Gone:
                await asyncio.sleep(_AGAIN)  # until it is known that the server is away
            except TimeoutError:
                raise Rejected(
                    Text("The server does not answer; try again later", "服务器无响应，请稍后再试")
                ) from None

    # -- notices ------------------------------------------------------------------------------

    async def _cut(self, values: Values) -> Values:
        self.on_cut(str(values["session"]))
        return {}

    async def _drain(self, values: Values) -> Values:
        self.on_drain()
        return {}
