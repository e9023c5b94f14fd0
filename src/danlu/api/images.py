"""Routes for the catalogue of images."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query

from danlu.api.dependencies import Asks, Our, Who
from danlu.api.image_answers import (
    BuildAnswer,
    BuildOrder,
    ImageChanges,
    ImageDetail,
    ImageList,
    NewImage,
    NoteOrder,
    PullOrder,
    ShareOrder,
    VerifyOrder,
)
from danlu.api.problems import error_responses
from danlu.api.session import PLAIN
from danlu.services.build_script import Recipe
from danlu.services.image_nodes import OnNode
from danlu.services.images import Image

router = APIRouter(prefix="/images", tags=["images"])
Values = dict[str, Any]
Named = Annotated[
    str,
    Path(max_length=300, pattern=PLAIN, description="its id, or its name with `~` for `/`"),
]
Note = Annotated[NoteOrder | None, Body()]
_BAD = error_responses(400, 409, 413)


@router.get("", response_model=ImageList)
async def list_images(
    our: Our,
    who: Who,
    which: Annotated[
        str,
        Query(
            pattern="^(all|own|ready|shared|proposed)$",
            description="all, own, ready, shared or proposed",
        ),
    ] = "all",
) -> Values:
    """Lists the images the caller may use."""
    return {"images": [image_view(each) for each in await our.images.listed(who, which)]}


@router.post("", status_code=201, response_model=ImageDetail, responses=_BAD)
async def add(new: NewImage, our: Our, asks: Asks) -> Values:
    """Adds an image to the caller's list, or to the ready ones."""
    return detail_view(await our.images.add(asks, new.name, new.description, new.ready))


@router.post("/build", status_code=201, response_model=BuildAnswer, responses=_BAD)
async def build(order: BuildOrder, our: Our, asks: Asks) -> Values:
    """Builds an image from a base and packages, as a job whose log is the build's."""
    recipe = Recipe(
        order.name,
        order.base,
        tuple(order.apt),
        tuple(order.pip),
        tuple(order.conda),
        order.description,
        order.queue,
    )
    job, image = await our.image_builds.build(asks, recipe)
    return {"job": job, "image": image}


@router.get("/{image}", response_model=ImageDetail)
async def show(image: Named, our: Our, who: Who) -> Values:
    """Returns an image: what is inside, on which nodes it is, what was tried in it."""
    return detail_view(await our.images.show(who, image))


@router.patch("/{image}", response_model=ImageDetail, responses=_BAD)
async def change(image: Named, changes: ImageChanges, our: Our, asks: Asks) -> Values:
    """Changes the description of an image."""
    text = changes.description
    if text is None:
        return detail_view(await our.images.show(asks.who, image))
    return detail_view(await our.images.change(asks, image, text))


@router.delete("/{image}", response_model=ImageDetail, responses=error_responses(409))
async def remove(image: Named, our: Our, asks: Asks) -> Values:
    """Removes an image from the catalogue. The registry and the nodes keep what they have."""
    return detail_view(await our.images.remove(asks, image))


@router.post("/{image}/share", response_model=ImageDetail, responses=_BAD)
async def share(image: Named, order: ShareOrder, our: Our, asks: Asks) -> Values:
    """Lets a user, a group or everybody use an image and all other tags of its repository."""
    return detail_view(await our.images.share(asks, image, order.kind, order.name, True))


@router.post("/{image}/unshare", response_model=ImageDetail, responses=_BAD)
async def unshare(image: Named, order: ShareOrder, our: Our, asks: Asks) -> Values:
    """Ends this. Jobs that run go on."""
    return detail_view(await our.images.share(asks, image, order.kind, order.name, False))


@router.post("/{image}/propose", response_model=ImageDetail, responses=_BAD)
async def propose(image: Named, our: Our, asks: Asks, order: Note = None) -> Values:
    """Proposes an image as a ready one; admins decide."""
    return detail_view(await our.images.propose(asks, image, _note(order)))


@router.post("/{image}/accept", response_model=ImageDetail, responses=_BAD)
async def accept(image: Named, our: Our, asks: Asks, order: Note = None) -> Values:
    """Makes a proposed image a ready one, which everybody may use."""
    return detail_view(await our.images.decide(asks, image, _note(order), True))


@router.post("/{image}/reject", response_model=ImageDetail, responses=_BAD)
async def reject(image: Named, our: Our, asks: Asks, order: Note = None) -> Values:
    """Declines a proposal."""
    return detail_view(await our.images.decide(asks, image, _note(order), False))


@router.post("/{image}/pull", status_code=202, response_model=ImageDetail, responses=_BAD)
async def pull(
    image: Named, our: Our, asks: Asks, order: Annotated[PullOrder | None, Body()] = None
) -> Values:
    """Pulls an image to nodes ahead of jobs. Answers at once; `nodes` shows how far it is."""
    nodes = [] if order is None else order.nodes
    return detail_view(await our.images.pull(asks, image, nodes))


@router.post("/{image}/verify", status_code=202, response_model=ImageDetail, responses=_BAD)
async def verify(
    image: Named, our: Our, asks: Asks, order: Annotated[VerifyOrder | None, Body()] = None
) -> Values:
    """Tries JupyterLab, VS Code, SSH and a GPU in an image, as a job. `checks` has the results."""
    gpus, queue = (0, None) if order is None else (order.gpus, order.queue)
    return detail_view(await our.image_checks.verify(asks, image, gpus, queue))


def _note(order: NoteOrder | None) -> str:
    return "" if order is None else order.note


def image_view(found: Image) -> Values:
    row, (verdict, at) = found.row, found.verdict
    return {
        "id": row.id,
        "name": row.name,
        "owner": row.owner,
        "ready": row.ready,
        "source": row.source,
        "description": row.description,
        "digest": row.digest,
        "size": row.size,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "shares": [
            {"kind": "everybody" if each.kind == "all" else each.kind, "name": each.name}
            for each in found.shares
        ],
        "proposal": row.proposal,
        "proposal_note": row.proposal_note,
        "decided_by": row.decided_by,
        "decided_at": row.decided_at,
        "verified": verdict,
        "verified_at": at,
        "works": found.works,
        "nodes": [_node_view(each) for each in found.nodes],
    }


def detail_view(found: Image) -> Values:
    inside = found.row.inside
    return {
        **image_view(found),
        "checks": [
            {
                "check": each.check,
                "result": each.result,
                "detail_en": each.detail_en,
                "detail_zh": each.detail_zh,
                "digest": each.digest,
                "at": each.at,
                "job": each.job,
            }
            for each in found.checks
        ],
        "inside": inside or None,
    }


def _node_view(found: OnNode) -> Values:
    return {
        "node": found.node,
        "state": found.state,
        **found.detail.values("detail"),
        "done": found.done,
        "total": found.total,
        "at": found.at,
    }
