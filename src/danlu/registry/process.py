"""The registry's process: serves, also while the server is away, and ends when nobody needs it.

It listens for the server at a socket that only the server's user can reach; the server connects.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
import time
from collections.abc import Sequence

import uvicorn

from danlu.registry.answers import Answers
from danlu.registry.app import App, wrong_password
from danlu.registry.errors import Refusal
from danlu.registry.hub import Hub
from danlu.registry.serving import bounded
from danlu.registry.store import Store
from danlu.wire import LONGEST, Gone, Handler, Peer, Rejected, Values

log = logging.getLogger("danlu.registry")
IDLE_SECONDS = 900.0
_ORPHAN_SECONDS = 60.0
_COLLECT_EVERY = 3600.0
_FIRST_COLLECT = 60.0
_LEAVE_SECONDS = 10.0
_LOOK = 1.0
_PATIENCE = 20.0  # for a server that restarts
_MOST_NEWS, _NEWS_AT_ONCE = 10_000, 100


class Process:
    def __init__(self, store: Store, key: bytes, version: str) -> None:
        hub = Hub(store, store.settings.mirrors)
        self._store = store
        self._version = version
        self._app = App(store, key, self._sign_in, hub.handlers())
        self._answers = Answers(store, self._app)
        self._peer: Peer | None = None
        self._there = asyncio.Event()
        self._news: list[Values] = []  # of which the server has not heard
        self._some_news = asyncio.Event()
        store.changed = self._changed
        self._away_since = time.monotonic()
        self._leaving = asyncio.Event()

    async def run(
        self, listeners: list[socket.socket], control: socket.socket, tls: ssl.SSLContext | None
    ) -> None:
        """`control`: where the server connects."""
        server = _server(self._app, self._store.settings.connections, tls)
        linked = await asyncio.start_unix_server(self._serve_link, sock=control, limit=LONGEST)
        serving = asyncio.create_task(server.serve(sockets=listeners))
        collecting = asyncio.create_task(self._collect_often())
        telling = asyncio.create_task(self._tell_news())
        try:
            await self._until_idle(server)
        finally:
            collecting.cancel()
            telling.cancel()
            server.should_exit = True
            await serving
            linked.close()
            if self._peer is not None:
                self._peer.close()
            await asyncio.to_thread(self._store.close)

    async def _until_idle(self, server: uvicorn.Server) -> None:
        last = time.monotonic()
        while not self._leaving.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), _LOOK)
            now = time.monotonic()
            if self._app.busy or self._store.uploading_to():
                last = now
                continue
            away = self._peer is None and now - self._away_since > _ORPHAN_SECONDS
            if away and now - last > _ORPHAN_SECONDS:
                return
            if now - last > IDLE_SECONDS and not self._garbage():
                return

    def _garbage(self) -> bool:
        """Whether something may be left to collect."""
        grace = self._store.settings.grace
        return self._answers.collected_at - grace <= self._store.written

    async def _collect_often(self) -> None:
        await asyncio.sleep(_FIRST_COLLECT)
        while True:
            try:
                await self._answers.collect()
            except Exception:
                log.exception("garbage collection")
            await asyncio.sleep(
                min(_COLLECT_EVERY, max(_FIRST_COLLECT, self._store.settings.grace))
            )

    # -- the server --------------------------------------------------------------------------

    async def _serve_link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer, self._answers.handlers() | self._own())
        if self._peer is not None:
            self._peer.close()  # of a server that was killed
        self._peer = peer
        self._there.set()
        try:
            await peer.run()
        finally:
            if self._peer is peer:
                self._peer = None
                self._there.clear()
                self._away_since = time.monotonic()

    def _changed(self, repository: str, by: str, tags: Sequence[str]) -> None:
        if len(self._news) < _MOST_NEWS:  # a server that was away for long compares everything
            self._news.append({"repository": repository, "by": by, "tags": list(tags)})
        self._some_news.set()

    async def _tell_news(self) -> None:
        while True:
            await self._some_news.wait()
            await self._there.wait()
            peer = self._peer
            if peer is None:
                continue
            try:
                while news := self._news[:_NEWS_AT_ONCE]:
                    await peer.ask("changed", changes=news)
                    del self._news[: len(news)]
                self._some_news.clear()
            except Gone:
                await asyncio.sleep(0.1)
            except Rejected as no:
                log.warning("the server does not accept notifications: %s", no.text.en)
                self._news.clear()

    def _own(self) -> dict[str, Handler]:
        async def hello(ask: Values) -> Values:
            return {"version": self._version}

        async def leave(ask: Values) -> Values:
            self._leaving.set()
            return {}

        return {"hello": hello, "leave": leave}

    async def _sign_in(self, name: str, password: str, address: str, scopes: list[str]) -> str:
        try:
            async with asyncio.timeout(_PATIENCE):
                while True:
                    await self._there.wait()
                    if self._peer is not None:
                        with contextlib.suppress(Gone):
                            answer = await self._peer.ask(
                                "token",
                                name=name,
                                password=password,
                                address=address,
                                scopes=scopes,
                            )
                            return str(answer["token"])
                    await asyncio.sleep(0.1)
        except Rejected as no:
            text = f"{no.text.en} / {no.text.zh}"
            if no.code == "too_many_tries":
                raise Refusal(429, "TOOMANYREQUESTS", text) from None
            raise wrong_password(text) from None
        except TimeoutError:
            message = "the server, which checks who you are, does not answer; try again in a minute"
            raise Refusal(503, "UNAVAILABLE", message) from None


def _server(app: App, connections: int, tls: ssl.SSLContext | None) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        http=bounded(connections),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=int(_LEAVE_SECONDS),
        timeout_keep_alive=75,
        backlog=2048,
        server_header=False,
        proxy_headers=False,
        date_header=False,
    )
    config.load()
    config.ssl = tls
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    return server
