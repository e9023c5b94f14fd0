"""Routes for queues: named shares of the nodes, each with rules of its own."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from danlu.api.dependencies import Asks, Our, Who
from danlu.api.problems import error_responses
from danlu.api.session import PLAIN
from danlu.services.scheduling import QueueState
from danlu.spec.refs import NAME_PATTERN

router = APIRouter(prefix="/queues", tags=["scheduling"])
Values = dict[str, Any]
Name = Annotated[str, Path(max_length=64, pattern=f"^{NAME_PATTERN}$")]
Word = Annotated[str, Field(min_length=1, max_length=64, pattern=PLAIN)]
Time = Annotated[float | Annotated[str, Field(max_length=64)], Field(description="seconds, or 2d")]


class Queue(BaseModel):
    name: str = Field(examples=["vision"])
    engine: str = Field(description="the engine that runs its jobs", examples=["local"])
    nodes: list[str] = Field(description="its nodes; empty: all of its engine")
    kinds: list[str] = Field(description="the kinds of jobs it takes; empty: all")
    order: str = Field(description="order of waiting jobs")
    place: str = Field(description="where")
    backfill: bool
    max_wait: float | None = Field(description="seconds after which a job goes first")
    half_life: float = Field(description="half-life of past usage in seconds (fair)")
    lend: bool
    reclaim: bool
    consolidate: bool
    preempt: str = Field(
        description="which preemptible jobs may be preempted: never, lower-priority"
    )
    priority: int = Field(description="on shared nodes, higher goes first")
    weight: float | None = Field(description="its share of shared nodes, relative to other weights")
    declared: str = Field(description="built-in, file (danlu.toml) or command")
    merged: list[str] = Field(description="queues merged into it; their names still work")
    waiting: int
    running: int


class QueueList(BaseModel):
    queues: list[Queue]


class QueueRules(BaseModel):
    """What is left out stays as it is; null: as for all queues."""

    engine: Word | None = Field(None, examples=["local"])
    nodes: Annotated[list[Word], Field(min_length=1, max_length=10_000)] | None = None
    kinds: Annotated[list[Word], Field(min_length=1, max_length=10)] | None = Field(
        None, examples=[["environment"]]
    )
    order: Word | None = Field(None, examples=["fair"])
    place: Word | None = Field(None, examples=["tight"])
    backfill: bool | None = None
    max_wait: Time | None = Field(None, examples=["2d"])
    half_life: Time | None = Field(None, examples=["7d"])
    lend: bool | None = None
    reclaim: bool | None = None
    consolidate: bool | None = None
    preempt: Word | None = Field(None, examples=["lower-priority"])
    priority: Annotated[int, Field(ge=-1000, le=1000)] | None = None
    weight: Annotated[float, Field(gt=0, le=1e6)] | None = None


class MergeOrder(BaseModel):
    into: Word = Field(examples=["default"])


class Merged(BaseModel):
    jobs: int = Field(description="how many jobs were moved")
    queue: Queue


@router.get("", response_model=QueueList)
async def list_queues(our: Our, who: Who) -> Values:
    """Lists all queues with their rules and the number of jobs in each."""
    return {"queues": [_view(queue) for queue in our.scheduling.queues(who)]}


@router.put("/{name}", response_model=Queue, responses=error_responses(400, 409, 413))
async def set_queue(name: Name, changes: QueueRules, our: Our, asks: Asks) -> Values:
    """Creates or changes a queue. The new rules apply to waiting jobs at once."""
    values = changes.model_dump(exclude_unset=True)
    return _view(await our.scheduling.set_queue(asks, name, values))


@router.delete("/{name}", response_model=QueueList, responses=error_responses(409))
async def remove_queue(name: Name, our: Our, asks: Asks) -> Values:
    """Removes a queue that has no jobs. Returns the remaining queues."""
    left = await our.scheduling.remove_queue(asks, name)
    return {"queues": [_view(queue) for queue in left]}


@router.post("/{name}/merge", response_model=Merged, responses=error_responses(400, 409, 413))
async def merge_queue(name: Name, order: MergeOrder, our: Our, asks: Asks) -> Values:
    """Merges a queue, with its jobs and nodes, into another. Its name remains valid."""
    moved, queue = await our.scheduling.merge(asks, name, order.into)
    return {"jobs": moved, "queue": _view(queue)}


def _view(queue: QueueState) -> Values:
    rules = queue.rules
    return {
        "name": queue.name,
        "engine": queue.engine,
        "nodes": sorted(rules.nodes or ()),
        "kinds": sorted(rules.kinds),
        "order": rules.order,
        "place": rules.place,
        "backfill": rules.backfill,
        "max_wait": rules.max_wait,
        "half_life": rules.half_life,
        "lend": rules.lend,
        "reclaim": rules.reclaim,
        "consolidate": rules.consolidate,
        "preempt": rules.preempt,
        "priority": rules.priority,
        "weight": rules.weight,
        "declared": queue.declared,
        "merged": list(queue.merged),
        "waiting": queue.waiting,
        "running": queue.running,
    }
