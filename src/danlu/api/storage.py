"""Routes for storage of one's own: requests for volumes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from danlu.api.dependencies import Asks, Our
from danlu.api.problems import error_responses
from danlu.api.session import PLAIN
from danlu.services.values import StorageRequestRow, VolumeRow
from danlu.spec.refs import NAME_PATTERN

_BODY = error_responses(400, 409, 413)
router = APIRouter(prefix="/volume-requests", tags=["volumes"])
Values = dict[str, Any]
Id = Annotated[str, Path(pattern="^[0-9a-f]{8}$")]
Line = Annotated[str, Field(max_length=200, pattern=PLAIN)]
Folder = Annotated[str, Field(min_length=1, max_length=4096, pattern=PLAIN)]


class StorageRequest(BaseModel):
    id: str = Field(examples=["9f86d081"])
    owner: str
    name: str = Field(description="of the volume it becomes", examples=["scans"])
    kind: str = Field(description="nfs, s3, webdav or other", examples=["nfs"])
    address: str = Field(examples=["nas.lab:/export/scans"])
    note: str
    state: str = Field(description="open, approved or rejected", examples=["open"])
    created_at: float
    decided_by: str
    reason: str = Field(description="why it was rejected")


class StorageRequestList(BaseModel):
    requests: list[StorageRequest]


class NewStorageRequest(BaseModel):
    name: str = Field(pattern=f"^{NAME_PATTERN}$", examples=["scans"])
    kind: Literal["nfs", "s3", "webdav", "other"] = "nfs"
    address: Line = Field(min_length=1, examples=["nas.lab:/export/scans"])
    note: Line = ""


class StorageApproval(BaseModel):
    source: Folder = Field(
        description="where it is mounted on the machine", examples=["/mnt/nas/scans"]
    )
    path: Folder | None = Field(None, description="path in tasks; default: /mnt/NAME")
    read_only: bool = False


class StorageRejection(BaseModel):
    reason: Line = ""


@router.get("", response_model=StorageRequestList)
async def list_requests(our: Our, asks: Asks) -> Values:
    """Lists the caller's requests; admins see all."""
    return {"requests": [_view(row) for row in await our.storage.seen(asks)]}


@router.post("", status_code=201, response_model=StorageRequest, responses=_BODY)
async def ask(new: NewStorageRequest, our: Our, asks: Asks) -> Values:
    """Asks an admin for storage of one's own as a volume."""
    row = await our.storage.ask(asks, new.name, new.kind, new.address, new.note)
    return _view(row)


@router.post("/{id}/approve", response_model=StorageRequest, responses=_BODY)
async def approve(id: Id, order: StorageApproval, our: Our, asks: Asks) -> Values:
    """Makes the folder where it is mounted a volume of whoever asked. For admins."""
    path = order.path or ""
    volume = VolumeRow("", order.source, path, order.read_only, True, [], [], [], "", "", 0.0)
    return _view(await our.storage.approve(asks, id, volume))


@router.post("/{id}/reject", response_model=StorageRequest, responses=_BODY)
async def reject(id: Id, order: StorageRejection, our: Our, asks: Asks) -> Values:
    """Rejects a request; whoever asked sees the reason. For admins."""
    return _view(await our.storage.reject(asks, id, order.reason))


@router.delete("/{id}", response_model=StorageRequest)
async def withdraw(id: Id, our: Our, asks: Asks) -> Values:
    """Takes back a request. A volume that it became stays."""
    return _view(await our.storage.withdraw(asks, id))


def _view(row: StorageRequestRow) -> Values:
    return {
        "id": row.id,
        "owner": row.owner,
        "name": row.name,
        "kind": row.kind,
        "address": row.address,
        "note": row.note,
        "state": row.state,
        "created_at": row.created_at,
        "decided_by": row.decided_by,
        "reason": row.reason,
    }
