"""Adds to every answer what everybody should know: that the disk is full, and since when."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from danlu.services.services import Services

DISK_FULL_SINCE = b"x-danlu-disk-full-since"


class Noticed:
    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        since = self._services.server.disk_full_since
        if since is None or scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def noticed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), (DISK_FULL_SINCE, b"%.3f" % since)]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, noticed)
