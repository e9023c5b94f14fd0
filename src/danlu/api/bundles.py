"""Routes for bundles: folders that people bring along with a job.

A client sends the list of a folder's files, learns which contents are missing, sends those, and
names the bundle in a job. Contents are kept by their SHA-256, separately for each user.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field

from danlu.api.dependencies import Asks, Our
from danlu.api.problems import error_responses
from danlu.services.values import BundleRow

router = APIRouter(prefix="/bundles", tags=["bundles"])
Values = dict[str, Any]
Id = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]


class BundleView(BaseModel):
    id: str = Field(description="SHA-256 of the list of its files")
    bytes: int
    files: int
    created_at: float
    used_at: float = Field(description="when a job last asked for it")


class BundleLimits(BaseModel):
    bytes: int = Field(description="of one folder")
    files: int = Field(description="in one folder, folders and links included")
    left: int = Field(description="bytes that can still be stored for you")


class BundleList(BaseModel):
    bundles: list[BundleView]
    limits: BundleLimits


class Offered(BaseModel):
    id: str = Field(description="for the key `bundle` of a job")
    bytes: int
    files: int
    missing: list[int] = Field(
        description="entries of the list whose contents have to be sent, counted from 0"
    )
    ready: bool = Field(description="nothing is missing: jobs can use it")


def _body(description: str) -> dict[str, Any]:
    binary = {"schema": {"type": "string", "format": "binary"}}
    return {
        "requestBody": {
            "required": True,
            "description": description,
            "content": {"application/octet-stream": binary},
        }
    }


@router.get("", response_model=BundleList)
async def list_bundles(our: Our, asks: Asks) -> Values:
    """Lists the caller's bundles."""
    rows, limits = await our.bundles.mine(asks)
    return {"bundles": [_view(row) for row in rows], "limits": limits}


@router.post(
    "",
    response_model=Offered,
    openapi_extra=_body(
        'zlib-compressed JSON: a list, sorted by path, of ["d", path, mode], ["f", path, mode, '
        'size, sha256, mtime] and ["l", path, target]; times in nanoseconds, folders before '
        "what is in them"
    ),
    responses=error_responses(409),
)
async def offer(request: Request, our: Our, asks: Asks) -> Values:
    """Takes the list of a folder's files and returns which contents are missing."""
    return await our.bundles.offer(asks, request.stream())


@router.put(
    "/{id}/contents",
    response_model=Offered,
    openapi_extra=_body(
        "contents one after the other, each after its SHA-256 (32 bytes) and its size (8 bytes, "
        "big-endian)"
    ),
    responses=error_responses(409),
)
async def put(id: Id, request: Request, our: Our, asks: Asks) -> Values:
    """Takes missing contents; several requests may share the work."""
    return await our.bundles.put(asks, id, request.stream())


@router.delete("/{id}", response_model=BundleView, responses=error_responses(409))
async def forget(id: Id, our: Our, asks: Asks) -> Values:
    """Forgets a bundle. Jobs that ended cannot be run again with it."""
    return _view(await our.bundles.forget(asks, id))


def _view(row: BundleRow) -> Values:
    return {
        "id": row.id,
        "bytes": row.bytes,
        "files": row.files,
        "created_at": row.created_at,
        "used_at": row.used_at,
    }
