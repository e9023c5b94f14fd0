"""Routes for the platform itself: nodes, cards, the server."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from fastapi import APIRouter

from danlu import __version__
from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import NotAllowed
from danlu.api.answers import CardList, Goodbye, NodeList, ServerInfo, Version
from danlu.api.problems import told
from danlu.api.services import Asks, Our, Who
from danlu.api.views import card_views, job_view, node_views
from danlu.spec.states import State
from danlu.store.errors import StoreError

router = APIRouter(tags=["platform"])
Values = dict[str, Any]


@router.get("/version", response_model=Version)
async def version() -> Values:
    """The version of the server."""
    return {"version": __version__}


@router.get("/nodes", response_model=NodeList)
async def nodes(our: Our, who: Who) -> Values:
    """The nodes: what each has, what is free, who holds which card."""
    return {"nodes": node_views(our.controller)}


@router.get("/gpus", response_model=CardList)
async def gpus(our: Our, who: Who) -> Values:
    """All cards, and how many of each model are free."""
    cards = card_views(our.controller)
    summary: dict[str, Values] = {}
    for card in cards:
        line = summary.setdefault(card["model"], {"model": card["model"], "total": 0, "free": 0})
        line["total"] += 1
        line["free"] += card["state"] == "free"
    return {"gpus": cards, "summary": [summary[model] for model in sorted(summary)]}


@router.get("/server", response_model=ServerInfo)
async def server(our: Our, who: Who) -> Values:
    """The server: where it is, what it runs, how its database is."""
    rooms = our.controller.rooms
    health = rooms.store.health
    return {
        "version": __version__,
        "data": str(rooms.settings.data) if rules.runs_server(who) else "",
        "addresses": our.addresses,
        "engine": rooms.engine.name,
        "tasks_running": sum(len(job.shapes) for job in rooms.attempts.values()),
        "jobs_active": len(rooms.attempts),
        "jobs_queued": len(rooms.queue.waiting),
        "database_ok": health.ok,
        "database_problem_en": health.problem.en if health.problem else "",
        "database_problem_zh": health.problem.zh if health.problem else "",
    }


@router.post("/server/shutdown", response_model=Goodbye, responses=told(403))
async def shutdown(our: Our, asks: Asks) -> Values:
    """Stops the server. Tasks go on; the answer lists them."""
    if not rules.runs_server(asks.who):
        raise NotAllowed("Only an admin may do this", "只有管理员可以执行")
    jobs = list(our.controller.rooms.attempts.values())
    # Also where the database is away: a server must be stoppable.
    with contextlib.suppress(StoreError, TimeoutError):
        async with asyncio.timeout(2):
            await our.controller.rooms.store.write(lambda tx: note(tx, asks, "server.shutdown", ""))
    our.shutdown()
    return {
        "running": [
            job_view(job.row, job.attempt, job.spec)
            for job in jobs
            if job.row.state is not State.STARTING
        ]
    }
