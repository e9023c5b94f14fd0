"""FastAPI dependencies: the services and the caller."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request, WebSocket
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import HTTPConnection

from danlu.access import rules
from danlu.access.errors import AccessError
from danlu.access.principal import Asker, Principal
from danlu.api.cookies import visitor
from danlu.api.origins import check_browser
from danlu.api.problems import ApiProblem
from danlu.services.services import Services
from danlu.spec.text import Text

bearer = HTTPBearer(
    auto_error=False, description="A token from `danlu login`, or the one created at startup"
)


async def services(request: Request) -> Services:
    # Async, since plain functions run in a thread, which costs more than the whole request.
    found = request.app.state.services
    assert isinstance(found, Services)
    return found


def address_of(connection: HTTPConnection) -> str:
    """The client's address, as far as it can be trusted."""
    peer = connection.client.host if connection.client else ""
    found = connection.app.state.services
    if isinstance(found, Services) and peer in found.proxies:
        # Our own proxy added the last one; those before it are up to the client.
        told = connection.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
        return told[:100] or peer
    return peer or "local"


async def signed_in(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Principal:
    """A user with a valid token or browser session, even if a one-time password is unchanged."""
    if credentials is not None:
        gate = (await services(request)).gate
        who = await gate.who(credentials.credentials, address_of(request))
    else:
        who = await visitor(request, address_of(request))
    if who is None:
        raise not_signed_in()
    # Based on the method, so that no route can forget it.
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
    """Looks up the caller again, since a stream may outlive its token."""
    try:
        return await principal(request, await bearer(request))
    except (ApiProblem, AccessError):
        return None


async def socket_asker(socket: WebSocket) -> Asker:
    """Sockets lead into tasks, so a read-only token is not enough. Raises ApiProblem, AccessError.

    Pages cannot send headers with a WebSocket, so they use a ticket. A cookie alone is not enough,
    since browsers also send it with WebSockets opened by other sites.
    """
    kind, _, token = socket.headers.get("authorization", "").partition(" ")
    ticket = socket.query_params.get("ticket", "")
    found = socket.app.state.services
    assert isinstance(found, Services)
    address = address_of(socket)
    who = None
    if kind.lower() == "bearer" and token.strip():
        who = await found.gate.who(token.strip(), address)
    elif ticket:
        check_browser(socket)
        who = await found.tickets.redeem(ticket, socket.scope["path"])
    if who is None:
        raise ApiProblem(401, "not_signed_in", Text("Not signed in", "未登录"))
    if not rules.may_change(who):
        raise read_only()
    if who.must_change:
        raise change_first()
    return Asker(who, address)


def not_signed_in() -> ApiProblem:
    return ApiProblem(
        401,
        "not_signed_in",
        Text(
            "Not signed in: send a valid token (danlu login)",
            "未登录：请提供有效的令牌（danlu login）",
        ),
    )


def read_only() -> ApiProblem:
    return ApiProblem(
        403,
        "read_only",
        Text(
            "This token is read-only; use another one (danlu token create)",
            "该令牌只能读取；请使用其他令牌（danlu token create）",
        ),
    )


def change_first() -> ApiProblem:
    return ApiProblem(
        403,
        "change_password",
        Text(
            "You signed in with a one-time password: change it first (danlu passwd)",
            "你用一次性密码登录：请先修改密码（danlu passwd）",
        ),
    )


Who = Annotated[Principal, Depends(principal)]
Barely = Annotated[Principal, Depends(signed_in)]
Asks = Annotated[Asker, Depends(asker)]
Our = Annotated[Services, Depends(services)]
