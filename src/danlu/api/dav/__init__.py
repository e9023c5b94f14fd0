"""WebDAV (classes 1 and 2) to the folders of the file centre, at /dav: for laptops.

Everything is done by the same services as elsewhere, so by the user's own helper.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send


class Dav(BaseRoute):
    """Everything below /dav, also names that patterns of routes do not match. Loaded when a client
    first comes.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path = scope["path"]
        ours = scope["type"] == "http" and (path == "/dav" or path.startswith("/dav/"))
        return (Match.FULL if ours else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        from danlu.api.dav.door import answer

        request = Request(scope, receive, send)
        response = await answer(request)
        await response(scope, receive, send)
