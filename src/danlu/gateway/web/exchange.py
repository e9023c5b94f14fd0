"""One request and its answer, between a browser and the program behind a door."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from danlu.gateway.web.cookies import has_token, sets_ours, without_ours
from danlu.gateway.web.heads import (
    LARGEST,
    BadMessage,
    Ends,
    Fields,
    Request,
    Response,
    Size,
    read_response,
    written,
)
from danlu.gateway.web.streams import LAST_CHUNK, Source, chunk
from danlu.gateway.web.upstream import Dropped, Upstream

_UPLOAD_PATIENCE = 300.0  # seconds without a byte of a body
_MOST_INTERIM = 16  # answers such as 103 before the one that counts
_WITH_BODY = ("POST", "PUT", "PATCH")
_OURS_TO_SAY = (b"cookie", b"forwarded", b"x-real-ip")
# These would hold for the whole host or the whole origin: the platform and other people's doors.
_NOT_A_TASKS_TO_SAY = frozenset(
    (
        b"alt-svc",
        b"clear-site-data",
        b"public-key-pins",
        b"service-worker-allowed",
        b"strict-transport-security",
    )
)
_NOT_IN_FRAMES = (b"content-security-policy", b"frame-ancestors 'self'")


class Torn(Exception):
    """An answer ended in the middle; all that can be done is to end the connection."""


@dataclass(slots=True)
class Client:
    source: Source
    writer: asyncio.StreamWriter
    address: str
    encrypted: bool
    leaving: bool = False  # this gateway takes no new requests
    spliced: bool = False
    unread: bool = False  # something that nobody wants is still coming

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


def request_head(request: Request, client: Client) -> bytes:
    fields: Fields = [
        (name, value)
        for name, value in request.passed_on()
        if name not in _OURS_TO_SAY
        and not name.startswith(b"x-forwarded-")
        and not (name == b"authorization" and has_token(value))
    ]
    if cookies := without_ours(request.all(b"cookie")):
        fields.append((b"cookie", cookies))
    host = request.one(b"host") or b""
    fields.append((b"x-forwarded-for", client.address.encode("ascii", "replace")))
    fields.append((b"x-forwarded-host", host))
    fields.append((b"x-forwarded-proto", b"https" if client.encrypted else b"http"))
    if request.size is Ends.CHUNKED:
        fields.append((b"transfer-encoding", b"chunked"))
    elif request.size or request.declared() is not None or request.method in _WITH_BODY:
        fields.append((b"content-length", str(request.size).encode()))
    if request.websocket:
        fields += [(b"connection", b"Upgrade"), (b"upgrade", b"websocket")]
    else:
        fields.append((b"connection", b"keep-alive"))
    return written(f"{request.method} {request.target} HTTP/1.1", fields)


async def exchange(request: Request, client: Client, upstream: Upstream) -> bool:
    """Whether the browser's connection stays. Raises Dropped, Torn, BadMessage."""
    sending: asyncio.Task[None] | None = None
    await upstream.send(request_head(request, client))
    if request.size:
        sending = asyncio.create_task(_upload(request, client, upstream))
    try:
        response = await _response(upstream)
        if response.status == 101:
            await _splice(request, response, client, upstream)
            return False
        if sending is not None:
            await asyncio.sleep(0)  # the last of the body may just have gone out
        complete = sending is None or sending.done()
        return await _answer(request, response, client, upstream, complete)
    finally:
        if sending is not None and not sending.done():
            client.unread = True
            upstream.close()
            sending.cancel()


async def _upload(request: Request, client: Client, upstream: Upstream) -> None:
    try:
        if b"100-continue" in request.words(b"expect"):
            await client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        pieces = client.source.body(request.size)
        while True:
            async with asyncio.timeout(_UPLOAD_PATIENCE):
                piece = await anext(pieces, b"")
            if not piece:
                break
            await upstream.send(chunk(piece) if request.size is Ends.CHUNKED else piece)
        if request.size is Ends.CHUNKED:
            await upstream.send(LAST_CHUNK)
    except Dropped:
        return  # it may have answered before the end
    except (BadMessage, OSError):
        upstream.close()  # the program must not take half of it for all


async def _response(upstream: Upstream) -> Response:
    for _ in range(_MOST_INTERIM):
        if not await upstream.source.started():
            raise Dropped
        response = read_response(await upstream.source.head(LARGEST))
        if response.status >= 200 or response.status == 101:
            return response
    raise BadMessage("too many interim answers", 502)


def _fields(response: Response) -> Fields:
    kept = [
        (name, value)
        for name, value in response.passed_on()
        if name not in _NOT_A_TASKS_TO_SAY and not (name == b"set-cookie" and sets_ours(value))
    ]
    return [*kept, _NOT_IN_FRAMES]


async def _answer(
    request: Request, response: Response, client: Client, upstream: Upstream, complete: bool
) -> bool:
    size = response.size(request.method)
    fields = _fields(response)
    stays = request.stays and complete and not client.leaving
    chunked = isinstance(size, Ends) and request.minor == 1
    if chunked:
        fields.append((b"transfer-encoding", b"chunked"))
    elif isinstance(size, Ends):
        stays = False
    elif request.method == "HEAD" or response.status == 304:
        fields += [(b"content-length", length) for length in _told(response)]
    elif response.status != 204:
        fields.append((b"content-length", str(size).encode()))
    fields.append((b"connection", b"keep-alive" if stays else b"close"))
    reason = response.reason.decode("latin-1")
    head = written(f"HTTP/1.1 {response.status} {reason}", fields)
    await _relay(head, size, chunked, client, upstream)
    if response.stays and complete and size is not Ends.CLOSE:
        upstream.source.watch()
    else:
        upstream.close()
    return stays


def _told(response: Response) -> list[bytes]:
    """The length a body would have, where there is none."""
    lengths = response.all(b"content-length")
    return lengths if len(lengths) == 1 and lengths[0].isdigit() else []


async def _relay(
    head: bytes, size: Size, chunked: bool, client: Client, upstream: Upstream
) -> None:
    try:
        if size and not upstream.source.waiting:
            await client.send(head)  # the body may be a long time coming
            head = b""
        async for piece in upstream.source.body(size):
            await client.send(head + (chunk(piece) if chunked else piece))
            head = b""
        if head or chunked:
            await client.send(head + (LAST_CHUNK if chunked else b""))
    except BadMessage as error:
        raise Torn from error


async def _splice(request: Request, response: Response, client: Client, upstream: Upstream) -> None:
    """From here on it is a WebSocket, whose bytes are no longer HTTP."""
    if not (request.websocket and response.websocket):
        raise BadMessage("an upgrade that was not requested", 502)
    fields = [*_fields(response), (b"connection", b"Upgrade"), (b"upgrade", b"websocket")]
    client.spliced = True
    await client.send(written("HTTP/1.1 101 Switching Protocols", fields))
    pumps = {
        asyncio.create_task(_inward(client, upstream)),
        asyncio.create_task(_outward(client, upstream)),
    }
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


async def _inward(client: Client, upstream: Upstream) -> None:
    while data := await client.source.some():
        await upstream.send(data)


async def _outward(client: Client, upstream: Upstream) -> None:
    while data := await upstream.source.some():
        await client.send(data)
