"""Routes for datasets: the catalogue of what tasks can read at /gdata/NAME.

GET    /datasets                 DatasetList: what one may read, own proposals; admins: all
POST   /datasets                 Dataset, 201: admins add one; others propose one (`proposed`)
GET    /datasets/{name}          Dataset
PATCH  /datasets/{name}          Dataset: admins; who keeps it changes words only
DELETE /datasets/{name}          Dataset: admins, or the proposer of a proposal; files are kept
POST   /datasets/{name}/accept   Dataset: admins
POST   /datasets/{name}/reject   Dataset: admins; body Rejection
POST   /datasets/{name}/measure  Dataset: admins and who keeps it; counts in the background
POST   /datasets/{name}/stage    Dataset: admins; copies to the fast volume of nodes; body Staging
DELETE /datasets/{name}/stage    Dataset: admins; removes the fast copies
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from danlu.api.session import PLAIN
from danlu.spec.refs import NAME_PATTERN

router = APIRouter(prefix="/datasets", tags=["datasets"])
Values = dict[str, Any]
Name = Annotated[str, Path(max_length=64, pattern=f"^{NAME_PATTERN}$")]
Line = Annotated[str, Field(max_length=200, pattern=PLAIN)]
Words = Annotated[str, Field(max_length=20_000, pattern=PLAIN)]
Folder = Annotated[str, Field(max_length=4096, pattern=PLAIN)]
Nodes = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=64, pattern=PLAIN)]], Field(max_length=1000)
]


class Copy(BaseModel):
    """A copy on the fast volume of a node."""

    node: str
    volume: str = Field(examples=["fast"])
    state: str = Field(description="copying, ready or failed", examples=["ready"])
    done: int = Field(description="bytes copied so far")
    total: int | None = Field(description="bytes; null: not counted yet")
    used_at: float | None = Field(
        description="when a job last used it; copies unused longest go first"
    )
    detail_en: str = Field(description="why it failed")
    detail_zh: str


class Dataset(BaseModel):
    name: str = Field(examples=["imagenet"])
    path: str = Field(description="where tasks read it", examples=["/gdata/imagenet"])
    state: str = Field(description="proposed, ready or rejected", examples=["ready"])
    volume: str = Field(description="the volume it is in", examples=["nas"])
    folder: str = Field(description="its folder in the volume", examples=["sets/imagenet"])
    everywhere: bool = Field(
        description="seen by every task; else only by jobs that ask for it (`datasets`)"
    )
    title: str = Field(examples=["ImageNet 2012"])
    licence: str = Field(examples=["research only"])
    how: str = Field(description="how to read it: plain text")
    keeper: str = Field(description="who keeps it: a user", examples=["alice"])
    bytes: int | None = Field(description="null: not measured yet")
    files: int | None
    fingerprint: str = Field(
        description="changes when the files do: count, bytes and newest change; empty: not measured"
    )
    measured_at: float | None
    measuring: bool = Field(description="being counted now")
    nodes: list[str] = Field(description="nodes that have it; empty: all")
    copies: list[Copy] = Field(description="copies on fast volumes of nodes")
    proposed_by: str = Field(description="empty: added by an admin")
    created_at: float
    decided_by: str = Field(description="the admin who accepted or rejected it")
    reason: str = Field(description="why it was rejected")
    usable: bool = Field(description="whether your jobs can read it")
    warning_en: str = Field("", description="what may keep people from reading it")
    warning_zh: str = ""


class DatasetList(BaseModel):
    datasets: list[Dataset]


class NewDataset(BaseModel):
    name: str = Field(pattern=f"^{NAME_PATTERN}$", examples=["imagenet"])
    volume: str = Field(
        "gdata", pattern=f"^{NAME_PATTERN}$", description="the volume it is in", examples=["nas"]
    )
    folder: Folder | None = Field(
        None, description="its folder in the volume; default: NAME", examples=["sets/imagenet"]
    )
    everywhere: bool = Field(True, description="admins only; a proposal is decided by them")
    title: Line = ""
    licence: Line = ""
    how: Words = ""
    keeper: Annotated[str, Field(max_length=64, pattern=PLAIN)] | None = Field(
        None, description="default: the caller"
    )


class DatasetChanges(BaseModel):
    volume: Annotated[str, Field(pattern=f"^{NAME_PATTERN}$")] | None = None
    folder: Folder | None = None
    everywhere: bool | None = None
    title: Line | None = None
    licence: Line | None = None
    how: Words | None = None
    keeper: Annotated[str, Field(max_length=64, pattern=PLAIN)] | None = None


class Rejection(BaseModel):
    reason: Line = ""


class Staging(BaseModel):
    nodes: Nodes = Field([], description="empty: every node with a fast volume")
