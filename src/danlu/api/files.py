"""Routes for files: looking, changing, the bin. Their bytes come and go by others."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi import Path as PathParameter
from fastapi.responses import StreamingResponse

from danlu.api.dependencies import Asks, Our
from danlu.api.file_models import (
    LONGEST_PATH,
    BinEmpty,
    BinList,
    BinRestore,
    FileDelete,
    FileEntry,
    FileList,
    FileMove,
    FileOperation,
    FileOperations,
    FilePreview,
    FileRoots,
    FileUsage,
    NewFolder,
    Values,
)
from danlu.api.problems import error_responses
from danlu.services.file_operations import Operation
from danlu.services.files import RootView

router = APIRouter(prefix="/files", tags=["files"])
PathAsked = Annotated[
    str, Query(min_length=1, max_length=LONGEST_PATH, description="as tasks see it: /userhome/x")
]
OperationId = Annotated[str, PathParameter(max_length=64)]
_PREVIEW = 256 << 10
_CHANGES = error_responses(400, 403, 409, 413)


@router.get("/roots", response_model=FileRoots)
async def roots(our: Our, asks: Asks) -> Values:
    """Lists the volumes whose files the caller may open, with their size and free space."""
    views = await our.files.roots(asks)
    return {
        "roots": [_root_view(view) for view in views],
        "bin_days": round(our.files.bin_keeps / 86400),
    }


@router.get("/list", response_model=FileList, responses=error_responses(403, 409))
async def list_folder(
    our: Our,
    asks: Asks,
    path: PathAsked,
    offset: Annotated[int, Query(ge=0, le=10**9, description="skip this many entries")] = 0,
    limit: Annotated[int, Query(ge=1, le=2000)] = 200,
    sort: Annotated[
        str, Query(pattern=r"^-?(name|size|modified|kind)$", description="`-`: in reverse")
    ] = "name",
    hidden: Annotated[bool, Query(description="also names that begin with a dot")] = True,
    whole: Annotated[bool, Query(description="wait until all names are read")] = False,
) -> Values:
    """Returns a page of a folder.

    A page of long names is shorter than asked for: go on at `next_offset`.
    The first page of a very large folder comes from the names that were read within half a second
    (`reading`); the others are read meanwhile, and later pages wait for them.
    Sorted by name, folders come first. A folder with more than 200,000 entries is always sorted by
    name.
    """
    return await our.files.listing(asks, path, offset, limit, sort, hidden, whole)


@router.get("/stat", response_model=FileEntry, responses=error_responses(403, 409))
async def stat(our: Our, asks: Asks, path: PathAsked) -> Values:
    """Returns one file, folder or link; a link is not followed."""
    return await our.files.stat(asks, path)


@router.get("/preview", response_model=FilePreview, responses=error_responses(403, 409))
async def preview(
    our: Our,
    asks: Asks,
    path: PathAsked,
    offset: Annotated[int, Query(ge=0, le=2**60, description="first byte of the text")] = 0,
    limit: Annotated[int, Query(ge=1, le=_PREVIEW, description="bytes of text")] = _PREVIEW,
    tail: Annotated[int, Query(ge=0, le=_PREVIEW, description="the last bytes instead")] = 0,
) -> Values:
    """Returns a part of a text, the cells of a notebook, or what kind of file it is."""
    return await our.files.preview(asks, path, offset, limit, tail)


@router.get(
    "/search",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/x-ndjson": {}}}, **error_responses(403, 409)},
)
async def search(
    our: Our,
    asks: Asks,
    path: PathAsked,
    q: Annotated[str, Query(min_length=1, max_length=255, description="a part of the name")],
    kind: Annotated[
        str | None, Query(pattern=r"^(file|folder|link|other)$", description="only these")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> StreamingResponse:
    """Searches for names below a folder: a part of the name in any case, or a pattern with `*`.

    The answer is lines of JSON: `{"entry": ...}` for each that is found, `{"seen": n}` in between,
    and `{"end": {"seen", "found", "complete"}}` at last.
    """
    lines = await our.files.search(asks, path, q, kind or "", limit)
    headers = {"Cache-Control": "no-store"}
    return StreamingResponse(_ndjson(lines), media_type="application/x-ndjson", headers=headers)


@router.get("/usage", response_model=FileUsage, responses=error_responses(403, 409))
async def usage(
    our: Our,
    asks: Asks,
    path: PathAsked,
    fresh: Annotated[bool, Query(description="measure again")] = False,
) -> Values:
    """Returns what a folder takes on the disk, as last measured.

    While `operation` is set it is being measured: ask again, or wait for that operation.
    """
    return await our.files.usage(asks, path, fresh)


@router.post("/folders", status_code=201, response_model=FileEntry, responses=_CHANGES)
async def make_folder(new: NewFolder, our: Our, asks: Asks) -> Values:
    """Makes a folder."""
    return await our.files.make_folder(asks, new.path, new.parents)


@router.post("/move", response_model=FileOperation, responses=_CHANGES)
async def move(order: FileMove, our: Our, asks: Asks) -> Values:
    """Moves files and folders, also to another volume. Renaming is moving with `to`."""
    done = await our.files.move(asks, "move", order.paths, order.into, order.to, order.conflict)
    return operation_view(done)


@router.post("/copy", response_model=FileOperation, responses=_CHANGES)
async def copy(order: FileMove, our: Our, asks: Asks) -> Values:
    """Copies files and folders. A copy appears under its name when it is whole."""
    done = await our.files.move(asks, "copy", order.paths, order.into, order.to, order.conflict)
    return operation_view(done)


@router.post("/delete", response_model=FileOperation, responses=_CHANGES)
async def delete(order: FileDelete, our: Our, asks: Asks) -> Values:
    """Moves files and folders to the bin of their volume, or deletes them for good."""
    return operation_view(await our.files.delete(asks, order.paths, order.forever))


@router.get("/bin", response_model=BinList)
async def list_bin(our: Our, asks: Asks) -> Values:
    """Lists what the caller has deleted, in all volumes, the latest first."""
    return await our.files.bin(asks)


@router.post("/bin/restore", response_model=FileOperation, responses=_CHANGES)
async def restore(order: BinRestore, our: Our, asks: Asks) -> Values:
    """Puts things back where they were; missing folders are made."""
    return operation_view(await our.files.restore(asks, order.ids, order.conflict))


@router.post("/bin/empty", response_model=FileOperation, responses=_CHANGES)
async def empty(order: BinEmpty, our: Our, asks: Asks) -> Values:
    """Deletes what is in the bin for good: these things, or all."""
    return operation_view(await our.files.empty(asks, order.ids))


@router.get("/operations", response_model=FileOperations)
async def operations(our: Our, asks: Asks) -> Values:
    """Lists the caller's operations since the server started, the latest first."""
    return {"operations": [operation_view(each) for each in our.files.operations.list(asks.name)]}


