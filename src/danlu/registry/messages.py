"""One request and its answer, over ASGI."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from danlu.registry.errors import Headers, Refusal
from danlu.registry.serving import INCOMING, Incoming
from danlu.registry.store import PIECE, Store

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
_RANGE = re.compile(r"bytes=(\d{0,19})-(\d{0,19})")
_CACHED = 1 << 19
OCTETS = ("content-type", "application/octet-stream")
JSON = ("content-type", "application/json")


class Disconnected(Exception):
    """The client is gone; nobody reads an answer."""


@dataclass(slots=True)
class Request:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    address: str
    scheme: str
    receive: Receive
    send: Send
    incoming: Incoming | None = None  # the body, where the server has a faster way to it

    def first(self, key: str, default: str = "") -> str:
        return self.query.get(key, [default])[0]

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body. Raises Disconnected if it ends too early."""
        while self.incoming is not None:
            taken, more = await self.incoming.take()
            if taken is None:
                raise Disconnected
            for piece in taken:
                yield piece
            if not more:
                return
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            if body := message.get("body"):
                yield body
            if not message.get("more_body"):
                return

    async def body(self, most: int) -> bytes:
        found = bytearray()
        async for piece in self.pieces():
            found += piece
            if len(found) > most:
                raise Refusal(413, "SIZE_INVALID", f"a manifest has at most {most >> 20} MiB")
        return bytes(found)

    async def answer(self, status: int, headers: Headers = (), body: bytes = b"") -> None:
        """With HEAD, `headers` has the length of what GET would give."""
        out = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers]
        if self.method != "HEAD" and status != 204:
            out.append((b"content-length", str(len(body)).encode()))
        await self.send({"type": "http.response.start", "status": status, "headers": out})
        content = b"" if self.method == "HEAD" else body
        await self.send({"type": "http.response.body", "body": content})

    async def answer_json(self, value: object, headers: Headers = ()) -> None:
        await self.answer(200, [JSON, *headers], json.dumps(value).encode())


def read_request(scope: dict[str, Any], receive: Receive, send: Send) -> Request:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    client = scope.get("client") or ("", 0)
    return Request(
        scope["method"],
        scope["path"],
        query,
        headers,
        client[0],
        scope["scheme"],
        receive,
        send,
        scope.get(INCOMING),
    )


def range_of(request: Request, size: int) -> tuple[int, int] | None:
    """Start and end of what is asked for; None: everything. Raises Refusal."""
    match = _RANGE.fullmatch(request.headers.get("range", ""))
    if match is None or not (match[1] or match[2]):
        return None
    if match[1]:
        start = int(match[1])
        end = min(size, int(match[2]) + 1) if match[2] else size
    else:
        start, end = max(0, size - int(match[2])), size
    if start >= size or end <= start:
        unit = [("content-range", f"bytes */{size}")]
        raise Refusal(416, "SIZE_INVALID", f"the blob has {size} bytes", unit)
    return start, end


async def send_file(request: Request, store: Store, fd: int, size: int, headers: Headers) -> None:
    """All of it or the range that is asked for, reading one piece ahead. Closes `fd`."""
    ahead: asyncio.Future[bytes] | None = None
    try:
        part = range_of(request, size)
        start, end = part or (0, size)
        out = [*headers, ("content-length", str(end - start)), ("accept-ranges", "bytes")]
        if part is not None:
            out.append(("content-range", f"bytes {start}-{end - 1}/{size}"))
        await _begin(request, 200 if part is None else 206, out)
        while start < end:
            piece: bytes | bytearray | None = None
            if ahead is None:
                piece = _read_cached(fd, start, end)
            if piece is None:
                piece = await (ahead or _read(store, fd, start, end))
                ahead = _read(
                    store, fd, start + len(piece), end
                )  # what follows comes from disk, too
            if not piece:
                raise OSError("a blob is shorter than its row says")
            start += len(piece)
            more = start < end
            await request.send({"type": "http.response.body", "body": piece, "more_body": more})
        if size == 0:
            await request.send({"type": "http.response.body", "body": b""})
    finally:
        if ahead is not None and not ahead.done():
            await asyncio.wait([ahead])
        os.close(fd)


def _read_cached(fd: int, start: int, end: int) -> bytearray | None:
    """What the kernel has in memory, without the way through a thread. None: not all of it."""
    buffer = bytearray(min(_CACHED, end - start))
    try:
        count = os.preadv(fd, [buffer], start, os.RWF_NOWAIT)
    except OSError:  # on the disk, or a file system that cannot tell
        return None
    return buffer if count == len(buffer) else None


def _read(store: Store, fd: int, start: int, end: int) -> asyncio.Future[bytes]:
    work = store.file(lambda: os.pread(fd, min(PIECE, end - start), start))
    return asyncio.ensure_future(work)


async def _begin(request: Request, status: int, headers: Iterable[tuple[str, str]]) -> None:
    out = [(name.encode(), value.encode()) for name, value in headers]
    await request.send({"type": "http.response.start", "status": status, "headers": out})
