"""Server-sent events: what happens to jobs, and to nodes and cards, as it happens."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from danlu.access import rules
from danlu.access.principal import Principal
from danlu.api.jobs import several
from danlu.api.problems import ApiProblem
from danlu.api.services import Our, Services, Who, still
from danlu.api.views import event_view, node_views
from danlu.spec.states import State
from danlu.store.errors import StoreError
from danlu.store.feed import Happening

router = APIRouter(tags=["stream"])
Values = dict[str, Any]

BEAT = 15.0
RECHECK = 3.0  # seconds after which a stream asks again who listens
LARGEST_SEQ = 2**62
_STATES = {
    "submitted": State.QUEUED,
    "placed": State.STARTING,
    "started": State.RUNNING,
    "stop_requested": State.STOPPING,
    "requeued": State.QUEUED,
    "held": State.QUEUED,
    "released": State.QUEUED,
}
EXAMPLE = """id: 41
event: hello
data: {"seq":41,"at":1763250000.0,"reset":false}

id: 42
event: job
data: {"seq":42,"at":1763250001.5,"kind":"started","actor":"danlu","data":{"attempt":1},\
"en":"Started (attempt 1)","zh":"开始运行（第 1 次）",\
"job":{"id":"019a8d6e-0c1f-7aa0-8c41-3f7f0d0e9b11","ref":"alice/mnist-3","owner":"alice","name":"mnist",\
"group":"vision","state":"running"}}

