"""What the routes work with, and how they get at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request, WebSocket
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import HTTPConnection

from danlu.access import rules
from danlu.access.accounts import Accounts
from danlu.access.errors import AccessError
from danlu.access.gate import Gate
from danlu.access.principal import Asker, Principal
from danlu.api.problems import ApiProblem
from danlu.control.controller import Controller
from danlu.control.feed import Feed
from danlu.control.handover import HandOver
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
    accounts: Accounts
    addresses: list[str] = field(default_factory=list)
    shutdown: Callable[[], None] = lambda: None
    proxies: frozenset[str] = frozenset()  # whose word on a client's address is taken
    feed: Feed = field(init=False)
    handover: HandOver = field(init=False)

    def __post_init__(self) -> None:
        self.feed = Feed(self.controller.rooms)
        self.handover = HandOver(self.controller.rooms)


bearer = HTTPBearer(
    auto_error=False, description="A token from `danlu login` or the server's start"
)


async def services(request: Request) -> Services:
    # Not a plain function: those are run in a thread, which costs more than the whole request.
    found = request.app.state.services
    assert isinstance(found, Services)
    return found


def address_of(connection: HTTPConnection) -> str:
    """Where a request comes from, as far as it can be trusted."""
    peer = connection.client.host if connection.client else ""
    found = connection.app.state.services
    if isinstance(found, Services) and peer in found.proxies:
        # The last one was added by our own proxy; those before it are whatever the client wrote.
        told = connection.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
        return told[:100] or peer
    return peer or "local"


async def signed_in(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Principal:
    """Whoever has a valid token; also one who has yet to change a one-time password."""
    gate = (await services(request)).gate
    who = None
    if credentials is not None:
        who = await gate.who(credentials.credentials, address_of(request))
    if who is None:
        raise ApiProblem(
            401,
            "not_signed_in",
            "Not signed in: send a valid token (danlu login)",
            "未登录：请提供有效的令牌（danlu login）",
        )
    # By the method, so that no route can forget it.
    if request.method not in ("GET", "HEAD") and not rules.may_change(who):
        raise read_only()
    return who


async def principal(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Principal:
    who = await signed_in(request, credentials)
    if who.must_change:
        raise change_first()
    return who


async def asker(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Asker:
    return Asker(await principal(request, credentials), address_of(request))


async def still(request: Request) -> Principal | None:
    """Who is asking, looked up once more: a stream may outlive its token."""
    try:
        return await principal(request, await bearer(request))
    except (ApiProblem, AccessError):
        return None


async def socket_asker(socket: WebSocket) -> Asker:
    """Sockets go into tasks: a token for reading is not enough. Raises ApiProblem, AccessError."""
    kind, _, token = socket.headers.get("authorization", "").partition(" ")
    found = socket.app.state.services
    assert isinstance(found, Services)
    address = address_of(socket)
    who = None
    if kind.lower() == "bearer" and token.strip():
        who = await found.gate.who(token.strip(), address)
    if who is None:
        raise ApiProblem(401, "not_signed_in", "not signed in", "未登录")
    if not rules.may_change(who):
        raise read_only()
    if who.must_change:
        raise change_first()
    return Asker(who, address)


def read_only() -> ApiProblem:
    return ApiProblem(
        403,
        "read_only",
        "This token may only read; use another one (danlu token create)",
        "该令牌只能读取；请使用其他令牌（danlu token create）",
    )


def change_first() -> ApiProblem:
    return ApiProblem(
        403,
        "change_password",
        "You signed in with a one-time password: change it first (danlu passwd)",
        "你用一次性密码登录：请先修改密码（danlu passwd）",
    )


Who = Annotated[Principal, Depends(principal)]
Barely = Annotated[Principal, Depends(signed_in)]
Asks = Annotated[Asker, Depends(asker)]
Our = Annotated[Services, Depends(services)]
