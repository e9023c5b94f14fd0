"""Routes for saving containers as images."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from danlu.api.dependencies import Asks, Our, Who
from danlu.api.environments import Name
from danlu.api.image_answers import Save, SaveEstimate, SaveList, SaveOrder
from danlu.api.problems import error_responses
from danlu.api.session import PLAIN
from danlu.services.saves import ShownSave, Verdict

router = APIRouter(tags=["images"])
Values = dict[str, Any]
SaveId = Annotated[str, Path(max_length=64, pattern=PLAIN)]
AsImage = Annotated[str, Query(max_length=255, pattern=PLAIN, description="the name it would get")]
TaskNumber = Annotated[int, Query(ge=0, le=100_000, description="which task of the job")]


@router.get(
    "/environments/{name}/save", response_model=SaveEstimate, responses=error_responses(409)
)
async def estimate_environment(name: Name, our: Our, who: Who, image: AsImage = "") -> Values:
    """Returns what saving an environment as an image would take, and whether there is room."""
    row = await our.environments.to_change(who, name)
    return estimate_view(await our.saves.estimate(who, row.ref, image))


@router.post(
    "/environments/{name}/save",
    status_code=202,
    response_model=Save,
    responses=error_responses(400, 409, 413),
)
async def save_environment(name: Name, order: SaveOrder, our: Our, asks: Asks) -> Values:
    """Saves a running environment as an image, from which it starts the next time.

    Answers at once; the save goes on and is shown by `GET /saves/{id}`.
    """
    row = await our.environments.to_change(asks.who, name)
    return await _begin(our, asks, row.ref, order)


@router.get("/jobs/{ref}/save", response_model=SaveEstimate, responses=error_responses(409))
async def estimate_job(
    ref: str, our: Our, who: Who, image: AsImage = "", task: TaskNumber = 0
) -> Values:
    """Returns what saving a task's container as an image would take."""
    return estimate_view(await our.saves.estimate(who, ref, image, task))


@router.post(
    "/jobs/{ref}/save",
    status_code=202,
    response_model=Save,
    responses=error_responses(400, 409, 413),
)
async def save_job(ref: str, order: SaveOrder, our: Our, asks: Asks) -> Values:
    """Saves the container of a running task as an image."""
    return await _begin(our, asks, ref, order)


@router.get("/saves", response_model=SaveList)
async def list_saves(
    our: Our,
    who: Who,
    all: Annotated[bool, Query(description="of everybody; for admins")] = False,
) -> Values:
    """Lists the caller's latest saves."""
    return {"saves": [save_view(each) for each in await our.saves.listed(who, all)]}


@router.get("/saves/{id}", response_model=Save)
async def show_save(id: SaveId, our: Our, who: Who) -> Values:
    """Returns how far a save is, or what became of it."""
    return save_view(await our.saves.show(who, id))


@router.delete("/saves/{id}", response_model=Save)
async def cancel_save(id: SaveId, our: Our, asks: Asks) -> Values:
    """Cancels a save. Nothing is left of it; one that has ended stays as it is."""
    return save_view(await our.saves.cancel(asks, id))


async def _begin(our: Our, asks: Asks, ref: str, order: SaveOrder) -> Values:
    begun = await our.saves.begin(
        asks,
        ref,
        order.image,
        task=order.task,
        stop=order.stop,
        description=order.description,
        id=order.id,
    )
    return save_view(begun)


def estimate_view(found: Verdict) -> Values:
    return {
        "changed": found.estimate.changed,
        "files": found.estimate.files,
        "room": found.room,
        "kept_in": "registry" if found.in_registry else "node",
        **found.problem.values("problem"),
    }


def save_view(found: ShownSave) -> Values:
    row = found.row
    return {
        "id": row.id,
        "job": row.job,
        "environment": found.environment,
        "owner": row.owner,
        "image": row.image,
        "state": row.state,
        **found.step.values("step"),
        "done": row.done,
        "total": row.total,
        "stop": row.stop,
        "created_at": row.created_at,
        "ended_at": row.ended_at,
        "digest": row.digest,
        "size": row.size,
        "error_en": row.error_en,
        "error_zh": row.error_zh,
    }