: beat
id: 42
"""
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # a proxy that collects would hold everything back
}


@dataclass(frozen=True, slots=True)
class Wanted:
    job_ids: frozenset[str] | None  # None: all that may be seen
    owner: str | None
    kinds: frozenset[str]
    nodes: bool
    beat: float

    def takes(self, happening: Happening) -> bool:
        event, job = happening.event, happening.job
        if self.job_ids is not None and event.job_id not in self.job_ids:
            return False
        if self.owner is not None and (job is None or job.owner != self.owner):
            return False
        return not self.kinds or event.kind in self.kinds


@router.get(
    "/stream",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Messages without end; the data of each is a `StreamEvent`",
            "content": {"text/event-stream": {"schema": {"type": "string"}, "example": EXAMPLE}},
        }
    },
)
async def stream(
    request: Request,
    our: Our,
    who: Who,
    jobs: Annotated[
        str | None, Query(max_length=4000, description="only these jobs, with commas between")
    ] = None,
    owner: Annotated[
        str | None,
        Query(max_length=200, pattern=r"^[^\x00]*$", description="only jobs of this person"),
    ] = None,
    kind: Annotated[
        str | None,
        Query(max_length=400, description="only these kinds of events, with commas between"),
    ] = None,
    nodes: Annotated[bool, Query(description="nodes and cards, too")] = False,
    after: Annotated[
        int | None,
        Query(ge=0, le=LARGEST_SEQ, description="begin behind this event; left out: now"),
    ] = None,
    beat: Annotated[
        float, Query(ge=0.05, le=60, description="seconds of silence after which a sign comes")
    ] = BEAT,
    last_event_id: Annotated[
        str | None, Header(max_length=40, description="as `after`; browsers send it by themselves")
    ] = None,
) -> StreamingResponse:
    """Tells what happens, as server-sent events.

    First comes `hello` with the number of the last event there is. Then every event of the jobs one
    may see, as `job`: its number is the `id`, so that a client that lost the connection goes on
    with `Last-Event-ID` (or `after`) and misses and doubles nothing, also over a restart of the
    server. With `nodes=true`, `nodes` carries those that changed, at the beginning all of them. A
    comment comes when nothing else does. The stream ends when the token is not valid any more.
    """
    wanted = Wanted(
        await _ids(our, who, jobs), owner, frozenset(_words(kind)), nodes, max(beat, 0.05)
    )
    last = await our.feed.now()
    start = _start(last_event_id, after)
    # After an older backup was restored the numbers begin earlier: then from now on.
    known = start is not None and start <= last
    seq = start if start is not None and known else last
    hello = {"seq": seq, "at": time.time(), "reset": start is not None and not known}
    blocks = _blocks(our, request, who, wanted, seq, hello)
    return StreamingResponse(blocks, media_type="text/event-stream", headers=_HEADERS)


async def _blocks(
    our: Services, request: Request, who: Principal, wanted: Wanted, seq: int, hello: Values
) -> AsyncIterator[bytes]:
    yield _block("hello", hello, seq)
    shown: dict[str, Values] = {}
    person: Principal | None = who
    with our.feed.listening():
        while person is not None:
            waiter = our.feed.waiter()
            try:
                text, upto = await _next(our, wanted, person, seq)
            except StoreError:
                await our.feed.wait(waiter, 1.0)
                yield _beat(seq)
                continue
            if wanted.nodes:
                text += _node_blocks(our, shown)
            moved, seq = upto > seq, upto
            if text:
                yield text
            if moved:
                our.feed.forget(waiter)
            elif not await our.feed.wait(waiter, wanted.beat):
                yield _beat(seq)
            # Every time: what was taken from somebody is not told to them once more.
            with contextlib.suppress(StoreError):
                person = await still(request)


async def _next(our: Services, wanted: Wanted, who: Principal, seq: int) -> tuple[bytes, int]:
    """As text, so that a reader who is slow holds on to that and nothing else."""
    news = await our.feed.after(seq, tuple(wanted.job_ids or ()))
    blocks = [_job_block(each) for each in news.happenings if _goes(each, wanted, who)]
    return b"".join(blocks), news.upto


def _goes(happening: Happening, wanted: Wanted, who: Principal) -> bool:
    job = happening.job
    if job is None:
        return who.admin and wanted.takes(happening)
    return wanted.takes(happening) and rules.sees_job(who, job.owner, job.group)


def _job_block(happening: Happening) -> bytes:
    event, job = happening.event, happening.job
    view = event_view(event)
    if job is not None:
        view["job"] = {
            "id": job.id,
            "ref": job.ref,
            "owner": job.owner,
            "name": job.name,
            "group": job.group,
            "state": event.data.get("state") or _STATES.get(event.kind),
        }
    return _block("job" if job is not None else "platform", view, event.seq)


def _node_blocks(our: Services, shown: dict[str, Values]) -> bytes:
    """Those that are not as they were shown; gone ones by name."""
    views = {view["name"]: view for view in node_views(our.controller)}
    fresh = [view for name, view in views.items() if shown.get(name) != view]
    gone = sorted(shown.keys() - views.keys())
    if not fresh and not gone and shown:
        return b""
    shown.clear()
    shown.update(views)
    return _block("nodes", {"nodes": fresh, "gone": gone})


def _block(kind: str, values: Values, seq: int | None = None) -> bytes:
    head = f"id: {seq}\n" if seq is not None else ""
    data = json.dumps(values, separators=(",", ":"))
    return f"{head}event: {kind}\ndata: {data}\n\n".encode()


def _beat(seq: int) -> bytes:
    # An id without data is remembered by clients but is no event: those who may see little do not
    # have to go through all the others' events again.
    return f": beat\nid: {seq}\n\n".encode()


async def _ids(our: Services, who: Principal, refs: str | None) -> frozenset[str] | None:
    if refs is None:
        return None
    found: set[str] = set()
    for ref in _words(refs):
        found.update(row.id for row in await several(our, who, ref))
    return frozenset(found)


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _start(last_event_id: str | None, after: int | None) -> int | None:
    if last_event_id is None or last_event_id == "":
        return after
    if last_event_id.isascii() and last_event_id.isdigit() and int(last_event_id) <= LARGEST_SEQ:
        return int(last_event_id)
    raise ApiProblem(
        422,
        "invalid_request",
        f"Last-Event-ID: {last_event_id[:40]!r} is not the id of an event",
        f"Last-Event-ID：{last_event_id[:40]!r} 不是事件编号",
    )
