"""Routes for the platform itself: sign in, nodes, cards, the server."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from danlu import __version__
from danlu.api.answers import CardList, Goodbye, LoginAnswer, Me, NodeList, ServerInfo, Version
from danlu.api.problems import ApiProblem, told
from danlu.api.services import Our, Who
from danlu.api.views import card_views, job_view, node_views
from danlu.spec.states import State

router = APIRouter(tags=["platform"])
Values = dict[str, Any]


class Login(BaseModel):
    user: str = Field(min_length=1, max_length=200, pattern=r"^[^\x00]*$")
    password: str = Field(min_length=1, max_length=1000)


@router.get("/version", response_model=Version)
async def version() -> Values:
    return {"version": __version__}


@router.post("/login", response_model=LoginAnswer, responses=told(400, 413))
async def login(asked: Login, our: Our) -> Values:
    """A name and a password become a token."""
    found = await our.gate.login(asked.user, asked.password)
    if found is None:
        raise ApiProblem(401, "wrong_password", "Wrong name or password", "用户名或密码错误")
    token, user = found
    return {"token": token, "user": user.name, "must_change_password": user.must_change}


class NewPassword(BaseModel):
    old: str = Field(min_length=1, max_length=1000)
    new: str = Field(min_length=10, max_length=1000)


@router.post("/password", response_model=Me, responses=told(400, 403, 413))
async def password(asked: NewPassword, our: Our, who: Who) -> Values:
    """Changes one's own password; the one-time password ends with it."""
    if not await our.gate.change_password(who.name, asked.old, asked.new):
        raise ApiProblem(403, "wrong_password", "The old password is wrong", "原密码错误")
    return {"user": who.name, "role": who.role}


@router.get("/whoami", response_model=Me)
async def whoami(who: Who) -> Values:
    return {"user": who.name, "role": who.role}


@router.get("/nodes", response_model=NodeList)
async def nodes(our: Our, who: Who) -> Values:
    return {"nodes": node_views(our.controller)}


@router.get("/gpus", response_model=CardList)
async def gpus(our: Our, who: Who) -> Values:
    cards = card_views(our.controller)
    summary: dict[str, Values] = {}
    for card in cards:
        line = summary.setdefault(card["model"], {"model": card["model"], "total": 0, "free": 0})
        line["total"] += 1
        line["free"] += card["state"] == "free"
    return {"gpus": cards, "summary": [summary[model] for model in sorted(summary)]}


@router.get("/server", response_model=ServerInfo)
async def server(our: Our, who: Who) -> Values:
    rooms = our.controller.rooms
    health = rooms.store.health
    return {
        "version": __version__,
        "data": str(rooms.settings.data),
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
async def shutdown(our: Our, who: Who) -> Values:
    """Stops the server. Tasks go on; the answer lists them."""
    if not who.admin:
        raise ApiProblem(403, "not_allowed", "Only an admin may do this", "只有管理员可以执行")
    jobs = list(our.controller.rooms.attempts.values())
    our.shutdown()
    return {
        "running": [
            job_view(job.row, job.attempt, job.spec)
            for job in jobs
            if job.row.state is not State.STARTING
        ]
    }
