"""Changing files through the WebDAV door."""

from __future__ import annotations

import contextlib
import secrets
from functools import partial
from typing import Any

from starlette.responses import Response

from danlu.api.dav import xml
from danlu.api.dav.visit import Refused, Values, Visit, destination
from danlu.api.file_uploads import LARGEST
from danlu.api.upload_bodies import CHECK_EVERY, Check, pass_on
from danlu.services.file_calls import Transfer
from danlu.services.file_words import FileFault

STEP = 4 << 20  # bytes of a file of unknown length, for which room is kept at a time


async def put(visit: Visit) -> Response:
    before = await visit.entry()
    if before is not None and "folder" in (before["kind"], before["target_kind"]):
        raise Refused(405, "This is a folder")
    await visit.need_parent(visit.path)
    await visit.check(visit.path)
    await _check_match(visit, before)
    if visit.header("content-range"):
        raise Refused(400, "A file cannot be uploaded in parts")
    await write(visit, visit.path, _length(visit))
    return Response(status_code=201 if before is None else 204)


async def _check_match(visit: Visit, before: Values | None) -> None:
    wanted, unwanted = visit.header("if-match"), visit.header("if-none-match")
    etag = f'"{await visit.etag(visit.path)}"' if before is not None else None
    if wanted and (etag is None or (wanted != "*" and etag not in _tags(wanted))):
        raise Refused(412, "It has changed since you read it")
    if unwanted and etag is not None and (unwanted == "*" or etag in _tags(unwanted)):
        raise Refused(412, "It already exists")


def _tags(header: str) -> list[str]:
    return [each.strip() for each in header.split(",")]


def _length(visit: Visit) -> int | None:
    """None: not known, since it comes in chunks."""
    for name in ("content-length", "x-expected-entity-length"):
        told = visit.header(name)
        if told.isascii() and told.isdigit() and len(told) < 18:
            return int(told)
    return None


async def write(visit: Visit, path: str, size: int | None) -> None:
    """As an upload: under another name until it is whole, and gone if it does not become so."""
    told: dict[str, Any] = {
        "nonce": secrets.token_hex(16),
        "conflict": "overwrite",
        "kind": "file",
        "modified": _modified(visit),
    }
    asks, files = visit.asks, visit.files
    async with files.reserving(asks, path, size or 0) as more:
        made = await files.upload(asks, "create", path, **told, size=size or 0)
        made.close()
        most = LARGEST if size is None else size
        try:
            # Of what tells no length, room is kept as it comes.
            check = partial(more, STEP if size is None else 0)
            every = STEP if size is None else CHECK_EVERY
            end = await _send(visit, path, told | {"size": most, "offset": 0}, check, every)
            if size is None:
                # Only now it is known how long it is: this ends it.
                last = await files.upload(asks, "append", path, **told, size=end, offset=end)
                await _finish(last)
            elif end < size:
                raise Refused(400, "The connection ended before the file did")
        except BaseException:
            with contextlib.suppress(FileFault):
                gone = await files.upload(asks, "forget", path, **told, size=most)
                gone.close()
            raise
    await files.wrote(asks, path, end)


def _modified(visit: Visit) -> float | None:
    """As rclone and others tell it."""
    with contextlib.suppress(ValueError):
        at = float(visit.header("x-oc-mtime"))
        if 0 <= at < 2**40:
            return at
    return None


async def _send(visit: Visit, path: str, told: Values, check: Check, every: int) -> int:
    transfer = await visit.files.upload(visit.asks, "append", path, **told)
    try:
        if not told["size"]:
            return await _finish(transfer)
        whole = await pass_on(visit.request, transfer, told["size"], check, every)
        end = int((await transfer.result())["offset"])
        if not whole:
            raise Refused(400, "The connection ended before the file did")
        return end
    finally:
        transfer.close()


async def _finish(transfer: Transfer) -> int:
    try:
        await transfer.write(transfer.buffer())
        return int((await transfer.result())["offset"])
    finally:
        transfer.close()


async def delete(visit: Visit) -> Response:
    if await visit.entry() is None:
        raise Refused(404, "There is no such file or folder")
    await visit.check(visit.path, below=True)
    await visit.ended(await visit.files.delete(visit.asks, [visit.path], False))
    visit.locks.forget(await visit.place(visit.path))
    return Response(status_code=204)


async def make_folder(visit: Visit) -> Response:
    if await visit.body():
        raise Refused(415, "A new folder has no content")
    if await visit.entry() is not None:
        raise Refused(405, "It already exists")
    await visit.need_parent(visit.path)
    await visit.check(visit.path)
    await visit.files.make_folder(visit.asks, visit.path, False)
    return Response(status_code=201)


async def move(visit: Visit) -> Response:
    return await _transfer(visit, "move")


async def copy(visit: Visit) -> Response:
    return await _transfer(visit, "copy")


async def _transfer(visit: Visit, kind: str) -> Response:
    target = destination(visit)
    source = await visit.entry()
    if source is None:
        raise Refused(404, "There is no such file or folder")
    if target == visit.path:
        raise Refused(403, "It already exists")
    await visit.need_parent(target)
    before = await visit.entry(target)
    if before is not None and visit.header("overwrite").upper() == "F":
        raise Refused(412, "Something with this name already exists")
    await visit.check(target, *([visit.path] if kind == "move" else []), below=True)
    if kind == "copy" and source["kind"] == "folder" and visit.header("depth") == "0":
        if before is not None:
            await visit.ended(await visit.files.delete(visit.asks, [target], False))
        await visit.files.make_folder(visit.asks, target, False)
    else:
        conflict = "overwrite" if before is not None else "refuse"
        paths = [visit.path]
        await visit.ended(await visit.files.move(visit.asks, kind, paths, None, target, conflict))
    if kind == "move":
        visit.locks.forget(await visit.place(visit.path))
    return Response(status_code=201 if before is None else 204)


async def set_properties(visit: Visit) -> Response:
    """Windows wants to set times of its own and gives up if it may not; nothing is kept of them.
    Other properties are refused.
    """
    entry = await visit.entry()
    if entry is None:
        raise Refused(404, "There is no such file or folder")
    await visit.check(visit.path)
    root = xml.read(await visit.body())
    if root is None or root.tag != "{DAV:}propertyupdate":
        raise xml.Unreadable
    names = xml.names_of(each for prop in root.iter("{DAV:}prop") for each in prop)
    windows = all(space == "urn:schemas-microsoft-com:" for space, _ in names)
    status = "200 OK" if names and windows else "403 Forbidden"
    told = xml.refused(visit.path, entry["kind"] == "folder", names, status)
    return Response(told, 207, media_type="application/xml; charset=utf-8")
