"""Rows to play with."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

from danlu.spec.placement import Placement
from danlu.spec.states import State
from danlu.store import Store
from danlu.store.rows import AttemptRow, EventRow, JobRow


async def healthy(store: Store) -> None:
    """Wait until the store has found out by itself, without being asked to write."""
    async with asyncio.timeout(60):
        while not store.health.ok:  # noqa: ASYNC110 - its threads note it, no loop is told
            await asyncio.sleep(0.05)


_ids = itertools.count(1)


def new_id() -> str:
    return f"id-{next(_ids):06}"


def a_job(**values: Any) -> JobRow:
    job: dict[str, Any] = {
        "id": new_id(),
        "owner": "alice",
        "name": "mnist",
        "number": 0,
        "kind": "train",
        "state": State.QUEUED,
        "spec": {"name": "mnist", "roles": [{"name": "main", "command": ["python", "训练.py"]}]},
        "queue": "default",
        "priority": 0,
        "submitted_at": 1700000000.25,
    }
    return JobRow(**(job | values))


def an_attempt(job_id: str, number: int = 1, **values: Any) -> AttemptRow:
    attempt: dict[str, Any] = {
        "id": new_id(),
        "job_id": job_id,
        "number": number,
        "state": State.STARTING,
        "epoch": 1,
        "places": (Placement("n1", (0, 1), ports=(5001,)),),
        "created_at": 1700000001.5,
    }
    return AttemptRow(**(attempt | values))


def an_event(job_id: str | None = None, **data: Any) -> EventRow:
    return EventRow(job_id, 1700000000.5, "submitted", "alice", data)
