"""Routes for volumes: the folders of the machine that tasks may see."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from danlu.api.dependencies import Asks, Our
from danlu.api.problems import error_responses
from danlu.api.session import PLAIN
from danlu.services.values import Shown, VolumeRow
from danlu.spec.refs import NAME_PATTERN

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
    path: str = Field(description="path in tasks", examples=["/mnt/fast"])
    read_only: bool
    everywhere: bool = Field(description="mounted in every task; else only if a job asks for it")
    nodes: list[str] = Field(description="nodes where it exists; empty: all")
    tier: str = Field(examples=["fast"])
    note: str
    declared: str = Field(description="built-in, file (danlu.toml) or command")
    usable: bool = Field(description="whether you may mount it")
    source: str | None = Field(description="folder on the machine; for admins")
    groups: list[str] | None = Field(
        description="groups that may use it, with users; empty: all. For admins"
    )
    users: list[str] | None
    warning_en: str = Field("", description="what may keep people from using it")
    warning_zh: str = ""
    read_speed: float | None = Field(None, description="bytes per second, as last measured")
    write_speed: float | None = None
    measured_at: float | None = None


class VolumeList(BaseModel):
    volumes: list[Volume]


class NewVolume(BaseModel):
    name: str = Field(pattern=f"^{NAME_PATTERN}$", examples=["fast"])
    source: Folder = Field(examples=["/nvme/shared"])
    path: Folder | None = Field(None, description="default: /mnt/NAME")
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
    """Lists the volumes the caller may mount; admins see all."""
    found = await our.volumes.seen(asks)
    return {"volumes": [volume_view(shown, asks.who.admin) for shown in found]}


@router.post("", status_code=201, response_model=Volume, responses=error_responses(400, 409, 413))
async def add(new: NewVolume, our: Our, asks: Asks) -> Values:
    """Adds a volume, which jobs that start later may mount."""
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
    return volume_view(await our.volumes.add(asks, row), True)


@router.get("/{name}", response_model=Volume)
async def show(name: Name, our: Our, asks: Asks) -> Values:
    """Returns a volume."""
    return volume_view(await our.volumes.show(asks, name), asks.who.admin)


@router.patch("/{name}", response_model=Volume, responses=error_responses(400, 409, 413))
async def change(name: Name, changes: VolumeChanges, our: Our, asks: Asks) -> Values:
    """Changes the given fields. Running tasks are not affected."""
    values = {key: value for key, value in changes.model_dump().items() if value is not None}
    if "path" in values:
        values["target"] = values.pop("path")
    return volume_view(await our.volumes.change(asks, name, values), True)


@router.delete("/{name}", response_model=Volume, responses=error_responses(409))
async def remove(name: Name, our: Our, asks: Asks) -> Values:
    """Removes a volume, so that jobs can no longer mount it. The folder itself is kept."""
    return volume_view(await our.volumes.remove(asks, name), True)


@router.post("/{name}/measure", response_model=Volume, responses=error_responses(409))
async def measure(name: Name, our: Our, asks: Asks) -> Values:
    """Measures how fast it is: writes and reads at most 512 MiB, for a few seconds. For admins."""
    return volume_view(await our.volumes.measure(asks, name), True)


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
        **shown.warning.values("warning"),
        "read_speed": shown.speed.read if shown.speed else None,
        "write_speed": shown.speed.write if shown.speed else None,
        "measured_at": shown.speed.measured_at if shown.speed else None,
        "source": str(config.source) if admin else None,
        "groups": list(config.groups) if admin else None,
        "users": list(config.users) if admin else None,
    }
