"""Routes for how much people and groups may keep in their folders."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from danlu.api.dependencies import Asks, Our
from danlu.api.problems import error_responses
from danlu.api.session import PLAIN
from danlu.services.folder_quotas import FolderQuota

router = APIRouter(prefix="/disks/quotas", tags=["disks"])
Values = dict[str, Any]
Whose = Annotated[Literal["user", "group"], Path(description="whose: user or group")]
Name = Annotated[
    str, Path(min_length=1, max_length=64, pattern=PLAIN, description="or *: everyone else")
]


class FolderQuotaView(BaseModel):
    """How much may be in a home, or in the folder of a group."""

    of: str = Field(description="user or group", examples=["user"])
    name: str = Field(description="*: everyone without their own", examples=["alice"])
    size: int | None = Field(description="bytes; null: no limit")
    used: int | None = Field(description="bytes when last measured; null: not yet, or *")
    counted_at: float | None
    own: bool = Field(description="false: that of everyone else applies, or none")


class FolderQuotaList(BaseModel):
    quotas: list[FolderQuotaView]


class NewFolderQuota(BaseModel):
    size: int | Annotated[str, Field(max_length=64)] | None = Field(
        description="null: no limit, whatever everyone else has", examples=["500G"]
    )


@router.get("", response_model=FolderQuotaList)
async def list_folder_quotas(
    our: Our,
    asks: Asks,
    everyone: Annotated[
        bool, Query(description="admins: also people and groups without one of their own")
    ] = False,
) -> Values:
    """Lists the disk quotas of the caller and their groups; admins see all."""
    return _list(await our.folder_quotas.seen(asks, everyone))


@router.put("/{of}/{name}", response_model=FolderQuotaList, responses=error_responses(400, 413))
async def set_folder_quota(
    of: Whose, name: Name, quota: NewFolderQuota, our: Our, asks: Asks
) -> Values:
    """Sets how much may be kept. Uploads, copies and new jobs beyond it are refused.

    Running tasks are not stopped from writing. For admins.
    """
    return _list(await our.folder_quotas.set(asks, of, name, quota.size))


@router.delete("/{of}/{name}", response_model=FolderQuotaList)
async def remove_folder_quota(of: Whose, name: Name, our: Our, asks: Asks) -> Values:
    """Removes a disk quota: that of everyone else applies. For admins."""
    return _list(await our.folder_quotas.remove(asks, of, name))


def _list(found: list[FolderQuota]) -> Values:
    return {
        "quotas": [
            {
                "of": each.kind,
                "name": each.name,
                "size": each.most,
                "used": each.used,
                "counted_at": each.counted_at,
                "own": each.own,
            }
            for each in found
        ]
    }
