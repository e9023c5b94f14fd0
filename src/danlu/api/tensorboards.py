"""Routes for TensorBoard: what a job has written, and folders of one's own."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from danlu.api import answers
from danlu.api.dependencies import Asks, Our, Who
from danlu.api.problems import ApiProblem, error_responses
from danlu.api.views import job_view
from danlu.spec.text import Text

router = APIRouter(tags=["jobs"])
Values = dict[str, Any]
Folder = Annotated[str, Field(max_length=4096)]


class Curves(BaseModel):
    folders: list[str] = Field(
        description="with event files that the job has written, as its tasks see them; empty: none "
        "were found",
        examples=[["/userhome/project/runs"]],
    )
    job: answers.Job | None = Field(description="a job of the caller that shows them already")


class CurvesOrder(BaseModel):
    """Either folders, or a job."""

    model_config = ConfigDict(extra="forbid")

    folders: list[Folder] | None = Field(
        None,
        min_length=1,
        max_length=100,
        description="as tasks see them",
        examples=[["/userhome/project/runs"]],
    )
    job: str | None = Field(
        None, max_length=200, description="whose event files to show", examples=["mnist-3"]
    )
    cpus: float | None = None
    memory: int | str | None = Field(None, examples=["4G"])
    queue: str | None = None
    group: str | None = None
    time_limit: int | float | str | None = Field(None, examples=["8h"])
    idle_limit: int | float | str | None = Field(
        None, description="time without a visitor after which it is stopped; 1 h unless given"
    )


class ShownCurves(BaseModel):
    job: answers.Job
    folders: list[str]


@router.get("/jobs/{ref}/tensorboard", response_model=Curves, responses=error_responses(409))
async def curves_of(ref: str, our: Our, who: Who) -> Values:
    """Finds the event files that a job has written in the folder it runs in.

    The search is bounded: a few levels deep, and a few seconds long.
    """
    found = await our.tensorboards.of_job(who, ref)
    shown = None if found.shown_by is None else job_view(found.shown_by)
    return {"folders": found.folders, "job": shown}


@router.post(
    "/tensorboards",
    status_code=201,
    response_model=ShownCurves,
    responses={
        200: {"model": ShownCurves, "description": "One shows these folders already"},
        **error_responses(400, 409, 413),
    },
)
async def show_curves(order: Annotated[CurvesOrder, Body()], our: Our, asks: Asks) -> Response:
    """Starts TensorBoard for folders, as a job without GPUs that only reads them.

    It is opened through its door `tensorboard`, and stopped when nobody has looked for an hour.
    """
    if (order.folders is None) == (order.job is None):
        raise ApiProblem(
            422,
            "invalid_request",
            Text("write either folders or job", "请写 folders 或 job 其中之一"),
        )
    keys = order.model_dump(exclude={"folders", "job"}, exclude_none=True)
    if order.job is not None:
        row, folders, new = await our.tensorboards.for_job(asks, order.job, keys)
    else:
        row, folders, new = await our.tensorboards.open(asks, order.folders or [], keys)
    return JSONResponse({"job": job_view(row), "folders": folders}, 201 if new else 200)
