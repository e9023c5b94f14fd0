"""Routes for browsers: sign in with a cookie, and one-time tickets for WebSockets."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from danlu.access.principal import Asker, Principal
from danlu.access.tickets import LASTS
from danlu.api.cookies import csrf_of, give, secret_of, take_back
from danlu.api.dependencies import Asks, Barely, Our, address_of, not_signed_in
from danlu.api.origins import check_browser
from danlu.api.problems import BASE, error_responses
from danlu.api.session import Login, Me, me_view

router = APIRouter(tags=["session"])
Values = dict[str, Any]


class BrowserSession(Me):
    csrf_token: str = Field(
        description="send it as `X-CSRF-Token` with every request but GET; empty with a token"
    )


class TicketOrder(BaseModel):
    path: str = Field(
        max_length=500,
        pattern=rf"^{BASE}/[^\x00]*$",
        description="the path of the WebSocket it is for",
        examples=[f"{BASE}/jobs/alice~mnist-3/exec"],
    )


class Ticket(BaseModel):
    ticket: str = Field(description="append it as `?ticket=`; valid once")
    expires_in: float = Field(description="seconds")


async def _our_own_page(request: Request) -> None:
    check_browser(request)


OwnPage = Annotated[None, Depends(_our_own_page)]


@router.post("/session", response_model=BrowserSession, responses=error_responses(400, 413, 421))
async def sign_in(
    asked: Login, request: Request, response: Response, our: Our, own_page: OwnPage
) -> Values:
    """Signs a browser in and sets an HttpOnly session cookie.

    The session expires after 30 days, or after 7 days without use.
    """
    found = await our.sign_in.login(
        asked.user,
        asked.password,
        address_of(request),
        kind="browser",
        label=_label(request),
        instead_of=secret_of(request),
    )
    give(request, response, found.secret)
    response.headers["Cache-Control"] = "no-store"
    who = await our.gate.again(found.who)
    if who is None:
        raise not_signed_in()
    return _view(who, found.secret)


@router.get("/session", response_model=BrowserSession)
async def session(request: Request, response: Response, who: Barely) -> Values:
    """Returns the signed-in user and the CSRF token that requests from a page must send."""
    response.headers["Cache-Control"] = "no-store"
    return _view(who, secret_of(request) if who.kind == "browser" else "")


@router.delete("/session", response_model=Me, responses=error_responses(409))
async def sign_out(request: Request, response: Response, our: Our, who: Barely) -> Values:
    """Ends the session, or revokes the token, that this request was sent with."""
    await our.tokens.logout(Asker(who, address_of(request)))
    take_back(request, response)
    return me_view(who)


@router.post(
    "/tickets", status_code=201, response_model=Ticket, responses=error_responses(400, 413)
)
async def make_ticket(order: TicketOrder, our: Our, asks: Asks) -> Values:
    """Creates a ticket for one WebSocket, since pages cannot send headers with those."""
    return {"ticket": our.tickets.make(asks.who, order.path), "expires_in": LASTS}


def _view(who: Principal, secret: str) -> Values:
    return {**me_view(who), "csrf_token": csrf_of(secret) if secret else ""}


def _label(request: Request) -> str:
    """A label that users recognise in their list of sessions."""
    agent = request.headers.get("user-agent", "")
    return "".join(char for char in agent if char.isprintable())[:200].strip() or "browser"
