"""Routes for the cluster as the scheduler sees it."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field

from danlu.access import rules
from danlu.access.errors import NotAllowed
from danlu.api.answers import NodeList
from danlu.api.services import Asks, Our, Who
from danlu.api.session import PLAIN
from danlu.api.views import count_view, node_views
from danlu.control.scheduling import Scheduling
from danlu.sched.api import WHOLE, Policy, Snapshot
from danlu.sched.dump import dump

router = APIRouter(tags=["platform"])
Values = dict[str, Any]
NodeName = Annotated[str, Path(max_length=255, pattern=PLAIN)]


class CardCount(BaseModel):
    """Cards, parts included: total = free + reserved + used + out."""

    total: float
    free: float
    reserved: float = Field(description="free, but kept for a waiting job or one that is moved")
    used: float
    out: float = Field(description="of nodes that are down or taken out, or not well; unused")
    idle: float = Field(description="of used: held by jobs that start or are being stopped")


class ModelCount(CardCount):
    model: str


class NodeCount(CardCount):
    node: str


class Cluster(BaseModel):
    gpus: CardCount
    lent: float = Field(description="of used: cards that are another group's by right")
    models: list[ModelCount]
    nodes: list[NodeCount]
    running: int = Field(description="jobs that hold something")
    waiting: int


@router.get("/cluster", response_model=Cluster)
async def cluster(our: Our, who: Who) -> Values:
    """What all cards are doing, added up: the same sum that every other answer shows."""
    rooms, books = our.controller.rooms, our.controller.planner.books()
    return {
        "gpus": count_view(books.all),
        "lent": books.all.lent / WHOLE,
        "models": [
            {"model": model, **count_view(count)} for model, count in sorted(books.models.items())
        ],
        "nodes": [{"node": node, **count_view(count)} for node, count in books.nodes.items()],
        "running": len(rooms.attempts),
        "waiting": len(rooms.queue.waiting),
    }


@router.post("/nodes/{name}/drain", response_model=NodeList)
async def drain(name: NodeName, our: Our, asks: Asks) -> Values:
    """Takes a node out: nothing new starts there, what runs goes on. Kept over restarts."""
    controller = our.controller
    await Scheduling(controller.rooms, controller.rules_changed).drain(asks, name, True)
    return {"nodes": [node for node in node_views(controller) if node["name"] == name]}


@router.post("/nodes/{name}/resume", response_model=NodeList)
async def resume(name: NodeName, our: Our, asks: Asks) -> Values:
    """Takes a node back in."""
    controller = our.controller
    await Scheduling(controller.rooms, controller.rules_changed).drain(asks, name, False)
    return {"nodes": [node for node in node_views(controller) if node["name"] == name]}


class SnapshotFile(BaseModel):
    danlu: str = Field(description="always snapshot")
    version: int = Field(description="of the form of the rest")
    snapshot: dict[str, Any] = Field(description="nodes, who waits, who runs, quotas, past use")
    policy: dict[str, Any] = Field(description="the rules of every queue")


@router.get("/snapshot", response_model=SnapshotFile)
async def snapshot(our: Our, who: Who) -> Response:
    """All that the scheduler decides on, for `danlu replay`; without commands and secrets."""
    if not rules.runs_server(who):
        raise NotAllowed("Only an admin may do this", "只有管理员可以执行")
    planner = our.controller.planner
    # A long queue takes a while to write down: others are answered meanwhile.
    text = await asyncio.to_thread(_written, planner.snapshot(), planner.policy)
    return Response(text, media_type="application/json")


def _written(snapshot: Snapshot, policy: Policy) -> bytes:
    return json.dumps(dump(snapshot, policy), ensure_ascii=False, separators=(",", ":")).encode()
