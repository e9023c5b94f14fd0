"""Routes for datasets: the catalogue of what tasks can read at /gdata/NAME."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from danlu.api.dependencies import Asks, Our
from danlu.api.problems import error_responses
from danlu.api.session import PLAIN
from danlu.services.datasets import Found, Words
from danlu.spec.refs import NAME_PATTERN

_BODY = error_responses(400, 409, 413)
router = APIRouter(prefix="/datasets", tags=["datasets"])
Values = dict[str, Any]
Name = Annotated[str, Path(max_length=64, pattern=f"^{NAME_PATTERN}$")]
Line = Annotated[str, Field(max_length=200, pattern=PLAIN)]
LongText = Annotated[str, Field(max_length=20_000, pattern=PLAIN)]
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
    decided_at: float | None = Field(description="null: not a proposal, or not decided yet")
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
    how: LongText = ""
    keeper: Annotated[str, Field(max_length=64, pattern=PLAIN)] | None = Field(
        None, description="default: the caller"
    )


class DatasetChanges(BaseModel):
    volume: Annotated[str, Field(pattern=f"^{NAME_PATTERN}$")] | None = None
    folder: Folder | None = None
    everywhere: bool | None = None
    title: Line | None = None
    licence: Line | None = None
    how: LongText | None = None
    keeper: Annotated[str, Field(max_length=64, pattern=PLAIN)] | None = None


class Rejection(BaseModel):
    reason: Line = ""


class Staging(BaseModel):
    nodes: Nodes = Field([], description="empty: every node with a fast volume")


@router.get("", response_model=DatasetList)
async def list_datasets(our: Our, asks: Asks) -> Values:
    """Lists the datasets the caller may read, and their proposals; admins see all."""
    found = await our.datasets.seen(asks)
    return {"datasets": [_view(each) for each in found]}


@router.post("", status_code=201, response_model=Dataset, responses=_BODY)
async def add(new: NewDataset, our: Our, asks: Asks) -> Values:
    """Adds a dataset, which tasks then read at /gdata/NAME. By others than admins: a proposal."""
    return _view(
        await our.datasets.add(
            asks, new.name, Words(**new.model_dump(exclude={"name"}, exclude_unset=True))
        )
    )


@router.get("/{name}", response_model=Dataset)
async def show(name: Name, our: Our, asks: Asks) -> Values:
    """Returns a dataset."""
    return _view(await our.datasets.show(asks, name))


@router.patch("/{name}", response_model=Dataset, responses=_BODY)
async def change(name: Name, changes: DatasetChanges, our: Our, asks: Asks) -> Values:
    """Changes the given fields. Who keeps it may change what is said about it; admins also where
    it is.
    """
    return _view(await our.datasets.change(asks, name, Words(**changes.model_dump())))


@router.delete("/{name}", response_model=Dataset)
async def remove(name: Name, our: Our, asks: Asks) -> Values:
    """Removes a dataset from the catalogue, or takes back a proposal. Its files are kept."""
    return _view(await our.datasets.remove(asks, name))


@router.post("/{name}/accept", response_model=Dataset, responses=error_responses(409))
async def accept(name: Name, our: Our, asks: Asks) -> Values:
    """Accepts a proposal. For admins."""
    return _view(await our.datasets.decide(asks, name, "ready"))


@router.post("/{name}/reject", response_model=Dataset, responses=_BODY)
async def reject(name: Name, rejection: Rejection, our: Our, asks: Asks) -> Values:
    """Rejects a proposal; its proposer sees the reason. For admins."""
    return _view(await our.datasets.decide(asks, name, "rejected", rejection.reason))


@router.post("/{name}/measure", response_model=Dataset, responses=error_responses(409))
async def measure(name: Name, our: Our, asks: Asks) -> Values:
    """Counts its files and bytes, in the background. For admins and who keeps it."""
    return _view(await our.datasets.measure(asks, name))


@router.post("/{name}/stage", response_model=Dataset, responses=_BODY)
async def stage(name: Name, staging: Staging, our: Our, asks: Asks) -> Values:
    """Copies it to the fast volumes of nodes, in the background. For admins.

    Jobs that ask for it are then placed there first.
    """
    return _view(await our.datasets.stage(asks, name, staging.nodes))


@router.delete("/{name}/stage", response_model=Dataset)
async def unstage(name: Name, our: Our, asks: Asks) -> Values:
    """Removes its copies from fast volumes. For admins."""
    return _view(await our.datasets.unstage(asks, name))


def _view(found: Found) -> Values:
    row = found.row
    return {
        "name": row.name,
        "path": f"/gdata/{row.name}",
        "state": row.state,
        "volume": row.volume,
        "folder": row.folder,
        "everywhere": row.everywhere,
        "title": row.title,
        "licence": row.licence,
        "how": row.how,
        "keeper": row.keeper,
        "bytes": row.bytes,
        "files": row.files,
        "fingerprint": row.fingerprint,
        "measured_at": row.measured_at,
        "measuring": found.measuring,
        "nodes": list(found.nodes),
        "copies": [
            {
                "node": copy.node,
                "volume": copy.volume,
                "state": copy.state,
                "done": copy.bytes,
                "total": row.bytes,
                "used_at": copy.used_at,
                "detail_en": copy.detail_en,
                "detail_zh": copy.detail_zh,
            }
            for copy in found.copies
        ],
        "proposed_by": row.proposed_by,
        "created_at": row.created_at,
        "decided_by": row.decided_by,
        "decided_at": row.decided_at,
        "reason": row.reason,
        "usable": found.usable,
        **found.warning.values("warning"),
    }
