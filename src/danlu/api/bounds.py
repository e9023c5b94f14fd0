"""Rejects oversized bodies, so that no request can fill the server's memory."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from danlu.api.problems import BASE, answer, too_large
from danlu.spec.read import LARGEST_FILE

STREAMED = (f"{BASE}/bundles", f"{BASE}/files/uploads", "/dav/")
"""Bodies below these are passed on as they come, once the caller is known, and bounded there."""


class Bounded:
    """Checks the declared size before reading, and the actual size while reading."""

    def __init__(
        self, app: ASGIApp, most: int = LARGEST_FILE, streamed: tuple[str, ...] = ()
    ) -> None:
        self._app = app
        self._most = most
        self._streamed = streamed  # paths whose routes pass on a body as it comes, and bound it

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (self._streamed and scope["path"].startswith(self._streamed)):
            await self._app(scope, receive, send)
            return
        told = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
        if told.isdigit() and (len(told) > 18 or int(told) > self._most):
            await answer(too_large(self._most))(scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._most:
                # An HTTPException, since the framework reports any other as an unparsable body.
                raise HTTPException(413)
            return message

        await self._app(scope, counted, send)
