"""Routes for the platform's image registry. Pushing and pulling is done at its own port."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from danlu.api.dependencies import Asks, Our, Who
from danlu.api.problems import error_responses
from danlu.api.session import PLAIN

router = APIRouter(prefix="/registry", tags=["registry"])
Values = dict[str, Any]
RepositoryName = Annotated[str, Query(min_length=1, max_length=255, pattern=PLAIN)]
Reference = Annotated[
    str, Query(max_length=200, pattern=PLAIN, description="a tag or a digest; empty: everything")
]


class RegistryUsage(BaseModel):
    kind: str = Field(description="user or group")
    name: str
    used: int = Field(description="bytes")
    quota: int | None = Field(description="bytes; null: no limit")


class RegistryStatus(BaseModel):
    address: str = Field(description="the prefix of image names; empty: there is no registry")
    tls: bool
    read_only: bool
    mirrors: list[str] = Field(description="registries that are cached as hub/NAME/...")
    usage: list[RegistryUsage] = Field(description="yours and your groups'")
    total: int = Field(description="bytes of everybody's images")
    free: int = Field(description="bytes free on its disk")


class RegistryRepository(BaseModel):
    name: str = Field(examples=["alice/train"])
    tags: int
    size: int = Field(description="bytes")
    pushed_at: float


class RegistryRepositories(BaseModel):
    repositories: list[RegistryRepository]


class RegistryImage(BaseModel):
    repository: str
    tag: str = Field(description="empty: an image that lost its tag to a newer one")
    digest: str
    type: str = Field(description="media type of its manifest")
    size: int = Field(description="bytes, of all that it names")
    at: float = Field(description="when it was pushed")
    used: float = Field(description="when it was last pulled, to the hour")


class RegistryImages(BaseModel):
    images: list[RegistryImage]


class DeletedImages(BaseModel):
    deleted: int


class CollectOrder(BaseModel):
    grace: float | None = Field(
        None,
        ge=0,
        le=31_536_000,
        description="seconds that what no image names is kept for pushes that go on; null: as "
        "configured",
    )


class CollectedGarbage(BaseModel):
    blobs: int
    bytes: int


@router.get("", response_model=RegistryStatus, responses=error_responses(409))
async def status(request: Request, our: Our, who: Who) -> Values:
    """Returns where the image registry is, and how much of it the caller uses."""
    found = await our.registry.status(who, request.headers.get("host", ""))
    return asdict(found)


@router.get("/repositories", response_model=RegistryRepositories, responses=error_responses(409))
async def repositories(
    our: Our,
    who: Who,
    everybody: Annotated[bool, Query(alias="all", description="everybody's; for admins")] = False,
) -> Values:
    """Lists the caller's repositories, those of their groups, ready and shared ones."""
    found = await our.registry.repositories(who, everybody)
    return {"repositories": [asdict(each) for each in found]}


@router.get("/images", response_model=RegistryImages, responses=error_responses(409))
async def images(repository: RepositoryName, our: Our, who: Who) -> Values:
    """Lists the images of a repository."""
    found = await our.registry.images(who, repository)
    return {"images": [asdict(each) for each in found]}


@router.delete("/images", response_model=DeletedImages, responses=error_responses(409))
async def delete(
    repository: RepositoryName, our: Our, asks: Asks, reference: Reference = ""
) -> Values:
    """Deletes a tag with the image it names, an image by digest, or all of a repository."""
    return {"deleted": await our.registry.delete(asks, repository, reference)}


@router.post("/collect", response_model=CollectedGarbage, responses=error_responses(400, 409, 413))
async def collect(order: CollectOrder, our: Our, asks: Asks) -> Values:
    """Frees what no image names any more. This also happens by itself, every hour."""
    blobs, size = await our.registry.collect(asks, order.grace)
    return {"blobs": blobs, "bytes": size}
