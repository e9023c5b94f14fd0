"""Routes for groups and who is in them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from danlu.access.groups import Group as Found
from danlu.api.problems import told
from danlu.api.services import Asks, Our
from danlu.api.session import PLAIN

router = APIRouter(prefix="/groups", tags=["people"])
Values = dict[str, Any]
Name = Annotated[str, Path(max_length=64, pattern=PLAIN)]


class Member(BaseModel):
    user: str
    leader: bool
    joined_at: float


class Group(BaseModel):
    name: str = Field(examples=["vision"])
    note: str
    gid: int | None = Field(description="on the machine; null where all tasks share one")
    members: list[Member]
    created_at: float


class GroupList(BaseModel):
    groups: list[Group]


class NewGroup(BaseModel):
    name: str = Field(min_length=1, max_length=64, examples=["vision"])
    note: str = Field("", max_length=200)


class GroupChanges(BaseModel):
    note: str = Field(max_length=200)


class Membership(BaseModel):
    leader: bool | None = Field(None, description="left out: as it was")


@router.get("", response_model=GroupList)
async def list_groups(our: Our, asks: Asks) -> Values:
    """Lists one's groups; an admin sees all."""
    return {"groups": [group_view(group) for group in await our.accounts.groups.seen(asks)]}


@router.post("", status_code=201, response_model=Group, responses=told(400, 409, 413))
async def add(new: NewGroup, our: Our, asks: Asks) -> Values:
    """Makes a group."""
    return group_view(await our.accounts.groups.add(asks, new.name, new.note))


@router.get("/{name}", response_model=Group)
async def show(name: Name, our: Our, asks: Asks) -> Values:
    """One group and who is in it."""
    return group_view(await our.accounts.groups.show(asks, name))


@router.patch("/{name}", response_model=Group, responses=told(400, 413))
async def change(name: Name, changes: GroupChanges, our: Our, asks: Asks) -> Values:
    """Changes the note of a group."""
    return group_view(await our.accounts.groups.change(asks, name, changes.note))


@router.delete("/{name}", response_model=Group)
async def remove(name: Name, our: Our, asks: Asks) -> Values:
    """Ends a group; its members stay people. Its name is never given again."""
    return group_view(await our.accounts.groups.remove(asks, name))


@router.put("/{name}/members/{user}", response_model=Group, responses=told(400, 413))
async def put_member(
    name: Name, user: Name, our: Our, asks: Asks, membership: Membership | None = None
) -> Values:
    """Takes somebody into a group, or says whether they lead it."""
    leader = membership.leader if membership is not None else None
    return group_view(await our.accounts.groups.put_member(asks, name, user, leader))


@router.delete("/{name}/members/{user}", response_model=Group)
async def remove_member(name: Name, user: Name, our: Our, asks: Asks) -> Values:
    """Takes somebody out of a group; anybody may leave."""
    return group_view(await our.accounts.groups.remove_member(asks, name, user))


def group_view(group: Found) -> Values:
    return {
        "name": group.row.name,
        "note": group.row.note,
        "gid": group.row.gid,
        "members": [
            {"user": member.user, "leader": member.leader, "joined_at": member.joined_at}
            for member in group.members
        ],
        "created_at": group.row.created_at,
    }
