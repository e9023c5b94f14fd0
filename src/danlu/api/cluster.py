"""Routes for the cluster as the scheduler sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field

from danlu.api.answers import NodeList
from danlu.api.dependencies import Asks, Our, Who
from danlu.api.problems import error_responses
from danlu.api.session import PLAIN
from danlu.api.views import count_view, node_view
from danlu.sched.api import WHOLE, TaskShape

router = APIRouter(tags=["platform"])
Values = dict[str, Any]
_SHOWN = 50  # usual requests
NodeName = Annotated[str, Path(max_length=255, pattern=PLAIN)]


class GpuCount(BaseModel):
    """GPUs, parts included: total = free + reserved + used + out + outside + unknown."""

    total: float
    free: float
    reserved: float = Field(description="free, but kept for a waiting job or one that is moved")
    used: float
    out: float = Field(description="unused, on nodes that are down, drained or unhealthy")
    outside: float = Field(description="used by others than this installation")
    unknown: float = Field(description="unused by us, on nodes of engines that do not answer")
    idle: float = Field(description="of used: held by jobs that are starting or stopping")
    draining: float = Field(description="of used: on drained nodes, until their jobs end")


class ModelCount(GpuCount):
    model: str


class NodeCount(GpuCount):
    node: str


class EngineState(BaseModel):
    name: str
    places: bool = Field(description="whether it places jobs itself")
    nodes: int
    away_since: float | None = Field(description="since when it has not answered")
    problem: str = Field(description="its last message")
    unknown: int = Field(description="jobs whose state is unknown")


class UsualRequest(BaseModel):
    """What tasks often ask for."""

    gpus: float = Field(description="per task, parts included")
    model: str | None
    cpus: float
    memory: int
    count: int = Field(description="tasks among the last that asked for this")


class DiskWriter(BaseModel):
    user: str
    jobs: int = Field(description="running jobs that have written to a disk")
    written: int = Field(description="bytes since they started")


class Cluster(BaseModel):
    gpus: GpuCount
    lent: float = Field(description="of used: GPUs guaranteed to another group")
    drained: list[str] = Field(description="names of drained nodes")
    models: list[ModelCount]
    nodes: list[NodeCount]
    running: int = Field(description="jobs that hold resources")
    waiting: int = Field(description="jobs in our queues and those of engines")
    engines: list[EngineState]
    requests: list[UsualRequest] = Field(
        description="the usual requests that jobs are packed for, most frequent first"
    )
    disk_writers: list[DiskWriter] = Field(
        description="while a disk is almost full, for admins: whose running jobs wrote most"
    )


@router.get("/cluster", response_model=Cluster)
async def cluster(our: Our, who: Who) -> Values:
    """Returns GPU totals for the whole cluster, consistent with all other responses."""
    found = our.cluster.totals(who)
    totals = found.gpus
    return {
        "gpus": count_view(totals.all),
        "lent": totals.all.lent / WHOLE,
        "drained": found.drained,
        "models": [
            {"model": model, **count_view(count)} for model, count in sorted(totals.models.items())
        ],
        "nodes": [{"node": node, **count_view(count)} for node, count in totals.nodes.items()],
        "running": found.running,
        "waiting": found.waiting,
        "engines": [
            {
                "name": engine.name,
                "places": engine.places,
                "nodes": engine.nodes,
                "away_since": engine.away_since,
                "problem": engine.problem,
                "unknown": engine.unknown,
            }
            for engine in found.engines
        ],
        "requests": _usual(found.usual),
        "disk_writers": [
            {"user": each.user, "jobs": each.jobs, "written": each.written}
            for each in found.writers
        ],
    }


def _usual(counts: Mapping[TaskShape, int]) -> list[Values]:
    most = sorted(counts.items(), key=lambda pair: -pair[1])[:_SHOWN]
    return [
        {
            "gpus": shape.amount / WHOLE,
            "model": shape.model or (" / ".join(sorted(shape.models)) or None),
            "cpus": shape.cpus,
            "memory": shape.memory,
            "count": count,
        }
        for shape, count in most
    ]


class DrainOrder(BaseModel):
    reason: Annotated[str, Field(max_length=200, pattern=PLAIN)] = Field(
        "", description="shown to all users", examples=["new fan on Friday"]
    )


@router.post("/nodes/{name}/drain", response_model=NodeList, responses=error_responses(400, 413))
async def drain(name: NodeName, our: Our, asks: Asks, order: DrainOrder | None = None) -> Values:
    """Drains a node: running jobs continue, but none start there. Survives restarts."""
    reason = " ".join(order.reason.split()) if order is not None else ""
    found = await our.cluster.drain(asks, name, True, reason)
    return {"nodes": [node_view(node) for node in found]}


@router.post("/nodes/{name}/resume", response_model=NodeList)
async def resume(name: NodeName, our: Our, asks: Asks) -> Values:
    """Resumes a drained node."""
    return {"nodes": [node_view(node) for node in await our.cluster.drain(asks, name, False)]}


class SnapshotFile(BaseModel):
    danlu: str = Field(description="always `snapshot`")
    version: int = Field(description="version of the format")
    snapshot: dict[str, Any] = Field(
        description="nodes, waiting and running jobs, quotas, past usage"
    )
    policy: dict[str, Any] = Field(description="the rules of every queue")


@router.get("/snapshot", response_model=SnapshotFile)
async def snapshot(our: Our, who: Who) -> Response:
    """Returns the scheduler's input for `danlu replay`, without commands and secrets."""
    return Response(await our.cluster.snapshot(who), media_type="application/json")
