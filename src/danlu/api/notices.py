"""Adds to every answer what everybody should know: a disk is full, or almost, and since when."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from danlu.services.services import Services

DISK_FULL_SINCE = b"x-danlu-disk-full-since"
DISK_LOW_SINCE = b"x-danlu-disk-low-since"
DISK_FREE = b"x-danlu-disk-free"


class Noticed:
    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        low = self._services.server.disk_low  # a full one is low, too
        if low is None or scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        full_since = self._services.server.disk_full_since
        notices = [(DISK_LOW_SINCE, b"%.3f" % low.since), (DISK_FREE, b"%d" % low.free)]
        if full_since is not None:
            notices.append((DISK_FULL_SINCE, b"%.3f" % full_since))

        async def noticed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *notices]}
            await send(message)

        await self._app(scope, receive, noticed)
