"""Routes for the cluster as the scheduler sees it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from danlu.access import rules
from danlu.access.errors import NotAllowed
from danlu.api.services import Our, Who
from danlu.sched.api import Policy, Snapshot
from danlu.sched.dump import dump

router = APIRouter(tags=["platform"])


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
