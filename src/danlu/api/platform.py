"""Routes for the platform itself: nodes, GPUs, the server."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from danlu import __version__
from danlu.api.answers import Goodbye, GpuList, NodeList, ServerInfo, Version
from danlu.api.dependencies import Asks, Our, Who
from danlu.api.problems import error_responses
from danlu.api.views import job_view, node_view

router = APIRouter(tags=["platform"])
Values = dict[str, Any]


@router.get("/version", response_model=Version)
async def version(our: Our) -> Values:
    """Returns the version of the server."""
    return {"version": __version__, "demo": our.server.demo}


@router.get("/nodes", response_model=NodeList)
async def nodes(our: Our, who: Who) -> Values:
    """Lists the nodes with their resources, what is free, and who holds which GPU."""
    now = our.cluster.usage.now().nodes
    found = [node_view(node, now.get(node.name, ())) for node in our.cluster.nodes(who)]
    return {"nodes": found}


@router.get("/gpus", response_model=GpuList)
async def gpus(our: Our, who: Who) -> Values:
    """Lists all GPUs, and how many of each model are free."""
    nodes = our.cluster.nodes(who)
    now = our.cluster.usage.now().nodes
    gpus = [gpu for node in nodes for gpu in node_view(node, now.get(node.name, ()))["gpus"]]
    summary: dict[str, Values] = {}
    for gpu in gpus:
        line = summary.setdefault(gpu["model"], {"model": gpu["model"], "total": 0, "free": 0})
        line["total"] += 1
        line["free"] += gpu["state"] == "free"
    return {"gpus": gpus, "summary": [summary[model] for model in sorted(summary)]}


@router.get("/server", response_model=ServerInfo)
async def server(our: Our, who: Who) -> Values:
    """Returns the status of the server: addresses, running jobs and database."""
    info = our.server.info(who)
    return {
        "version": __version__,
        "data": info.data,
        "addresses": info.addresses,
        "engine": info.engine,
        "tasks_running": info.tasks_running,
        "jobs_active": info.jobs_active,
        "jobs_queued": info.jobs_queued,
        "database_ok": info.database_ok,
        **info.database_problem.values("database_problem"),
        "disk_full_since": info.disk_full_since,
        "disk_low_since": info.disk_low_since,
        "disk_free": info.disk_free,
        "ssh_port": info.ssh_port,
        "ssh_host_key": info.ssh_host_key,
    }


@router.post("/server/shutdown", response_model=Goodbye, responses=error_responses(403))
async def shutdown(our: Our, asks: Asks) -> Values:
    """Stops the server. Tasks keep running; the response lists their jobs."""
    running = await our.server.shutdown(asks)
    return {"running": [job_view(each.row, each.attempt, spec=each.spec) for each in running]}
