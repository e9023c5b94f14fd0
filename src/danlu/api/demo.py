"""Marks every response of a demo, so that nobody takes its numbers for real."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = b"danlu-demo"


class MarkedAsDemo:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], (HEADER, b"1")]}
            await send(message)

        await self._app(scope, receive, marked)
