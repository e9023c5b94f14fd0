"""Routes for groups and who is in them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from danlu.access.groups import Group as Found
from danlu.api.dependencies import Asks, Our, Who
from danlu.api.problems import error_responses
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
    gid: int | None = Field(description="on the machine; null if all tasks share one")
    members: list[Member]
    created_at: float


class GroupList(BaseModel):
    groups: list[Group]


class MemberUsage(BaseModel):
    user: str
    jobs: int = Field(description="that ran in this time", examples=[12])
    gpu_seconds: float = Field(examples=[86400.0])
    days: list[float] = Field(description="GPU-seconds of each day, the oldest first")


class GroupUsage(BaseModel):
    since: float = Field(description="when the first day began")
    whole: bool = Field(description="false: too many jobs, and the latest are missing")
    gpu_seconds: float = Field(examples=[86400.0])
    members: list[MemberUsage]


class NewGroup(BaseModel):
    name: str = Field(min_length=1, max_length=64, examples=["vision"])
    note: str = Field("", max_length=200)


class GroupChanges(BaseModel):
    note: str = Field(max_length=200)


class InvitationCode(BaseModel):
    code: str = Field(min_length=1, max_length=100, examples=["abcd-efgh-jkmn-pqrs"])


class Membership(BaseModel):
    leader: bool | None = Field(None, description="omitted: unchanged")


@router.get("", response_model=GroupList)
async def list_groups(our: Our, asks: Asks) -> Values:
    """Lists the caller's groups; admins see all."""
    return {"groups": [group_view(group) for group in await our.groups.seen(asks)]}


@router.post("", status_code=201, response_model=Group, responses=error_responses(400, 409, 413))
async def add(new: NewGroup, our: Our, asks: Asks) -> Values:
    """Creates a group."""
    return group_view(await our.groups.add(asks, new.name, new.note))


@router.post("/join", response_model=Group, responses=error_responses(400, 409, 413))
async def join(invitation: InvitationCode, our: Our, asks: Asks) -> Values:
    """Joins a group with an invitation code. Admins have to be added by an admin instead."""
    return group_view(await our.groups.join(asks, invitation.code))


@router.get("/{name}", response_model=Group)
async def show(name: Name, our: Our, asks: Asks) -> Values:
    """Returns a group and its members."""
    return group_view(await our.groups.show(asks, name))


@router.get("/{name}/usage", response_model=GroupUsage)
async def usage(
    name: Name,
    our: Our,
    who: Who,
    days: Annotated[int, Query(ge=1, le=366, description="how many, today included")] = 30,
    zone: Annotated[
        int, Query(ge=-64_800, le=64_800, description="seconds east of Greenwich: when days begin")
    ] = 0,
) -> Values:
    """Returns the GPU time of each member by day. For leaders of the group and admins."""
    found = await our.usage.of_group(who, name, days, zone)
    return {
        "since": found.since,
        "whole": found.whole,
        "gpu_seconds": sum(member.total for member in found.members.values()),
        "members": [
            {
                "user": user,
                "jobs": len(member.jobs),
                "gpu_seconds": member.total,
                "days": [round(seconds, 3) for seconds in member.days],
            }
            for user, member in sorted(found.members.items())
        ],
    }


@router.patch("/{name}", response_model=Group, responses=error_responses(400, 413))
async def change(name: Name, changes: GroupChanges, our: Our, asks: Asks) -> Values:
    """Changes the note of a group."""
    return group_view(await our.groups.change(asks, name, changes.note))


@router.delete("/{name}", response_model=Group)
async def remove(name: Name, our: Our, asks: Asks) -> Values:
    """Removes a group but not the accounts of its members. Its name is never reused."""
    return group_view(await our.groups.remove(asks, name))


@router.put("/{name}/members/{user}", response_model=Group, responses=error_responses(400, 413))
async def put_member(
    name: Name, user: Name, our: Our, asks: Asks, membership: Membership | None = None
) -> Values:
    """Adds a member, or sets whether they lead the group. For admins; leaders use invitations."""
    leader = membership.leader if membership is not None else None
    return group_view(await our.groups.put_member(asks, name, user, leader))


@router.delete("/{name}/members/{user}", response_model=Group)
async def remove_member(name: Name, user: Name, our: Our, asks: Asks) -> Values:
    """Removes a member from a group. Members may remove themselves."""
    return group_view(await our.groups.remove_member(asks, name, user))


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
