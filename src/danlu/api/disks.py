"""Routes for disks: how full they are, who uses what, and what can be cleaned."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from danlu.api.dependencies import Asks, Our
from danlu.api.problems import error_responses
from danlu.services.disks import Cleaned, DiskView, Item, Report

router = APIRouter(prefix="/disks", tags=["disks"])
Values = dict[str, Any]


class Use(BaseModel):
    """Who or what takes room on a disk; `counted_at` says how old the number is."""

    kind: str = Field(
        description="home, share, user, images, registry, logs, bundles or copies",
        examples=["home"],
    )
    name: str = Field(description="a user, group, image or folder", examples=["alice"])
    bytes: int
    files: int | None
    counted_at: float


class Place(BaseModel):
    """A watched folder on a disk."""

    kind: str = Field(description="data, docker, podman, registry or volume", examples=["data"])
    name: str = Field(description="the volume's name; else the kind", examples=["data"])
    path: str = Field(examples=["/srv/danlu"])


class Disk(BaseModel):
    id: str = Field(description="stays the same while it is mounted", examples=["8:1"])
    node: str = Field(description="empty: the server's machine")
    places: list[Place] = Field(description="what is on it")
    size: int = Field(description="bytes")
    free: int = Field(description="bytes that users and the platform can still write")
    used_percent: float = Field(examples=[83.5])
    level: str = Field(description="ok, warning (80 %), high (90 %) or critical (95 %)")
    since: float | None = Field(description="at this level since; null: ok")
    full_at: float | None = Field(
        description="when it will be full at the present pace; null: not filling up"
    )
    uses: list[Use] = Field(description="largest first")
    detail_en: str = Field("", description="why it cannot be looked at; empty: it can")
    detail_zh: str = ""


class Cleanable(BaseModel):
    """One thing a cleaning removes, or would remove."""

    rule: str = Field(description="bundles, images or logs", examples=["images"])
    name: str = Field(examples=["pytorch:2.4"])
    bytes: int
    used_at: float | None = Field(description="when it was last used; null: never seen in use")
    disk: str = Field(description="id of the disk it is on")
    removed: bool = Field(description="false in a dry run, or if it could not be removed")
    detail_en: str = Field("", description="why it was not removed")
    detail_zh: str = ""


class Cleaning(BaseModel):
    at: float
    dry_run: bool
    by: str = Field(description="the admin, or empty: by its timetable")
    bytes: int = Field(description="freed, or to be freed")
    items: list[Cleanable] = Field(description="at most 1000, largest first")


class OwnUse(BaseModel):
    """What the caller's own folders take."""

    kind: str = Field(description="home, share, user or bundles", examples=["home"])
    name: str
    path: str = Field(description="as tasks see it", examples=["/userhome"])
    bytes: int | None = Field(description="null: not counted yet")
    files: int | None
    counted_at: float | None


class DiskReport(BaseModel):
    disks: list[Disk] = Field(description="admins only; empty for others")
    own: list[OwnUse]
    last_cleaning: Cleaning | None = Field(description="admins only")
    next_cleaning: float | None = Field(description="null: not scheduled")


class CleanRequest(BaseModel):
    dry_run: bool = True
    rules: list[str] = Field(
        [], max_length=10, description="only these; empty: all that are switched on"
    )


@router.get("", response_model=DiskReport)
async def report(our: Our, asks: Asks) -> Values:
    """Returns what the caller's folders take; for admins also every disk and who uses it."""
    return _report(await our.disks.report(asks))


@router.post("/clean", response_model=Cleaning, responses=error_responses(400, 413))
async def clean(order: CleanRequest, our: Our, asks: Asks) -> Values:
    """Removes what can be had again, by the rules in danlu.toml; a dry run only lists it.

    For admins.
    """
    return _cleaning(await our.disks.clean(asks, order.dry_run, order.rules))


def _report(found: Report) -> Values:
    return {
        "disks": [_disk(each) for each in found.disks],
        "own": [
            {
                "kind": each.kind,
                "name": each.name,
                "path": each.path,
                "bytes": each.bytes,
                "files": each.files,
                "counted_at": each.counted_at,
            }
            for each in found.own
        ],
        "last_cleaning": None if found.last is None else _cleaning(found.last),
        "next_cleaning": found.next_at,
    }


def _disk(found: DiskView) -> Values:
    return {
        "id": found.id,
        "node": "",
        "places": [
            {"kind": place.kind, "name": place.name, "path": place.path} for place in found.places
        ],
        "size": found.size,
        "free": found.free,
        "used_percent": found.used_percent,
        "level": found.level,
        "since": found.since,
        "full_at": found.full_at,
        "uses": [
            {
                "kind": use.kind,
                "name": use.name,
                "bytes": use.bytes,
                "files": use.files or None,
                "counted_at": use.counted_at,
            }
            for use in found.uses
        ],
        **found.detail.values("detail"),
    }


def _cleaning(found: Cleaned) -> Values:
    return {
        "at": found.at,
        "dry_run": found.dry_run,
        "by": found.by,
        "bytes": found.bytes,
        "items": [_item(item) for item in found.items],
    }


def _item(item: Item) -> Values:
    return {
        "rule": item.rule,
        "name": item.name,
        "bytes": item.bytes,
        "used_at": item.used_at,
        "disk": item.disk,
        "removed": item.removed,
        "detail_en": item.detail,
        "detail_zh": item.detail,
    }
