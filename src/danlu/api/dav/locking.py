"""LOCK and UNLOCK, without which macOS and Windows only read."""

from __future__ import annotations

import time

from starlette.responses import Response

from danlu.api.dav import conditions, xml
from danlu.api.dav.changing import write
from danlu.api.dav.visit import Refused, Visit
from danlu.services.dav_locks import LONGEST, Lock

_XML = "application/xml; charset=utf-8"


async def lock(visit: Visit) -> Response:
    wanted = xml.lock_asked(await visit.body())
    place = await visit.place(visit.path)
    seconds = _seconds(visit)
    if wanted is None:
        for token in conditions.tokens(visit.given):
            known = visit.locks.refresh(token, place, visit.asks.name, seconds)
            if known is not None:
                return Response(xml.granted(known), 200, media_type=_XML)
        raise Refused(412, "There is no such lock to refresh")
    depth = visit.header("depth") or "infinity"
    if depth not in ("0", "infinity"):
        raise Refused(400, "The depth of a lock is 0 or infinity")
    exclusive, owner = wanted
    until = time.monotonic() + seconds
    made = Lock(place, visit.path, visit.asks.name, exclusive, depth != "0", owner, until)
    before = await visit.entry()
    if before is None:
        await visit.need_parent(visit.path)
    if not visit.locks.add(made):
        raise Refused(423, "It is locked by a WebDAV client")
    if before is None:
        try:
            await write(visit, visit.path, 0)
        except BaseException:
            visit.locks.remove(made.token, place, visit.asks.name)
            raise
    headers = {"Lock-Token": f"<{made.token}>"}
    return Response(xml.granted(made), 201 if before is None else 200, headers, _XML)


async def unlock(visit: Visit) -> Response:
    token = visit.header("lock-token").strip().removeprefix("<").removesuffix(">")
    if not token:
        raise Refused(400, "The Lock-Token header is missing")
    place = await visit.place(visit.path)
    if not visit.locks.remove(token, place, visit.asks.name):
        raise Refused(409, "There is no such lock")
    return Response(status_code=204)


def _seconds(visit: Visit) -> float:
    """`Second-600`, `Infinite`, or several of them."""
    for each in visit.header("timeout").split(","):
        unit, _, count = each.strip().partition("-")
        if unit.lower() == "second" and count.isascii() and count.isdigit() and len(count) < 12:
            return float(min(LONGEST, max(1, int(count))))
    return LONGEST
