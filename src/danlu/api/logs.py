"""Routes for logs: read, follow, search, download."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from danlu.api.answers import Matches
from danlu.api.dependencies import Our, Who
from danlu.api.problems import error_responses
from danlu.services.logs import Part
from danlu.services.values import Search

router = APIRouter(prefix="/jobs", tags=["logs"])

Task = Annotated[int, Query(ge=0, le=1_000_000)]
Number = Annotated[int | None, Query(ge=1, le=1_000_000, description="one attempt; default: all")]


@router.get(
    "/{ref}/logs",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/octet-stream": {}}}, **error_responses(409)},
)
async def read(
    ref: str,
    our: Our,
    who: Who,
    task: Task = 0,
    stream: Annotated[str, Query(pattern="^(out|err)$")] = "out",
    attempt: Number = None,
    offset: Annotated[int, Query(ge=0, le=2**60)] = 0,
    limit: Annotated[int | None, Query(ge=0, le=2**60)] = None,
    tail: Annotated[
        int | None, Query(ge=0, le=1_000_000, description="only the last lines")
    ] = None,
    follow: bool = False,
    raw: Annotated[
        bool, Query(description="do not mask the job's secrets; for its owner only")
    ] = False,
) -> StreamingResponse:
    """Returns the output of a task. `offset` counts over all attempts, or within `attempt`.

    Values of the job's secrets (8 bytes or more) are masked with `*`, byte by byte; everything else
    is returned unchanged.
    """
    part = Part(task, stream, attempt, offset, limit, tail, raw)
    reading = await our.logs.read(who, ref, part, follow)
    headers = {
        "X-Log-Offset": str(reading.offset),
        "X-Log-Size": str(reading.size),
        "Cache-Control": "no-store",
    }
    return StreamingResponse(reading.pieces, media_type="application/octet-stream", headers=headers)


@router.get("/{ref}/logs/search", response_model=Matches, responses=error_responses(409))
async def search(
    ref: str,
    our: Our,
    who: Who,
    q: Annotated[str, Query(min_length=1, max_length=1000)],
    task: Task = 0,
    stream: Annotated[str, Query(pattern="^(out|err)$")] = "out",
    attempt: Number = None,
    ignore_case: bool = False,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
    offset: Annotated[
        int, Query(ge=0, le=2**60, description="`next_offset` of the previous answer")
    ] = 0,
    line: Annotated[
        int, Query(ge=1, le=2**60, description="`next_line` of the previous answer")
    ] = 1,
) -> dict[str, Any]:
    """Returns the lines that contain `q` as plain text.

    A long log is searched in parts: continue at `next_offset` and `next_line`.
    """
    part = Part(task, stream, attempt)
    search = Search(q, ignore_case, limit, offset, line)
    found = await our.logs.search(who, ref, part, search)
    next_offset, next_line = found.next or (None, None)
    return {
        "matches": [{"offset": m.offset, "line": m.line, "text": m.text} for m in found.matches],
        "more": found.next is not None,
        "next_offset": next_offset,
        "next_line": next_line,
    }
