"""Routes for signing in and out, passwords, sessions and tokens."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field

from danlu.access.gate import SIGNED_IN, Asker, Principal
from danlu.access.passwords import LONGEST, SHORTEST
from danlu.access.tokens import LONGEST_SECONDS, USUAL_SECONDS
from danlu.api.dependencies import Asks, Barely, Our, address_of
from danlu.api.problems import ApiProblem, error_responses
from danlu.services.values import TokenRow
from danlu.spec.text import Text

router = APIRouter(tags=["session"])
Values = dict[str, Any]
PLAIN = r"^[^\x00]*$"


class LoginAnswer(BaseModel):
    token: str
    user: str
    must_change_password: bool


class Me(BaseModel):
    user: str
    role: str = Field(examples=["member"])
    groups: list[str]
    leads: list[str] = Field(description="groups you lead")
    scope: str = Field(description="of the token: `all`, or `read` for a read-only one")
    must_change_password: bool


class Token(BaseModel):
    id: str
    kind: str = Field(
        description="`session`: from a sign-in; `browser`: from one in a browser; "
        "`ssh`: an SSH connection; `personal`; `machine`: the server's"
    )
    label: str
    scope: str
    created_at: float
    expires_at: float | None
    last_used_at: float | None = Field(description="to the hour")
    address: str = Field(description="address it was created from")
    current: bool = Field(description="the one used for this request")


class TokenList(BaseModel):
    tokens: list[Token]


class NewToken(Token):
    token: str = Field(description="shown only once")


class Ended(BaseModel):
    ended: int


class Login(BaseModel):
    user: str = Field(min_length=1, max_length=200, pattern=PLAIN)
    password: str = Field(min_length=1, max_length=LONGEST)


class NewPassword(BaseModel):
    old: str = Field(min_length=1, max_length=LONGEST)
    new: str = Field(min_length=SHORTEST, max_length=LONGEST)


class TokenOrder(BaseModel):
    label: str = Field("", max_length=200)
    scope: str = Field("all", pattern="^(all|read)$")
    expires_in: float = Field(
        USUAL_SECONDS, ge=1, le=LONGEST_SECONDS, description="seconds; default: 90 days"
    )


@router.post("/login", response_model=LoginAnswer, responses=error_responses(400, 413))
async def login(asked: Login, request: Request, our: Our) -> Values:
    """Signs in with name and password. The token expires 30 days after its last use."""
    found = await our.sign_in.login(asked.user, asked.password, address_of(request))
    return {
        "token": found.secret,
        "user": found.user.name,
        "must_change_password": found.user.must_change,
    }


@router.post("/logout", response_model=Me, responses=error_responses(409))
async def logout(request: Request, our: Our, who: Barely) -> Values:
    """Revokes the token that this request was sent with."""
    await our.tokens.logout(Asker(who, address_of(request)))
    return me_view(who)


@router.post("/password", response_model=Me, responses=error_responses(400, 413))
async def password(asked: NewPassword, request: Request, our: Our, who: Barely) -> Values:
    """Changes the caller's password and ends all their other sessions."""
    asker = Asker(who, address_of(request))
    if not await our.sign_in.change_password(asker, asked.old, asked.new):
        raise ApiProblem(403, "wrong_password", Text("The old password is wrong", "原密码错误"))
    return {**me_view(who), "must_change_password": False}


@router.get("/whoami", response_model=Me)
async def whoami(who: Barely) -> Values:
    """Returns the user the token belongs to, and their permissions."""
    return me_view(who)


@router.get("/sessions", response_model=TokenList)
async def sessions(our: Our, asks: Asks) -> Values:
    """Lists the caller's sessions."""
    rows = await our.tokens.of(asks)
    return {"tokens": [token_view(row, asks.who) for row in rows if row.kind in SIGNED_IN]}


@router.delete("/sessions", response_model=Ended)
async def end_sessions(our: Our, asks: Asks) -> Values:
    """Ends all other sessions of the caller."""
    return {"ended": await our.tokens.end_sessions(asks)}


@router.get("/tokens", response_model=TokenList)
async def tokens(
    our: Our,
    asks: Asks,
    user: Annotated[
        str | None, Query(max_length=200, pattern=PLAIN, description="someone else's, for admins")
    ] = None,
) -> Values:
    """Lists the caller's tokens, without their values, which are not stored."""
    rows = await our.tokens.of(asks, user)
    return {"tokens": [token_view(row, asks.who) for row in rows]}


@router.post(
    "/tokens", status_code=201, response_model=NewToken, responses=error_responses(400, 409, 413)
)
async def make_token(order: TokenOrder, our: Our, asks: Asks) -> Values:
    """Creates a personal token for scripts. Its value is only returned once."""
    made = await our.tokens.make(asks, order.label, order.scope, order.expires_in)
    return {**token_view(made[1], asks.who), "token": made[0]}


@router.delete("/tokens/{id}", response_model=Token, responses=error_responses(409))
async def revoke_token(
    id: Annotated[str, Path(max_length=64, pattern=PLAIN)], our: Our, asks: Asks
) -> Values:
    """Revokes a token and closes its open connections."""
    return token_view(await our.tokens.revoke(asks, id), asks.who)


def me_view(who: Principal) -> Values:
    return {
        "user": who.name,
        "role": who.role,
        "groups": sorted(who.groups),
        "leads": sorted(who.leads),
        "scope": who.scope,
        "must_change_password": who.must_change,
    }


def token_view(row: TokenRow, who: Principal) -> Values:
    return {
        "id": row.id,
        "kind": row.kind,
        "label": row.label,
        "scope": row.scope,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "last_used_at": row.last_used_at,
        "address": row.address,
        "current": row.id == who.token_id,
    }
