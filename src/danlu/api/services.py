"""What the routes work with, and how they get at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request, WebSocket
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from danlu.access.gate import Gate, Principal
from danlu.api.problems import ApiProblem
from danlu.control.controller import Controller
from danlu.control.logs import Logs
from danlu.control.lookup import Lookup
from danlu.control.submit import Submitter


@dataclass(slots=True)
class Services:
    controller: Controller
    lookup: Lookup
    submitter: Submitter
    logs: Logs
    gate: Gate
    addresses: list[str] = field(default_factory=list)
    shutdown: Callable[[], None] = lambda: None


_bearer = HTTPBearer(
    auto_error=False, description="A token from `danlu login` or the server's start"
)


async def services(request: Request) -> Services:
    # Not a plain function: those are run in a thread, which costs more than the whole request.
    found = request.app.state.services
    assert isinstance(found, Services)
    return found


async def principal(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Principal:
    gate = (await services(request)).gate
    who = await gate.who(credentials.credentials) if credentials else None
    if who is None:
        raise ApiProblem(
            401,
            "not_signed_in",
            "Not signed in: send a valid token (danlu login)",
            "未登录：请提供有效的令牌（danlu login）",
        )
    return who


async def socket_principal(socket: WebSocket) -> Principal | None:
    kind, _, token = socket.headers.get("authorization", "").partition(" ")
    found = socket.app.state.services
    assert isinstance(found, Services)
    return await found.gate.who(token.strip()) if kind.lower() == "bearer" and token else None


Who = Annotated[Principal, Depends(principal)]
Our = Annotated[Services, Depends(services)]
