"""Routes for the usage of jobs and nodes."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from danlu.api.cluster import NodeName
from danlu.api.dependencies import Our, Who
from danlu.api.listing import LATEST
from danlu.api.problems import ApiProblem, error_responses
from danlu.metrics.series import Series
from danlu.metrics.values import METRICS
from danlu.services.metrics import Asked, JobUsage, MetricsAway, NodeUsage
from danlu.spec.text import Text

router = APIRouter(tags=["metrics"])
Values = dict[str, Any]
Since = Annotated[float | None, Query(ge=0, le=LATEST, description="from this time")]
Until = Annotated[float | None, Query(ge=0, le=LATEST, description="until this time")]
Points = Annotated[int, Query(ge=1, le=1000, description="at most this many steps, or one more")]


class MetricSeries(BaseModel):
    """One value for each step; null where nothing was measured."""

    name: str = Field(description=", ".join(METRICS))
    unit: str
    mean: list[float | None]
    min: list[float | None] | None = Field(description="null for several tasks")
    max: list[float | None] | None = Field(description="null for several tasks")


class TaskUsage(BaseModel):
    task: int
    at: float
    values: dict[str, float] = Field(description="latest values by metric")


class GpuSeries(BaseModel):
    index: int
    values: dict[str, float] = Field(description="latest values by metric")
    series: list[MetricSeries]


class JobMetrics(BaseModel):
    since: float = Field(description="start of the first step")
    step: float = Field(description="seconds")
    series: list[MetricSeries] = Field(description="of one task, or the sum of all")
    tasks: list[TaskUsage] = Field(description="current usage of running tasks")


class NodeMetrics(BaseModel):
    since: float = Field(description="start of the first step")
    step: float = Field(description="seconds")
    values: dict[str, float] = Field(description="latest values by metric")
    series: list[MetricSeries]
    gpus: list[GpuSeries] = Field(description="those that can be measured")


@router.get("/jobs/{ref}/metrics", response_model=JobMetrics, responses=error_responses(409))
async def job(
    ref: str,
    our: Our,
    who: Who,
    since: Since = None,
    until: Until = None,
    points: Points = 200,
    task: Annotated[int | None, Query(ge=0, le=2**31, description="only this task")] = None,
) -> Response:
    """Returns the resource usage of a job: CPUs, memory, disks, network and GPUs.

    The default time range is the whole run. Samples are kept for a month, at decreasing resolution.
    """
    try:
        found = await our.metrics.job(who, ref, Asked(since, until, points), task)
    except MetricsAway:
        raise _away() from None
    # Serialized in a thread, since long series take a while.
    return Response(await asyncio.to_thread(_job, found), media_type="application/json")


@router.get("/nodes/{name}/metrics", response_model=NodeMetrics)
async def node(
    name: NodeName,
    our: Our,
    who: Who,
    since: Since = None,
    until: Until = None,
    points: Points = 200,
) -> Response:
    """Returns the usage of a node and of each of its GPUs; by default for the last hour."""
    try:
        found = await our.metrics.node(who, name, Asked(since, until, points))
    except MetricsAway:
        raise _away() from None
    return Response(await asyncio.to_thread(_node, found), media_type="application/json")


def _away() -> ApiProblem:
    return ApiProblem(
        503,
        "metrics",
        Text("Metrics are temporarily unavailable. Try again", "暂时无法读取用量记录。请稍后重试"),
    )


def _job(found: JobUsage) -> bytes:
    tasks = [
        {"task": sample.subject.part, "at": sample.at, "values": dict(sample.values)}
        for sample in found.tasks
    ]
    return _written(found, {"series": _lines(found.series), "tasks": tasks})


def _node(found: NodeUsage) -> bytes:
    gpus = [
        {"index": gpu.index, "values": dict(gpu.now), "series": _lines(gpu.series)}
        for gpu in found.gpus
    ]
    return _written(
        found, {"values": dict(found.now), "series": _lines(found.series), "gpus": gpus}
    )


def _written(found: JobUsage | NodeUsage, values: Values) -> bytes:
    shown = {"since": float(found.shown.since), "step": float(found.shown.step)}
    return json.dumps({**shown, **values}, separators=(",", ":")).encode()


def _lines(lines: list[Series]) -> list[Values]:
    return [
        {
            "name": line.name,
            "unit": line.unit,
            "mean": line.mean,
            "min": line.low,
            "max": line.high,
        }
        for line in lines
    ]
