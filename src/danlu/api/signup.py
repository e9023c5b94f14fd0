"""Routes for sign-up, account requests and invitations."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field

from danlu.access.passwords import LONGEST, SHORTEST
from danlu.access.signup import LONGEST_SECONDS, MOST_USES, USUAL_SECONDS, Application
from danlu.api.dependencies import Asks, Our, address_of
from danlu.api.people import User, user_view
from danlu.api.problems import error_responses
from danlu.api.session import PLAIN
from danlu.services.values import InviteRow, RequestRow

router = APIRouter(tags=["people"])
Values = dict[str, Any]
Name = Annotated[str, Path(max_length=64, pattern=PLAIN)]


class SignUpOrder(BaseModel):
    name: str = Field(min_length=1, max_length=64, examples=["alice"])
    password: str = Field(min_length=SHORTEST, max_length=LONGEST)
    full_name: str = Field("", max_length=200)
    code: str | None = Field(None, max_length=100, description="invitation code")
    group: str | None = Field(
        None, max_length=64, pattern=PLAIN, description="without a code: the group to join"
    )
    note: str = Field(
        "", max_length=200, description="without a code: a message to whoever approves"
    )


class SignedUp(BaseModel):
    user: str
    status: str = Field(description="`active`: sign in now; `pending`: awaiting approval")


class Applicant(BaseModel):
    name: str
    full_name: str
    group: str | None
    note: str
    created_at: float
    address: str


class ApplicantList(BaseModel):
    requests: list[Applicant]


class InviteOrder(BaseModel):
    group: str | None = Field(None, max_length=64, pattern=PLAIN)
    uses: int = Field(1, ge=1, le=MOST_USES)
    expires_in: float = Field(
        USUAL_SECONDS, ge=1, le=LONGEST_SECONDS, description="seconds; default: 14 days"
    )
    note: str = Field("", max_length=200)


class Invite(BaseModel):
    id: str
    begins: str = Field(description="the first characters of the code; the rest is not stored")
    group: str | None
    uses: int
    used: int
    created_by: str
    created_at: float
    expires_at: float | None
    note: str


class InviteList(BaseModel):
    invites: list[Invite]


class NewInvite(Invite):
    code: str = Field(description="shown only once")


@router.post(
    "/sign-up", status_code=201, response_model=SignedUp, responses=error_responses(400, 409, 413)
)
async def sign_up(asked: SignUpOrder, request: Request, our: Our) -> Values:
    """Creates an account with an invitation code, or requests one without."""
    order = Application(
        asked.name, asked.password, asked.full_name, asked.code, asked.group, asked.note
    )
    person = await our.signup.sign_up(order, address_of(request))
    return {"user": asked.name, "status": "pending" if person is None else "active"}


@router.get("/requests", response_model=ApplicantList)
async def requests(our: Our, asks: Asks) -> Values:
    """Lists account requests: leaders see those for their groups, admins see all."""
    rows = await our.signup.requests(asks)
    return {"requests": [_request_view(row) for row in rows]}


@router.post("/requests/{name}/approve", response_model=User, responses=error_responses(409))
async def approve(name: Name, our: Our, asks: Asks) -> Values:
    """Approves an account request and adds the user to the requested group."""
    return user_view(await our.signup.approve(asks, name))


@router.post("/requests/{name}/decline", response_model=Applicant)
async def decline(name: Name, our: Our, asks: Asks) -> Values:
    """Declines an account request. The name becomes available again."""
    return _request_view(await our.signup.decline(asks, name))


@router.get("/invites", response_model=InviteList)
async def invites(our: Our, asks: Asks) -> Values:
    """Lists the invitations the caller may see."""
    rows = await our.signup.invites(asks)
    return {"invites": [_invite_view(row) for row in rows]}


@router.post(
    "/invites", status_code=201, response_model=NewInvite, responses=error_responses(400, 413)
)
async def invite(order: InviteOrder, our: Our, asks: Asks) -> Values:
    """Creates an invitation code, returned only once. Leaders may invite to their groups."""
    code, row = await our.signup.invite(asks, order.group, order.uses, order.expires_in, order.note)
    return {**_invite_view(row), "code": code}


@router.delete("/invites/{id}", response_model=Invite)
async def revoke(id: Name, our: Our, asks: Asks) -> Values:
    """Revokes an invitation."""
    return _invite_view(await our.signup.revoke(asks, id))


def _request_view(row: RequestRow) -> Values:
    return {
        "name": row.name,
        "full_name": row.full_name,
        "group": row.group,
        "note": row.note,
        "created_at": row.created_at,
        "address": row.address,
    }


def _invite_view(row: InviteRow) -> Values:
    return {
        "id": row.id,
        "begins": row.hint,
        "group": row.group,
        "uses": row.uses,
        "used": row.used,
        "created_by": row.created_by,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "note": row.note,
    }
