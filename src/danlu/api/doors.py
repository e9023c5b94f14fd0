"""Routes for doors: what a job serves, for browsers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Request
from pydantic import BaseModel, ConfigDict, Field

from danlu.access.tickets import LASTS
from danlu.api.dependencies import Asks, Our
from danlu.api.origins import asked_host
from danlu.api.problems import ApiProblem, error_responses
from danlu.services.web_doors import Opened
from danlu.spec.hosts import bare, is_loopback
from danlu.spec.text import Text

router = APIRouter(prefix="/jobs", tags=["jobs"])
Values = dict[str, Any]


class DoorOrder(BaseModel):
    """Either a tool of a development environment, or a port."""

    model_config = ConfigDict(extra="forbid")

    door: Literal["lab", "code", "tensorboard"] | None = Field(None, examples=["lab"])
    port: int | None = Field(None, ge=1, le=65535, description="the port on which the job listens")
    task: int = Field(0, ge=0, le=100_000)


class OpenDoor(BaseModel):
    url: str = Field(description="for the browser; valid once, and only for a short time")
    scheme: str
    host: str
    port: int
    path: str = Field(description="with the ticket")
    expires_in: float = Field(description="seconds until the ticket expires")


@router.post(
    "/{ref}/doors",
    status_code=201,
    response_model=OpenDoor,
    responses=error_responses(400, 409, 413),
)
async def open_door(
    ref: str, order: Annotated[DoorOrder, Body()], request: Request, our: Our, asks: Asks
) -> Values:
    """Opens what a running job serves to the caller's browser, on a port of its own.

    The link signs a browser in at this one door. Only those who may enter the job get one.
    """
    if (order.door is None) == (order.port is None):
        raise ApiProblem(
            422,
            "invalid_request",
            Text("write either door or port", "请写 door 或 port 其中之一"),
        )
    target = order.door or f"port {order.port}"
    opened = await our.web_doors.open(asks, ref, order.task, target)
    return _view(opened, bare(asked_host(request)) or "localhost")


def _view(opened: Opened, asked: str) -> Values:
    """Under the name by which the caller came here: it leads to this machine."""
    host, port = asked, opened.port
    if opened.domain:
        name, _, own = opened.domain.partition(":")
        host, port = f"{opened.key.id}.{name}", int(own or port)
    scheme = "http" if is_loopback(host) else "https"
    path = f"/.danlu/enter?ticket={opened.ticket}"
    shown = f"[{host}]" if ":" in host else host
    return {
        "url": f"{scheme}://{shown}:{port}{path}",
        "scheme": scheme,
        "host": host,
        "port": port,
        "path": path,
        "expires_in": LASTS,
    }
