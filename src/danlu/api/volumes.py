"""Routes for volumes: the folders of the machine that tasks may see."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from danlu.api.problems import told
from danlu.api.services import Asks, Our
from danlu.api.session import PLAIN
from danlu.control.catalogue import Catalogue, Shown
from danlu.spec.refs import NAME_PATTERN
from danlu.store.rows import VolumeRow

router = APIRouter(prefix="/volumes", tags=["volumes"])
Values = dict[str, Any]
Name = Annotated[str, Path(max_length=64, pattern=f"^{NAME_PATTERN}$")]
Names = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=64, pattern=PLAIN)]], Field(max_length=100)
]
Folder = Annotated[str, Field(min_length=1, max_length=4096, pattern=PLAIN)]
Line = Annotated[str, Field(max_length=200, pattern=PLAIN)]


class Volume(BaseModel):
    name: str = Field(examples=["fast"])
    path: str = Field(description="where tasks see it", examples=["/mnt/fast"])
    read_only: bool
    everywhere: bool = Field(description="in every task; else only where a job asks for it")
    nodes: list[str] = Field(description="where it exists; none: on all")
    tier: str = Field(examples=["fast"])
    note: str
    declared: str = Field(description="built-in, file (danlu.toml) or command")
    usable: bool = Field(description="whoever asks may mount it")
    source: str | None = Field(description="the folder of the machine; for admins")
    groups: list[str] | None = Field(description="who may, with users; none: all. For admins")
    users: list[str] | None


class VolumeList(BaseModel):
    volumes: list[Volume]


class NewVolume(BaseModel):
    name: str = Field(pattern=f"^{NAME_PATTERN}$", examples=["fast"])
    source: Folder = Field(examples=["/nvme/shared"])
    path: Folder | None = Field(None, description="left out: /mnt/NAME")
    read_only: bool = False
    everywhere: bool = True
    groups: Names = []
    users: Names = []
    nodes: Names = []
    tier: Line = ""
    note: Line = ""


class VolumeChanges(BaseModel):
    source: Folder | None = None
    path: Folder | None = None
    read_only: bool | None = None
    everywhere: bool | None = None
    groups: Names | None = None
    users: Names | None = None
    nodes: Names | None = None
    tier: Line | None = None
    note: Line | None = None


@router.get("", response_model=VolumeList)
async def list_volumes(our: Our, asks: Asks) -> Values:
    """Lists what one may mount; an admin sees all."""
    found = await _catalogue(our).seen(asks)
    return {"volumes": [volume_view(shown, asks.who.admin) for shown in found]}


@router.post("", status_code=201, response_model=Volume, responses=told(400, 409, 413))
async def add(new: NewVolume, our: Our, asks: Asks) -> Values:
    """Jobs that start from now on may see it."""
    row = VolumeRow(
        new.name,
        new.source,
        new.path or f"/mnt/{new.name}",
        new.read_only,
        new.everywhere,
        new.groups,
        new.users,
        new.nodes,
        new.tier,
        new.note,
        0.0,
    )
    return volume_view(await _catalogue(our).add(asks, row), True)


@router.get("/{name}", response_model=Volume)
async def show(name: Name, our: Our, asks: Asks) -> Values:
    """One volume."""
    return volume_view(await _catalogue(our).show(asks, name), asks.who.admin)


@router.patch("/{name}", response_model=Volume, responses=told(400, 409, 413))
async def change(name: Name, changes: VolumeChanges, our: Our, asks: Asks) -> Values:
    """Changes what is named; tasks that run are not touched."""
    values = {key: value for key, value in changes.model_dump().items() if value is not None}
    if "path" in values:
        values["target"] = values.pop("path")
    return volume_view(await _catalogue(our).change(asks, name, values), True)


@router.delete("/{name}", response_model=Volume, responses=told(409))
async def remove(name: Name, our: Our, asks: Asks) -> Values:
    """No job may mount it any more; the folder itself stays as it is."""
    return volume_view(await _catalogue(our).remove(asks, name), True)


def _catalogue(our: Our) -> Catalogue:
    return Catalogue(our.controller.rooms, our.controller.volumes_changed)


def volume_view(shown: Shown, admin: bool) -> Values:
    config = shown.config
    return {
        "name": config.name,
        "path": shown.path,
        "read_only": config.read_only,
        "everywhere": config.everywhere,
        "nodes": list(config.nodes),
        "tier": config.tier,
        "note": config.note,
        "declared": config.declared,
        "usable": shown.usable,
        "source": str(config.source) if admin else None,
        "groups": list(config.groups) if admin else None,
        "users": list(config.users) if admin else None,
    }
