"""Routes for logs: read, follow, search, download."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from danlu.access import rules
from danlu.access.principal import Principal
from danlu.api.answers import Matches
from danlu.api.jobs import one
from danlu.api.problems import not_found, told
from danlu.api.services import Our, Services, Who
from danlu.control.logs import Wanted
from danlu.spec.codec import from_values

router = APIRouter(prefix="/jobs", tags=["logs"])

Task = Annotated[int, Query(ge=0, le=1_000_000)]
Number = Annotated[int | None, Query(ge=1, le=1_000_000, description="one attempt; else all")]


async def _wanted(
    our: Services, who: Principal, ref: str, task: int, stream: str, attempt: int | None
) -> Wanted:
    active = our.controller.rooms.jobs.get(ref)
    if active is not None and rules.sees_job(who, active.row.owner, active.row.group):
        row, tasks = active.row, active.spec.tasks  # nothing here changes while it is active
    else:
        row = await one(our, who, ref)
        tasks = from_values(row.spec).tasks
    if task >= tasks:
        raise not_found(f"task {task} in {row.ref}", f"子任务 {task}（{row.ref}）")
    if attempt is not None and row.state.final and attempt > row.attempt:
        raise not_found(f"attempt {attempt} of {row.ref}", f"第 {attempt} 次尝试（{row.ref}）")
    return Wanted(row, task, stream, attempt)


@router.get(
    "/{ref}/logs",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/octet-stream": {}}}, **told(409)},
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
    tail: Annotated[int | None, Query(ge=0, le=1_000_000, description="the last lines")] = None,
    follow: bool = False,
) -> StreamingResponse:
    """What the task printed, byte for byte. `offset` counts over all attempts, or in one."""
    wanted = await _wanted(our, who, ref, task, stream, attempt)
    logs = our.logs
    if tail is not None:
        offset = await logs.tail_offset(wanted, tail)
    pieces: AsyncIterator[bytes]
    if follow:
        row = wanted.job
        barred = our.gate.barred(who, lambda now: rules.sees_job(now, row.owner, row.group))
        pieces = while_allowed(logs.follow(wanted, offset), barred)
        if limit is not None:
            pieces = _at_most(pieces, limit)
    else:
        pieces = logs.read(wanted, offset, limit)
    headers = {
        "X-Log-Offset": str(offset),
        "X-Log-Size": str(await logs.size(wanted)),
        "Cache-Control": "no-store",
    }
    return StreamingResponse(pieces, media_type="application/octet-stream", headers=headers)


async def while_allowed(
    pieces: AsyncIterator[bytes], barred: Coroutine[Any, Any, None]
) -> AsyncIterator[bytes]:
    """Ends a stream at once when whoever follows it may no longer."""
    me = asyncio.current_task()
    assert me is not None
    end = asyncio.create_task(barred)
    waits = False

    def interrupt(_: object) -> None:
        if waits:
            me.cancel()  # only here is it ours to catch

    # Not a task for each piece: thousands of followers read a line at a time.
    end.add_done_callback(interrupt)
    try:
        while not end.done():
            waits = True
            try:
                piece = await anext(pieces)
            except StopAsyncIteration:
                return
            except asyncio.CancelledError:
                if not end.done() or me.uncancel():
                    raise
                return
            finally:
                waits = False
            yield piece
    finally:
        end.remove_done_callback(interrupt)
        end.cancel()
        await asyncio.gather(end, return_exceptions=True)
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


async def _at_most(pieces: AsyncIterator[bytes], limit: int) -> AsyncIterator[bytes]:
    if limit == 0:
        return
    async for piece in pieces:
        yield piece[:limit]
        limit -= len(piece)
        if limit <= 0:
            return


@router.get("/{ref}/logs/search", response_model=Matches, responses=told(409))
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
) -> dict[str, Any]:
    """Lines that hold `q`, as plain text."""
    wanted = await _wanted(our, who, ref, task, stream, attempt)
    matches, more = await our.logs.search(wanted, q, ignore_case, limit)
    return {
        "matches": [{"offset": m.offset, "line": m.line, "text": m.text} for m in matches],
        "more": more,
    }