@router.get("/operations/{id}", response_model=FileOperation)
async def operation(
    id: OperationId,
    our: Our,
    asks: Asks,
    wait: Annotated[float, Query(ge=0, le=30, description="seconds to wait for its end")] = 0,
) -> Values:
    """Returns an operation and how far it is."""
    found = our.files.operations.find(asks.name, id)
    await found.wait(wait)
    return operation_view(found)


@router.delete("/operations/{id}", response_model=FileOperation)
async def cancel(id: OperationId, our: Our, asks: Asks) -> Values:
    """Stops an operation. What it has done so far stays; a copy that is not whole is removed."""
    found = our.files.operations.find(asks.name, id)
    await our.files.operations.cancel(found)
    return operation_view(found)


async def _ndjson(lines: AsyncIterator[Values]) -> AsyncIterator[bytes]:
    async for line in lines:
        yield json.dumps(line, ensure_ascii=False).encode() + b"\n"


def _root_view(view: RootView) -> Values:
    config = view.volume.config
    return {
        "path": view.volume.target,
        "volume": view.volume.name,
        "read_only": config.read_only,
        "tier": config.tier,
        "note": config.note,
        "total": view.total,
        "free": view.free,
        "used": view.used,
        "used_at": view.used_at,
        "quota": view.quota,
        "bin": view.bin,
        **view.problem.values("problem"),
    }


def operation_view(operation: Operation) -> Values:
    return {
        "id": operation.id,
        "kind": operation.kind,
        "state": operation.state,
        "paths": operation.paths,
        "target": operation.target,
        "files_done": operation.files_done,
        "bytes_done": operation.bytes_done,
        "files_total": operation.files_total,
        "bytes_total": operation.bytes_total,
        "results": operation.results,
        "problems": [
            {"path": path, "status": fault.status, **fault.message.values("message")}
            for path, fault in operation.problems
        ],
        "problem_count": operation.problem_count,
        "started_at": operation.started_at,
        "ended_at": operation.ended_at,
        "status": operation.fault.status if operation.fault is not None else None,
        **operation.message.values("message"),
    }
