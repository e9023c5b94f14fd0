"""Routes for queues: named shares of the nodes, each with rules of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from danlu.access.errors import NotThere, Unfit
from danlu.api.problems import told
from danlu.api.services import Asks, Our, Services, Who
from danlu.api.session import PLAIN
from danlu.control.scheduling import Scheduling
from danlu.spec.errors import Wrong
from danlu.spec.refs import NAME_PATTERN
from danlu.spec.units import parse_duration

router = APIRouter(prefix="/queues", tags=["scheduling"])
Values = dict[str, Any]
T = TypeVar("T")
Name = Annotated[str, Path(max_length=64, pattern=f"^{NAME_PATTERN}$")]
Word = Annotated[str, Field(min_length=1, max_length=64, pattern=PLAIN)]
Time = Annotated[float | Annotated[str, Field(max_length=64)], Field(description="seconds, or 2d")]


class Queue(BaseModel):
    name: str = Field(examples=["vision"])
    nodes: list[str] = Field(description="its nodes; none: all")
    order: str = Field(description="who is next")
    place: str = Field(description="where")
    backfill: bool
    max_wait: float | None = Field(description="seconds after which a job goes before the order")
    half_life: float = Field(description="seconds after which past use counts half (fair)")
    lend: bool
    reclaim: bool
    consolidate: bool
    declared: str = Field(description="built-in, file (danlu.toml) or command")
    merged: list[str] = Field(description="queues that became part of it; their names still work")
    waiting: int
    running: int


class QueueList(BaseModel):
    queues: list[Queue]


class QueueRules(BaseModel):
    """What is left out stays as it is; null: as for all queues."""

    nodes: Annotated[list[Word], Field(min_length=1, max_length=10_000)] | None = None
    order: Word | None = Field(None, examples=["fair"])
    place: Word | None = Field(None, examples=["tight"])
    backfill: bool | None = None
    max_wait: Time | None = Field(None, examples=["2d"])
    half_life: Time | None = Field(None, examples=["7d"])
    lend: bool | None = None
    reclaim: bool | None = None
    consolidate: bool | None = None


class MergeOrder(BaseModel):
    into: Word = Field(examples=["default"])


class Merged(BaseModel):
    jobs: int = Field(description="how many jobs are in the other queue now")
    queue: Queue


@router.get("", response_model=QueueList)
async def list_queues(our: Our, who: Who) -> Values:
    """All queues, their rules, and how many jobs are in each."""
    return {"queues": _views(our)}


@router.put("/{name}", response_model=Queue, responses=told(400, 409, 413))
async def set_queue(name: Name, changes: QueueRules, our: Our, asks: Asks) -> Values:
    """Makes a queue or changes one; what waits is decided by the new rules at once."""
    values = changes.model_dump(exclude_unset=True)
    for key in ("max_wait", "half_life"):
        if values.get(key) is not None:
            values[key] = parsed(key, values[key], parse_duration)
    await _scheduling(our).set_queue(asks, name, values)
    return _view(our, name)


@router.delete("/{name}", response_model=QueueList, responses=told(409))
async def remove_queue(name: Name, our: Our, asks: Asks) -> Values:
    """Only one in which there are no jobs. Answers with those that are left."""
    await _scheduling(our).remove_queue(asks, name)
    return {"queues": _views(our)}


@router.post("/{name}/merge", response_model=Merged, responses=told(400, 409, 413))
async def merge_queue(name: Name, order: MergeOrder, our: Our, asks: Asks) -> Values:
    """Moves the jobs and nodes of a queue into another; its name goes on working."""
    moved = await _scheduling(our).merge(asks, name, order.into)
    return {"jobs": moved, "queue": _view(our, order.into)}


def parsed(key: str, value: object, parse: Callable[[object], T]) -> T:
    """A size or duration as people write it."""
    try:
        return parse(value)
    except Wrong as error:
        found = error.findings[0]
        raise Unfit(key, f"{str(value)[:80]!r} {found.en}", f"{value!r} {found.zh}") from None


def _scheduling(our: Services) -> Scheduling:
    return Scheduling(our.controller.rooms, our.controller.rules_changed)


def _view(our: Services, name: str) -> Values:
    found = next((queue for queue in _views(our) if queue["name"] == name), None)
    if found is None:
        raise NotThere(f"queue {name[:64]}", f"队列 {name[:64]}")
    return found


def _views(our: Services) -> list[Values]:
    rooms = our.controller.rooms
    book = rooms.rulebook
    waiting = Counter(job.row.queue for job in rooms.jobs.values() if job.waiting is not None)
    running = Counter(job.row.queue for job in rooms.attempts.values())
    return [
        {
            "name": name,
            "nodes": sorted(queue.nodes or ()),
            "order": queue.order,
            "place": queue.place,
            "backfill": queue.backfill,
            "max_wait": queue.max_wait,
            "half_life": queue.half_life,
            "lend": queue.lend,
            "reclaim": queue.reclaim,
            "consolidate": queue.consolidate,
            "declared": book.declared(name),
            "merged": sorted(old for old, new in book.merged.items() if new == name),
            "waiting": waiting[name],
            "running": running[name],
        }
        for name, queue in book.queues.items()
    ]
