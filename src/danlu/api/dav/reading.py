"""Looking through the WebDAV door: properties of files and folders, and their bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from email.utils import formatdate

from starlette.responses import Response, StreamingResponse

from danlu.api.dav import xml
from danlu.api.dav.visit import Refused, Values, Visit
from danlu.api.file_transfers import BINARY, disposition, partial

PAGE = 1000
AT_ONCE = 20  # entries until others have their turn


async def propfind(visit: Visit) -> Response:
    depth = visit.header("depth") or "infinity"
    asked = xml.asked(await visit.body())
    entry = await visit.entry()
    if entry is None:
        raise Refused(404, "There is no such file or folder")
    folder = "folder" in (entry["kind"], entry["target_kind"])
    if depth not in ("0", "1") and folder:
        raise Refused(403, "Ask for one level at a time (Depth: 0 or 1)")
    first = None
    if folder and depth == "1":
        # Begun before the answer, so that what cannot be listed is an error.
        first = await visit.files.listing(visit.asks, visit.path, 0, PAGE, "name", True)
    lines = _lines(visit, entry | {"path": visit.path}, asked, first)
    return StreamingResponse(lines, 207, media_type="application/xml; charset=utf-8")


async def _lines(
    visit: Visit, entry: Values, asked: xml.Asked, page: Values | None
) -> AsyncIterator[str]:
    yield f"{xml.HEAD}<D:multistatus xmlns:D='DAV:'>\n"
    locks = visit.locks.of(await visit.place(visit.path))
    yield xml.response(entry, asked, locks, await _quota(visit, asked))
    while page is not None:
        for number, each in enumerate(page["entries"]):
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
            locks = visit.locks.of(await visit.place(each["path"]))
            yield xml.response(each, asked, locks, None)
        at = page["next_offset"]
        page = (
            None
            if at is None
            else await visit.files.listing(visit.asks, visit.path, at, PAGE, "name", True)
        )
    yield "</D:multistatus>\n"


async def _quota(visit: Visit, asked: xml.Asked) -> tuple[int, int] | None:
    """Bytes that are free, and used; only if they are asked for."""
    if not any("quota" in name for _, name in asked.names or ()):
        return None
    for root in await visit.files.roots(visit.asks):
        inside = f"{visit.path}/".startswith(f"{root.volume.target}/")
        if inside and root.free is not None:
            return root.free, root.used or 0
    return None


async def get(visit: Visit) -> Response:
    entry = await visit.entry()
    if entry is None:
        raise Refused(404, "There is no such file or folder")
    if "folder" in (entry["kind"], entry["target_kind"]):
        raise Refused(405, "This is a folder: open it with a WebDAV client")
    transfer = await visit.files.content(visit.asks, visit.path)
    about = transfer.about
    headers = {
        "Content-Type": BINARY,
        "Content-Disposition": disposition(str(about["name"])),
        "Last-Modified": formatdate(float(about["modified_at"]), usegmt=True),
    }
    return partial(visit.request, transfer, headers)
