"""One connection of a browser: requests, one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from danlu.engines.api import Refused
from danlu.gateway.web import pages, policy, strip
from danlu.gateway.web.book import Door
from danlu.gateway.web.cookies import LANGUAGE, cookie, cookie_name, mark_name, values_of
from danlu.gateway.web.exchange import Client, Torn, exchange
from danlu.gateway.web.heads import LARGEST, BadMessage, Fields, Request, read_request
from danlu.gateway.web.pages import Page
from danlu.gateway.web.streams import PIECE, Source
from danlu.gateway.web.upstream import Dropped, Upstream
from danlu.gateway.web.visits import Visit, digest_of
from danlu.spec.text import Text
from danlu.wire import Rejected

if TYPE_CHECKING:
    from danlu.gateway.web.web import Web

_HEAD_SECONDS = 20.0
_IDLE_SECONDS = 75.0
_LINGER_SECONDS = 2.0
_REPEATABLE = ("GET", "HEAD", "OPTIONS")
_MARK_SECONDS = 400 * 86400.0  # the longest browsers keep a cookie
_STATUS = {
    "not_signed_in": 401,
    "signed_out": 401,
    "must_change": 403,
    "not_allowed": 403,
    "not_found": 404,
    "invalid_request": 400,
    "nothing_there": 502,
    "no_tool": 502,
    "starting": 503,
    "not_running": 404,
    "no_door": 404,
    "too_many_tries": 429,
}


class Connection(asyncio.StreamReaderProtocol):
    def __init__(self, web: Web, port: int, address: str) -> None:
        self._reader = asyncio.StreamReader(limit=PIECE)
        super().__init__(self._reader, self._begin)
        self._web = web
        self._port = port
        self._peer = address
        self._upstream: Upstream | None = None
        self._door: Door | None = None  # the last request's
        self._visit: Visit | None = None
        self._serving: asyncio.Task[None] | None = None
        self.idle = True  # between two requests
        self.client: Client | None = None

    # -- the connection -------------------------------------------------------------------------

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tls = writer.get_extra_info("ssl_object") is not None
        self.client = Client(Source(self._receive), writer, self._peer, self._tls)
        if not self._web.enter(self):
            writer.transport.abort()
            return
        self._serving = asyncio.create_task(self._serve(self.client))

    async def _receive(self) -> bytes:
        try:
            return await self._reader.read(PIECE)
        except OSError:
            return b""

    def eof_received(self) -> bool | None:
        self._left()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._left()
        super().connection_lost(exc)

    def _left(self) -> None:
        """Nobody waits for the answer any more."""
        if self.client is not None and not self.client.spliced and self._upstream is not None:
            self._upstream.close()

    def abort(self) -> None:
        if self.client is not None:
            self.client.writer.transport.abort()
        if self._upstream is not None:
            self._upstream.close()

    @property
    def digest(self) -> str:
        return self._visit.key[0] if self._visit is not None else ""

    @property
    def door(self) -> str:
        return self._door.id if self._door is not None else ""

    @property
    def visit(self) -> Visit | None:
        return self._visit

    async def _serve(self, client: Client) -> None:
        try:
            while await self._next(client):
                pass
            if client.unread:
                await _linger(client)
        except (OSError, Torn):
            client.writer.transport.abort()
        finally:
            self._web.leave(self)
            self._drop_upstream()
            client.writer.close()

    async def _next(self, client: Client) -> bool:
        """Serves one request; whether another may follow."""
        try:
            async with asyncio.timeout(_HEAD_SECONDS if self._door is None else _IDLE_SECONDS):
                if not await client.source.started():
                    return False
        except TimeoutError:
            return False
        self.idle = False
        try:
            return await self._request(client) and not client.leaving
        finally:
            self.idle = True

    async def _request(self, client: Client) -> bool:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                request = read_request(await client.source.head(LARGEST))
            return await self._answer(request, client)
        except TimeoutError:
            text = Text("The request did not come to its end", "请求未在限定时间内发送完毕")
            return await self._say(Page(408, text), None, client)
        except BadMessage as bad:
            text = Text(f"This request is not understood: {bad}", f"无法理解该请求：{bad}")
            return await self._say(Page(bad.status, text), None, client)

    # -- one request ----------------------------------------------------------------------------

    async def _answer(self, request: Request, client: Client) -> bool:
        self._see_through_proxy(request, client)
        client.leaving = self._web.draining
        settings = self._web.settings
        if (page := policy.unknown_host(request, settings)) is not None:
            return await self._say(page, request, client)
        if policy.must_encrypt(request, client.encrypted):
            return await self._to_https(request, client)
        door = self._web.door_at(self._port, policy.host_of(request))
        if door is None:
            return await self._say(Page(404, pages.NO_DOOR), request, client)
        if policy.foreign(request, client.encrypted):
            return await self._say(Page(403, pages.FOREIGN), request, client)
        try:
            if policy.path_of(request) == policy.STRIP:
                return await self._strip(request, door, client)
            if policy.path_of(request).startswith(policy.OWN):
                return await self._own(request, door, client)
            return await self._pass(request, door, client)
        except Rejected as no:
            status = _STATUS.get(no.code, 503)
            page = Page(status, no.text, again=no.code == "starting")
            return await self._say(page, request, client)

    async def _pass(self, request: Request, door: Door, client: Client) -> bool:
        name = cookie_name(door.id, client.encrypted)
        shown = values_of(request.all(b"cookie"), name)
        visit = await self._web.visits.find(door, shown, client.address, client.encrypted)
        if visit is None:
            return await self._say(Page(401, pages.NOT_SIGNED_IN), request, client)
        if not self._is(visit, door):
            await self._say(Page(429, pages.TOO_MANY), request, client, stays=False)
            return False
        if policy.registers_worker(request):
            return await self._say(Page(403, pages.NO_WORKER), request, client)
        door.used = time.time()
        return await self._forward(request, door, visit, client)

    def _is(self, visit: Visit, door: Door) -> bool:
        """From here on the connection is this person's."""
        if self._visit is visit and self._door is door:
            return True
        self._drop_upstream()
        before, self._visit, self._door = self._visit, visit, door
        return self._web.known(self, before)

    async def _forward(self, request: Request, door: Door, visit: Visit, client: Client) -> bool:
        """What may not be sent twice gets a new connection: an idle one could end meanwhile."""
        repeatable = request.method in _REPEATABLE and request.size == 0 and not request.websocket
        if not repeatable:
            self._drop_upstream()
        used = self._upstream is not None
        try:
            try:
                upstream = await self._connected(door, visit)
                return await exchange(request, client, upstream)
            except Dropped:
                self._drop_upstream()
                if not used or client.writer.is_closing():
                    raise
            upstream = await self._connected(door, visit)
            return await exchange(request, client, upstream)
        except (Dropped, BadMessage) as trouble:
            self._drop_upstream()
            text = pages.CUT_OFF if isinstance(trouble, Dropped) else pages.BROKEN
            return await self._say(Page(502, text), request, client)

    async def _connected(self, door: Door, visit: Visit) -> Upstream:
        before = self._upstream
        if before is not None and not before.closed and before.source.quiet:
            return before
        self._drop_upstream()
        try:
            self._upstream = await self._web.tools.connect(visit.way, door.target)
        except Refused as no:
            raise Rejected(Text(str(no), str(no)), "not_running") from no
        return self._upstream

    def _drop_upstream(self) -> None:
        if self._upstream is not None:
            self._upstream.close()
            self._upstream = None

    def _see_through_proxy(self, request: Request, client: Client) -> None:
        """Each request anew: a proxy sends those of many people over one connection."""
        if self._peer in self._web.settings.proxies:
            told = b",".join(request.all(b"x-forwarded-for")).rpartition(b",")[2].strip()
            client.address = told.decode("latin-1")[:100] or self._peer
            client.encrypted = self._tls or request.all(b"x-forwarded-proto") == [b"https"]

    # -- answers of our own ---------------------------------------------------------------------

    async def _say(
        self, page: Page, request: Request | None, client: Client, stays: bool = True
    ) -> bool:
        """A request whose body nobody read cannot be followed by another."""
        client.unread = request is None or request.size != 0
        stays = stays and request is not None and not client.unread and request.stays
        html = request is not None and policy.wants_html(request)
        link = "" if request is None else self._web.settings.link(policy.host_of(request))
        page = Page(page.status, page.text, page.link or link, page.again)
        body = request is None or request.method != "HEAD"
        with contextlib.suppress(OSError):
            await client.send(pages.rendered(page, stays, html, body))
        return stays

    async def _to_https(self, request: Request, client: Client) -> bool:
        if request.method not in ("GET", "HEAD") or request.websocket:
            return await self._say(Page(400, pages.ONLY_TLS), request, client)
        location = f"https://{policy.host_of(request)}{request.target}".encode("latin-1")
        fields: Fields = [(b"location", location), (b"content-length", b"0")]
        await client.send(pages.answer(307, fields, False))
        return False

    async def _strip(self, request: Request, door: Door, client: Client) -> bool:
        try:
            told = await strip.answered(self._web, request, door, client)
        except Rejected as no:
            told = strip.refused(no, _STATUS.get(no.code, 503), request)
        await client.send(told)
        return request.stays

    async def _own(self, request: Request, door: Door, client: Client) -> bool:
        path = policy.path_of(request)
        if path not in (policy.ENTER, policy.SAVE) or request.method != "GET" or request.size:
            return await self._say(Page(404, pages.NO_DOOR), request, client)
        if path == policy.SAVE:
            await client.send(await strip.to_save(self._web, request, door, client))
            return request.stays
        encrypted = client.encrypted
        found = await self._web.link.ask(
            "door-enter",
            job=door.job,
            task=door.task,
            target=door.target,
            ticket=policy.ticket_of(request),
            address=client.address,
        )
        lasts = float(found["lasts"])
        fields: Fields = [
            (b"location", b"/"),
            (b"cache-control", b"no-store"),
            (b"referrer-policy", b"no-referrer"),
            (b"content-length", b"0"),
            (
                b"set-cookie",
                cookie(cookie_name(door.id, encrypted), str(found["token"]), encrypted, lasts),
            ),
        ]
        language = policy.asked_of(request, "lang")
        if language in strip.LANGUAGES:
            fields.append((b"set-cookie", cookie(LANGUAGE, language, encrypted, _MARK_SECONDS)))
        if door.port:
            fields += self._clean(request, door, encrypted)
        await client.send(pages.answer(303, fields, request.stays))
        return request.stays

    def _clean(self, request: Request, door: Door, encrypted: bool) -> Fields:
        """What programs of somebody else left in the browser for this port is removed."""
        name, whose = mark_name(door.port, encrypted), digest_of(door.owner)[:16]
        if values_of(request.all(b"cookie"), name) == [whose]:
            return []
        return [
            (b"clear-site-data", b'"cache", "storage"'),
            (b"set-cookie", cookie(name, whose, encrypted, _MARK_SECONDS)),
        ]


async def _linger(client: Client) -> None:
    """Who still sends would not read the answer if the connection ended now."""
    with contextlib.suppress(OSError):
        async with asyncio.timeout(_LINGER_SECONDS):
            while await client.source.some():
                pass
