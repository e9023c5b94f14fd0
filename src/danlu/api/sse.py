"""Server-sent events: live changes of jobs, nodes and GPUs."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import lru_cache
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from danlu.api.dependencies import Our, Who, still
from danlu.api.node_texts import NodeUpdates
from danlu.api.problems import ApiProblem
from danlu.api.views import event_view
from danlu.services.gpu_usage import GpuNow, Wave
from danlu.services.stream import News, Wanted
from danlu.services.values import Happening
from danlu.spec.states import State
from danlu.spec.text import Text

router = APIRouter(tags=["stream"])
Values = dict[str, Any]

BEAT = 15.0
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
    "X-Accel-Buffering": "no",  # keeps proxies from buffering the stream
}


@router.get(
    "/stream",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "An endless stream of messages; the data of each is a `StreamEvent`",
            "content": {"text/event-stream": {"schema": {"type": "string"}, "example": EXAMPLE}},
        }
    },
)
async def stream(
    request: Request,
    our: Our,
    who: Who,
    jobs: Annotated[
        str | None, Query(max_length=4000, description="only these jobs, separated by commas")
    ] = None,
    owner: Annotated[
        str | None,
        Query(max_length=200, pattern=r"^[^\x00]*$", description="only jobs of this person"),
    ] = None,
    kind: Annotated[
        str | None,
        Query(max_length=400, description="only these kinds of events, separated by commas"),
    ] = None,
    nodes: Annotated[bool, Query(description="include nodes and GPUs")] = False,
    brief: Annotated[
        bool, Query(description="of nodes sent before, leave out what does not change")
    ] = False,
    after: Annotated[
        int | None,
        Query(ge=0, le=LARGEST_SEQ, description="start after this event; default: now"),
    ] = None,
    beat: Annotated[
        float, Query(ge=1, le=60, description="seconds of silence between keep-alives")
    ] = BEAT,
    last_event_id: Annotated[
        str | None, Header(max_length=40, description="like `after`; sent by browsers")
    ] = None,
) -> StreamingResponse:
    """Streams changes as server-sent events.

    The first event is `hello` with the number of the latest event. It is followed by a `job` event
    for every change of a job the caller may see. The number of an event is its `id`: a client that
    reconnects with `Last-Event-ID` (or `after`) gets every event exactly once, even if the server
    was restarted. With `nodes=true`, `nodes` events contain the nodes that changed (at first, all
    of them) as `GET /nodes` does, but without those values of a GPU that are at their default;
    with `brief=true`, later ones also leave out the hardware (of a node `labels`, `address`,
    `cpus`, `memory` and `engine`; of a GPU `node`, `index`, `model`, `uuid` and `memory`), `job`,
    which is the first of `jobs`, empty values, and a `free` of 1 if the GPU is free or else of 0;
    `usage` events contain each measurement: for every GPU of a node `[percent busy, MiB in use]`,
    and since when it has been idle, if so. Comments keep an idle connection alive.
    The stream ends when the token expires or is revoked.
    """
    job_ids = None if jobs is None else await our.jobs.ids(who, _words(jobs))
    wanted = Wanted(job_ids, owner, frozenset(_words(kind)), nodes, beat)
    seq, reset = await our.stream.begin(_start(last_event_id, after))
    hello = _block("hello", {"seq": seq, "at": time.time(), "reset": reset}, seq)
    news = our.stream.listen(who, wanted, seq, lambda: still(request))
    blocks = _blocks(hello, news, NodeUpdates(brief))
    return StreamingResponse(blocks, media_type="text/event-stream", headers=_HEADERS)


async def _blocks(
    hello: bytes, stream: AsyncGenerator[News], updates: NodeUpdates
) -> AsyncIterator[bytes]:
    """Rendered early, so that a slow reader only keeps the text alive."""
    yield hello
    async with aclosing(stream):
        async for news in stream:
            yield _text(news, updates)
            del news


def _text(news: News, updates: NodeUpdates) -> bytes:
    text = b"".join([_job_block(each) for each in news.happenings])
    if news.nodes is not None:
        text += updates.block(news.nodes)
    if news.usage is not None:
        text += _usage_block(news.usage)
    return text or _beat(news.seq)


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


@lru_cache(maxsize=2)
def _usage_block(wave: Wave) -> bytes:
    """For each GPU: percent busy, MiB in use and, if it is idle, since when."""
    nodes = {name: [_gpu(gpu) for gpu in gpus] for name, gpus in wave.nodes.items()}
    return _block("usage", {"at": wave.at, "nodes": nodes})


def _gpu(gpu: GpuNow) -> list[int | None]:
    busy = None if gpu.busy is None else round(100 * gpu.busy)
    memory = None if gpu.memory is None else gpu.memory >> 20
    return [busy, memory, int(gpu.idle_since)] if gpu.idle_since is not None else [busy, memory]


def _block(kind: str, values: Values, seq: int | None = None) -> bytes:
    head = f"id: {seq}\n" if seq is not None else ""
    data = json.dumps(values, separators=(",", ":"))
    return f"{head}event: {kind}\ndata: {data}\n\n".encode()


def _beat(seq: int) -> bytes:
    # Clients remember an id without data, but it is not an event. Users who see few events do
    # not have to skip all the others again after reconnecting.
    return f": beat\nid: {seq}\n\n".encode()


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
        Text(
            f"Last-Event-ID: {last_event_id[:40]!r} is not the id of an event",
            f"Last-Event-ID：{last_event_id[:40]!r} 不是事件编号",
        ),
    )
