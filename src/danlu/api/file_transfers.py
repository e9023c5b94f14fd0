"""Downloads: a file or a folder, as a whole or a part of it."""

from __future__ import annotations

import asyncio
import contextlib
from email.utils import formatdate
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from danlu.api.dependencies import Asks, Our
from danlu.api.file_models import Path
from danlu.api.files import PathAsked
from danlu.api.piping import WORTH, Ended, Piping, Stuck, piping
from danlu.api.problems import ApiProblem, error_responses
from danlu.services.file_calls import SLOW, Transfer
from danlu.services.file_words import FileFault
from danlu.spec.text import Text

router = APIRouter(prefix="/files", tags=["files"])
BINARY = "application/octet-stream"
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"content": {BINARY: {}}},
    206: {"description": "The part that `Range` asks for", "content": {BINARY: {}}},
    **error_responses(403, 409, 413, 416),
}


@router.get("/content", response_class=Response, responses=_ANSWERS)
@router.head("/content", response_class=Response, include_in_schema=False)
async def content(
    request: Request,
    our: Our,
    asks: Asks,
    path: PathAsked,
    inline: Annotated[bool, Query(description="show an image instead of saving it")] = False,
) -> Response:
    """Downloads a file. `Range`, `If-Range` and `If-None-Match` are honored: it can be resumed."""
    transfer = await our.files.content(asks, path)
    about = transfer.about
    image = str(about.get("image") or "")
    shown = inline and image in _IMAGES
    headers = {
        "Content-Type": image if shown else BINARY,
        "Content-Disposition": disposition(str(about["name"]), inline=shown),
        "Last-Modified": formatdate(float(about["modified_at"]), usegmt=True),
    }
    return partial(request, transfer, headers)


@router.get("/archive", response_class=Response, responses=_ANSWERS)
@router.head("/archive", response_class=Response, include_in_schema=False)
async def archive(
    request: Request,
    our: Our,
    asks: Asks,
    path: Annotated[list[Path], Query(min_length=1, max_length=100, description="may be repeated")],
    format: Annotated[str, Query(pattern=r"^(tar|zip)$", description="tar or zip")] = "tar",
) -> Response:
    """Downloads files and folders as one file.

    A tar can be resumed with `Range` and `If-Range`: its bytes are the same as long as nothing in
    it has changed. A zip is for small folders and cannot be resumed. What the caller may not read
    is named in `not-included.txt` at its end.
    """
    transfer = await our.files.archive(asks, path, format)
    name = path[0].rstrip("/").rpartition("/")[2] or "files"
    headers = {
        "Content-Type": "application/zip" if format == "zip" else "application/x-tar",
        "Content-Disposition": disposition(f"{name}.{format}"),
    }
    if format == "zip":
        return Sent(transfer, 200, headers | _SAFE, None, request.method == "HEAD")
    return partial(request, transfer, headers)


_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp")
_SAFE = {
    "Cache-Control": "private, no-cache",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}


def disposition(name: str, inline: bool = False) -> str:
    """Names of files can contain anything, headers cannot."""
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else "_" for c in name)
    kind = "inline" if inline else "attachment"
    encoded = quote(name.encode("utf-8", "replace"), safe="")
    return f"{kind}; filename=\"{plain[:200]}\"; filename*=UTF-8''{encoded}"


def partial(request: Request, transfer: Transfer, headers: dict[str, str]) -> Response:
    """The answer to a request that may ask for a part, or only for what has changed."""
    size, etag = int(transfer.about["size"]), f'"{transfer.about["etag"]}"'
    headers = headers | _SAFE | {"ETag": etag, "Accept-Ranges": "bytes"}
    head = request.method == "HEAD"
    known = request.headers.get("if-none-match", "")
    if etag in [each.strip().removeprefix("W/") for each in known.split(",")]:
        transfer.close()
        return Response(status_code=304, headers={"ETag": etag} | _SAFE)
    asked = request.headers.get("range", "")
    wanted = request.headers.get("if-range")
    if wanted is not None and wanted != etag and wanted != headers.get("Last-Modified"):
        asked = ""
    part = asked_part(asked, size)
    if part is None:
        return Sent(transfer, 200, headers, (0, size), head)
    start, stop = part
    if start >= stop:
        transfer.close()
        beyond = Text(f"It has only {size} bytes", f"只有 {size} 字节")
        found = {"Content-Range": f"bytes */{size}", "ETag": etag}
        raise ApiProblem(416, "beyond_its_end", beyond, headers=found | _SAFE)
    headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    return Sent(transfer, 206, headers, (start, stop), head)


def asked_part(asked: str, size: int) -> tuple[int, int] | None:
    """None: the whole. Several ranges, and what makes no sense, are answered with the whole."""
    unit, _, rest = asked.partition("=")
    first, dash, last = (part.strip() for part in rest.partition("-"))
    if unit.strip().lower() != "bytes" or not dash or "," in rest:
        return None
    if not all(
        part.isascii() and part.isdigit() and len(part) < 20 for part in (first, last) if part
    ):
        return None
    if not first:
        return (max(0, size - int(last)), size) if last else None
    start, stop = int(first), min(size, int(last) + 1) if last else size
    if last and int(last) < start:
        return None
    return start, stop


class Sent(Response):
    """Passes on what the helper sends. If that ends early, so does the connection."""

    def __init__(
        self,
        transfer: Transfer,
        status: int,
        headers: dict[str, str],
        part: tuple[int, int] | None,
        head: bool,
    ) -> None:
        """`part`: None if its length is not known."""
        super().__init__(status_code=status, headers=headers)
        del self.headers["content-length"]
        if part is not None:
            self.headers["content-length"] = str(part[1] - part[0])
        self._transfer = transfer
        self._part = part
        self._head = head

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.create_task(_disconnected(receive))
        start = {"type": "http.response.start", "status": self.status_code}
        try:
            await send({**start, "headers": self.raw_headers})
            if not self._head and not await self._body(scope, send, gone):
                return
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._transfer.close()
            gone.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await gone

    async def _body(self, scope: Scope, send: Send, gone: asyncio.Task[None]) -> bool:
        """False: nobody wants it any more."""
        way, part = piping(scope), self._part
        if way is not None and part is not None and part[1] - part[0] >= WORTH:
            return await self._piped(way, part, gone)
        async for piece in self._transfer.pieces(part):
            if gone.done():
                return False
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        return True

    async def _piped(self, way: Piping, part: tuple[int, int], gone: asyncio.Task[None]) -> bool:
        pipe = self._transfer.pipe
        assert pipe is not None
        await self._transfer.piped(part)
        try:
            if await way.send_from(pipe, part[1] - part[0], SLOW):
                return True
        except Stuck:
            raise self._transfer.stuck() from None
        except Ended:
            raise FileFault("interrupted") from None
        await asyncio.wait([gone], timeout=10)
        return False


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
