"""Routes for accounts: add, show, change, disable, enable, remove, transfer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from danlu.access.people import NewPerson, Person
from danlu.api.dependencies import Asks, Our
from danlu.api.problems import error_responses
from danlu.api.session import PLAIN

router = APIRouter(prefix="/users", tags=["people"])
Values = dict[str, Any]
Name = Annotated[str, Path(max_length=64, pattern=PLAIN)]
LARGEST_NUMBER = 2**31 - 2


class User(BaseModel):
    name: str = Field(examples=["alice"])
    full_name: str
    role: str = Field(examples=["member"])
    status: str = Field(description="`active`, `disabled` or `removed`")
    groups: list[str]
    leads: list[str] = Field(description="groups this person leads")
    uid: int | None = Field(description="on the machine; null if all tasks share one")
    gid: int | None
    must_change_password: bool
    created_at: float


class UserList(BaseModel):
    users: list[User]


class NewUser(BaseModel):
    name: str = Field(min_length=1, max_length=64, examples=["alice"])
    full_name: str = Field("", max_length=200)
    role: str = Field("member", pattern="^(admin|member)$")
    groups: list[Annotated[str, Field(max_length=64, pattern=PLAIN)]] = Field([], max_length=100)
    leads: list[Annotated[str, Field(max_length=64, pattern=PLAIN)]] = Field([], max_length=100)
    uid: int | None = Field(None, ge=1000, le=LARGEST_NUMBER)
    gid: int | None = Field(None, ge=1000, le=LARGEST_NUMBER)
    trusted: bool = Field(
        False, description="without root: confirms that all users of this server trust each other"
    )


class UserWithPassword(User):
    password: str = Field(
        description="valid for one sign-in, which must change it; shown only once"
    )


class UserChanges(BaseModel):
    full_name: str | None = Field(None, max_length=200)
    role: str | None = Field(None, pattern="^(admin|member)$")
    uid: int | None = Field(None, ge=1000, le=LARGEST_NUMBER)
    gid: int | None = Field(None, ge=1000, le=LARGEST_NUMBER)


class DisableOrder(BaseModel):
    stop_jobs: bool = Field(False, description="also stop waiting and running jobs")


class HandOverOrder(BaseModel):
    to: str = Field(min_length=1, max_length=64, pattern=PLAIN)


class HandOver(BaseModel):
    jobs: int
    files: str = Field(description="where the new owner finds the files; empty: there are none")


@router.get("", response_model=UserList)
async def list_users(
    our: Our,
    asks: Asks,
    status: Annotated[
        str | None,
        Query(pattern="^(active|disabled|removed)$", description="only accounts with this status"),
    ] = None,
    group: Annotated[str | None, Query(max_length=64, pattern=PLAIN)] = None,
) -> Values:
    """Lists accounts: admins see all, leaders those in their groups, others their own."""
    views = [user_view(person) for person in await our.people.seen(asks)]
    return {
        "users": [
            view
            for view in views
            if (status is None or view["status"] == status)
            and (group is None or group in view["groups"])
        ]
    }


@router.post(
    "", status_code=201, response_model=UserWithPassword, responses=error_responses(400, 409, 413)
)
async def add(new: NewUser, our: Our, asks: Asks) -> Values:
    """Creates an account with a one-time password."""
    person, password = await our.people.add(
        asks,
        NewPerson(
            new.name,
            new.full_name,
            new.role,
            new.groups,
            new.leads,
            new.uid,
            new.gid,
            new.trusted,
        ),
    )
    return {**user_view(person), "password": password}


@router.get("/{name}", response_model=User)
async def show(name: Name, our: Our, asks: Asks) -> Values:
    """Returns an account."""
    return user_view(await our.people.show(asks, name))


@router.patch("/{name}", response_model=User, responses=error_responses(400, 409, 413))
async def change(name: Name, changes: UserChanges, our: Our, asks: Asks) -> Values:
    """Changes the given fields. Users may change their own full name; the rest is for admins."""
    values = changes.model_dump(exclude_none=True)
    return user_view(await our.people.change(asks, name, values))


@router.post("/{name}/disable", response_model=User, responses=error_responses(400, 409, 413))
async def disable(name: Name, our: Our, asks: Asks, order: DisableOrder | None = None) -> Values:
    """Disables an account: ends its tokens, sessions and terminals at once. Its jobs continue."""
    stop_jobs = order is not None and order.stop_jobs
    return user_view(await our.leaving.disable(asks, name, stop_jobs))


@router.post("/{name}/enable", response_model=User, responses=error_responses(409))
async def enable(name: Name, our: Our, asks: Asks) -> Values:
    """Enables a disabled account."""
    return user_view(await our.people.enable(asks, name))


@router.post("/{name}/password", response_model=UserWithPassword, responses=error_responses(409))
async def reset_password(name: Name, our: Our, asks: Asks) -> Values:
    """Sets a one-time password for a user and ends their tokens and sessions."""
    password = await our.people.reset_password(asks, name)
    person = await our.people.show(asks, name)
    return {**user_view(person), "password": password}


@router.post("/{name}/hand-over", response_model=HandOver, responses=error_responses(400, 409, 413))
async def hand_over(name: Name, order: HandOverOrder, our: Our, asks: Asks) -> Values:
    """Transfers the ended jobs and files of a user to another user."""
    jobs, files = await our.leaving.hand_over(asks, name, order.to)
    return {"jobs": jobs, "files": files}


@router.delete("/{name}", response_model=User, responses=error_responses(409))
async def remove(name: Name, our: Our, asks: Asks) -> Values:
    """Removes an account for good. Its jobs and files remain; its name and uid are never reused."""
    return user_view(await our.people.remove(asks, name))


def user_view(person: Person) -> Values:
    row = person.row
    return {
        "name": row.name,
        "full_name": row.full_name,
        "role": row.role,
        "status": row.status,
        "groups": sorted(member.group for member in person.memberships),
        "leads": sorted(member.group for member in person.memberships if member.leader),
        "uid": row.uid,
        "gid": row.gid,
        "must_change_password": row.must_change,
        "created_at": row.created_at,
    }
