"""The API's models for images: the catalogue, saving, checks and builds.

The routes are in `images` and `saves`: /images, /images/{image} with share, unshare, propose,
accept, reject, pull and verify, /images/build, /environments/{name}/save, /jobs/{ref}/save, /saves.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from danlu.api.session import PLAIN

Line = Annotated[str, Field(max_length=200, pattern=PLAIN)]
Words = Annotated[str, Field(max_length=2000, pattern=PLAIN)]
ImageName = Annotated[str, Field(min_length=1, max_length=255, pattern=PLAIN)]
Package = Annotated[str, Field(min_length=1, max_length=200, pattern=PLAIN)]


class ImageShare(BaseModel):
    kind: Literal["user", "group", "everybody"]
    name: str = Field(description="of the user or group; empty: everybody")


class ImageNode(BaseModel):
    """An image on one node."""

    node: str
    state: str = Field(
        description="present, absent, pulling, failed or unknown", examples=["present"]
    )
    detail_en: str = Field(description="progress, or why it could not be pulled")
    detail_zh: str
    done: int = Field(description="bytes pulled")
    total: int = Field(description="bytes known so far")
    at: float = Field(description="when this was seen")


class ImageCheck(BaseModel):
    """One thing that was tried in an image."""

    check: str = Field(description="lab, code, ssh or gpu", examples=["lab"])
    result: str = Field(description="ok, failed, skipped or running", examples=["ok"])
    detail_en: str
    detail_zh: str
    digest: str = Field(description="of the image that was tried")
    at: float
    job: str = Field(description="the job that tried it", examples=["alice/verify-3"])


class ImageLayer(BaseModel):
    created_by: str
    created_at: str
    size: int = Field(description="bytes; 0: changes no files, or not known")


class ImagePackage(BaseModel):
    name: str
    version: str


class ImageInside(BaseModel):
    """What is inside an image."""

    os: str = Field(description="its distribution", examples=["Debian GNU/Linux 12 (bookworm)"])
    architecture: str = Field(examples=["amd64"])
    user: str
    workdir: str
    entrypoint: list[str]
    cmd: list[str]
    env: list[str] = Field(description="NAME=value")
    labels: dict[str, str]
    history: list[ImageLayer]
    packages_state: str = Field(description="unread, reading, read or failed", examples=["read"])
    deb: list[ImagePackage]
    pip: list[ImagePackage]
    conda: list[ImagePackage]


class Image(BaseModel):
    id: str
    name: str = Field(description="as jobs name it", examples=["alice/torch:2"])
    owner: str
    ready: bool = Field(description="one of the ready images, which the admins keep")
    source: str = Field(description="added, saved, built or pushed", examples=["saved"])
    description: str
    digest: str = Field(description="of its manifest; empty: not known yet")
    size: int = Field(description="compressed bytes; 0: not known yet")
    created_at: float
    updated_at: float
    shares: list[ImageShare] = Field(description="who else may use it; for its owner and admins")
    proposal: str = Field(description="empty, proposed, accepted or rejected")
    proposal_note: str
    decided_by: str = Field(description="the admin who accepted or rejected it; empty: nobody yet")
    decided_at: float | None
    verified: str = Field(
        description="ok, failed, running or unverified, for the current digest", examples=["ok"]
    )
    verified_at: float | None
    works: list[str] = Field(
        description="the checks that passed: ssh, lab, code and gpu",
        examples=[["ssh", "lab"]],
    )
    nodes: list[ImageNode]


class ImageDetail(Image):
    checks: list[ImageCheck]
    inside: ImageInside | None


class ImageList(BaseModel):
    images: list[Image]


class NewImage(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: ImageName = Field(description="as in a job", examples=["pytorch/pytorch:2.4.0"])
    description: Words = ""
    ready: bool = Field(False, description="as a ready image; for admins")


class ImageChanges(BaseModel):
    model_config = ConfigDict(extra="forbid")

    description: Words | None = None


class ShareOrder(BaseModel):
    kind: Literal["user", "group", "everybody"]
    name: Annotated[str, Field(max_length=64, pattern=PLAIN)] = Field(
        "", description="name or id of the user or group"
    )


class NoteOrder(BaseModel):
    note: Words = Field("", description="for the other side to read")


class PullOrder(BaseModel):
    nodes: list[Line] = Field(default_factory=list, max_length=1000, description="empty: all nodes")


class VerifyOrder(BaseModel):
    gpus: int = Field(0, ge=0, le=1, description="1: tries a GPU, too")
    queue: Line | None = None


class BuildOrder(BaseModel):
    """A base image and the packages to add to it."""

    model_config = ConfigDict(extra="forbid")

    name: ImageName = Field(description="the new image", examples=["alice/torch:3"])
    base: ImageName = Field(examples=["debian:12"])
    apt: list[Package] = Field(default_factory=list, max_length=500)
    pip: list[Package] = Field(default_factory=list, max_length=500)
    conda: list[Package] = Field(default_factory=list, max_length=500)
    description: Words = ""
    queue: Line | None = None


class BuildAnswer(BaseModel):
    job: str = Field(description="the job that builds it; its log is the build's")
    image: str


class SaveOrder(BaseModel):
    model_config = ConfigDict(extra="forbid")

    image: ImageName = Field(description="the name to save it as", examples=["alice/torch:3"])
    task: int = Field(0, ge=0, le=100_000, description="which task of a job")
    stop: bool = Field(False, description="end its command first, and leave it stopped")
    description: Words = ""
    id: str | None = Field(
        None,
        pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        description="a UUID chosen by the client: repeating the request saves once",
    )


class SaveEstimate(BaseModel):
    """What saving would take, before it is begun."""

    changed: int = Field(description="bytes of changed files, not compressed")
    files: int = Field(description="how many; 0: not counted")
    room: int | None = Field(description="bytes there is room for; null: not known")
    kept_in: str = Field(description="registry, or node: only there, as the registry is off")
    problem_en: str = Field(description="why it would be refused; empty: it would not")
    problem_zh: str


class Save(BaseModel):
    """A container being saved as an image, or what became of it."""

    id: str
    job: str = Field(examples=["alice/dev-3"])
    environment: str = Field(description="its name; empty: not an environment")
    owner: str
    image: str
    state: str = Field(
        description="waiting, saving, saved, failed, cancelled or interrupted",
        examples=["saving"],
    )
    step_en: str = Field(description="what is being done")
    step_zh: str
    done: int = Field(description="bytes")
    total: int
    stop: bool
    created_at: float
    ended_at: float | None
    digest: str
    size: int = Field(description="compressed bytes of the saved layer")
    error_en: str
    error_zh: str


class SaveList(BaseModel):
    saves: list[Save]
