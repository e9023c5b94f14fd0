"""Routes for jobs: ask, look, explain, stop."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from danlu.access.principal import Asker
from danlu.api.answers import EventList, Job, JobDetail, JobList, Submitted, Why
from danlu.api.dependencies import Asks, Our, Who, address_of
from danlu.api.dialects import PARAMETERS, file_of
from danlu.api.job_lists import jobs_answer, list_answer
from danlu.api.problems import error_responses
from danlu.api.views import (
    attempt_view,
    before_view,
    event_view,
    job_view,
    settled_view,
    task_views,
)
from danlu.api.why import waiting_view
from danlu.services.submitting import Preview
from danlu.spec.native import to_native

router = APIRouter(prefix="/jobs", tags=["jobs"])
Values = dict[str, Any]
_SUBMIT_BODY = {
    "parameters": PARAMETERS,
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/JobRequest"}},
            "application/yaml": {"schema": {"type": "string"}},
        },
    },
}


@router.post(
    "",
    status_code=201,
    response_model=Submitted,
    openapi_extra=_SUBMIT_BODY,
    responses={
        200: {"model": Submitted, "description": "These ids were submitted before, or a dry run"},
        **error_responses(409, 413),
    },
)
async def submit(request: Request, our: Our, who: Who, dry_run: bool = False) -> Response:
    """Submits one or more jobs as JSON or YAML (multiple documents or a list), all or none.

    Files of OpenPAI, DLC, Determined and sbatch are recognized and converted; `notes` lists what
    was mapped. With an `id` (UUID) in each job, the request is idempotent.
    """
    file = await file_of(request)
    if dry_run:
        previews, notes = await our.submitting.dry_run(who, file)
        return await list_answer("previews", previews, _preview_view, jobs=[], notes=notes)
    asks = Asker(who, address_of(request))
    queued = await our.submitting.submit(asks, file, request.is_disconnected)
    status = 201 if queued.new else 200
    return await jobs_answer(queued.rows, status, notes=queued.notes, previews=[])


def _preview_view(preview: Preview) -> Values:
    return {
        "spec": to_native(preview.spec),
        "why": waiting_view(preview.verdict),
        "script": preview.script,
    }


@router.get("/{ref}", response_model=JobDetail, responses=error_responses(409))
async def show(ref: str, our: Our, who: Who) -> Values:
    """Returns a job with its job file, tasks and attempts."""
    found = await our.jobs.show(who, ref)
    latest = found.attempts[-1] if found.attempts else None
    view = job_view(found.row, latest, found.unknown_since, found.spec)
    view["spec"] = to_native(found.spec)
    view["tasks"] = task_views(found.spec, latest)
    view["attempts"] = [attempt_view(attempt) for attempt in found.attempts]
    view.update(found.doing.values("doing"))
    view["idle_stop_at"] = found.idle_stop_at
    return view


@router.get("/{ref}/wait", response_model=Job, responses=error_responses(409))
async def wait(
    ref: str,
    our: Our,
    who: Who,
    timeout: Annotated[float, Query(ge=0, le=300)] = 30,  # noqa: ASYNC109
) -> Values:
    """Waits until the job has ended, for at most `timeout` seconds."""
    return job_view(*await our.jobs.wait(who, ref, timeout))


@router.get("/{ref}/why", response_model=Why, responses=error_responses(409))
async def why(ref: str, our: Our, who: Who) -> Values:
    """Explains why a job is waiting, or how it ended."""
    found = await our.jobs.why(who, ref)
    if found.waiting is not None:
        return {**waiting_view(found.waiting), "before": before_view(found.row, found.last)}
    return settled_view(job_view(found.row), found.doing)


@router.get("/{ref}/events", response_model=EventList, responses=error_responses(409))
async def events(
    ref: str,
    our: Our,
    who: Who,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Values:
    """Lists the events of a job, oldest first."""
    found = await our.jobs.events(who, ref, after, limit)
    return {"events": [event_view(event) for event in found]}


@router.get(
    "/{ref}/spec",
    response_model=None,
    responses={
        200: {
            "content": {
                "application/yaml": {"schema": {}},
                "application/json": {
                    "schema": {"type": "object"},
                    "example": {"name": "mnist", "command": "python train.py", "gpus": 2},
                },
            }
        },
        **error_responses(409),
    },
)
async def spec(
    ref: str,
    our: Our,
    who: Who,
    format: Annotated[str, Query(pattern="^(yaml|json)$")] = "yaml",
    defaults: Annotated[
        bool, Query(description="false: without CPUs and memory that follow from the GPUs (json)")
    ] = True,
) -> Response | Values:
    """Returns a native job file with which the job can be submitted again."""
    found = await our.jobs.spec(who, ref)
    if format == "json":
        return to_native(found, None if defaults else our.jobs.defaults)
    from danlu.spec.native_yaml import to_yaml

    return Response(to_yaml(found), media_type="application/yaml")


class StopOrder(BaseModel):
    grace: Annotated[float | None, Field(ge=0, le=86400)] = None
    now: bool = False


@router.post("/{ref}/stop", response_model=JobList, responses=error_responses(400, 409, 413))
async def stop(
    ref: str, our: Our, asks: Asks, order: Annotated[StopOrder | None, Body()] = None
) -> Response:
    """Stops a job, or all elements of an array. Has no effect on jobs that have ended."""
    order = order or StopOrder()
    rows = await our.jobs.stop(asks, ref, 0.0 if order.now else order.grace)
    return await jobs_answer(rows, next=None)


class JobChanges(BaseModel):
    """Keys of a native job file. What is left out stays; null resets it to its default."""

    model_config = ConfigDict(extra="forbid")

    gpus: int | float | str | dict[str, Any] | None = Field(None, examples=[2])
    cpus: float | None = None
    memory: int | str | None = Field(None, examples=["16G"])
    count: int | None = Field(None, description="number of tasks")
    time_limit: int | float | str | None = Field(None, examples=["2h"])
    idle_limit: int | float | str | None = Field(None, examples=["2h"])
    queue: str | None = None
    priority: int | None = Field(None, description="-1000 to 1000; higher goes first")
    nodes: dict[str, Any] | None = None
    preemptible: bool | None = None
    roles: dict[str, Any] | None = Field(
        None, description="role -> gpus, cpus, memory, count; for jobs with several roles"
    )


@router.patch("/{ref}", response_model=JobList, responses=error_responses(400, 409, 413))
async def edit(ref: str, changes: JobChanges, our: Our, asks: Asks) -> Response:
    """Changes a waiting job in place, or the waiting elements of an array.

    The job keeps its position in the queue, unless its priority changes. Changes are validated like
    a submission.
    """
    rows = await our.jobs.edit(asks, ref, changes.model_dump(exclude_unset=True))
    return await jobs_answer(rows, next=None)


@router.post(
    "/{ref}/rerun", status_code=201, response_model=Submitted, responses=error_responses(409)
)
async def rerun(ref: str, our: Our, asks: Asks) -> Response:
    """Submits the same job again under a new number, owned by the caller."""
    rows = await our.jobs.rerun(asks, ref)
    return await jobs_answer(rows, 201, notes=[], previews=[])


@router.post("/{ref}/hold", response_model=JobList, responses=error_responses(409))
async def hold(ref: str, our: Our, asks: Asks) -> Response:
    """Holds a queued job: it does not start until it is released."""
    return await jobs_answer(await our.jobs.hold(asks, ref, True), next=None)


@router.post("/{ref}/release", response_model=JobList, responses=error_responses(409))
async def release(ref: str, our: Our, asks: Asks) -> Response:
    """Releases a held job."""
    return await jobs_answer(await our.jobs.hold(asks, ref, False), next=None)
