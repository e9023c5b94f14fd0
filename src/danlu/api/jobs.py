"""Routes for jobs: ask, look, explain, stop."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.principal import Asker, Principal
from danlu.api.answers import EventList, Job, JobDetail, JobList, Submitted, Why
from danlu.api.dialects import PARAMETERS, keep_secrets, read_asked
from danlu.api.problems import ApiProblem, not_found, told
from danlu.api.services import Asks, Our, Services, Who, address_of
from danlu.api.views import (
    attempt_view,
    doing,
    event_view,
    job_view,
    settled_view,
    task_views,
)
from danlu.api.why import waiting_view
from danlu.control.active import Active
from danlu.spec.codec import from_values
from danlu.spec.complete import Submission
from danlu.spec.job import Array, JobSpec, Stdin
from danlu.spec.native import to_native, to_yaml
from danlu.spec.states import State
from danlu.store import events as event_store
from danlu.store.rows import JobRow

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
        200: {"model": Submitted, "description": "These ids were submitted before; or a dry run"},
        **told(409, 413),
    },
)
async def submit(request: Request, our: Our, who: Who, dry_run: bool = False) -> Response:
    """Queues one job or several: JSON or YAML, several documents or a list; all or none.

    Files of OpenPAI, DLC, Determined and sbatch are recognised and converted; `notes` tells what
    was mapped. An `id` (UUID) in a job makes the request repeatable: the same id is the same job.
    """
    asked = await read_asked(request, our, who)
    if dry_run:
        previews = await _previews(our, who, asked.jobs)
        return JSONResponse({"jobs": [], "notes": asked.notes, "previews": previews})
    if asked.secrets:
        await keep_secrets(our, Asker(who, address_of(request)), asked.secrets)
    rows, new = await our.submitter.submit(asked.jobs, who, address_of(request))
    answer = {"jobs": [job_view(row) for row in rows], "notes": asked.notes, "previews": []}
    # Not checked against its model on the way out: this is the hot path, a test does it.
    return JSONResponse(answer, 201 if new else 200)


async def _previews(our: Services, who: Principal, asked: list[Submission]) -> list[Values]:
    previews = []
    for number, job in enumerate(asked, 1):
        verdict = await our.submitter.preview(job, who, number, len(asked))
        previews.append({"spec": to_native(job.spec), "why": waiting_view(verdict)})
    return previews


@router.get("/{ref}", response_model=JobDetail, responses=told(409))
async def show(ref: str, our: Our, who: Who) -> Values:
    """All about one job: its file, its tasks, its attempts."""
    row = await one(our, who, ref)
    attempts = await our.lookup.attempts(row.id)
    spec = from_values(row.spec)
    latest = attempts[-1] if attempts else None
    view = job_view(row, latest, spec)
    view["spec"] = to_native(spec)
    view["tasks"] = task_views(spec, latest)
    view["attempts"] = [attempt_view(attempt) for attempt in attempts]
    view["doing_en"], view["doing_zh"] = doing(our.controller.rooms.jobs.get(row.id))
    return view


@router.get("/{ref}/wait", response_model=Job, responses=told(409))
async def wait(
    ref: str,
    our: Our,
    who: Who,
    timeout: Annotated[float, Query(ge=0, le=300)] = 30,  # noqa: ASYNC109
) -> Values:
    """Answers when the job has ended, at the latest after `timeout` seconds."""
    row = await one(our, who, ref)
    bulletin = our.controller.rooms.bulletin
    deadline = time.monotonic() + timeout
    while not row.state.final:
        waiter = bulletin.subscribe(row.id)
        fresh = await our.lookup.job(row.id)
        row = as_it_is(our, fresh or row)
        left = deadline - time.monotonic()
        if row.state.final or left <= 0:
            bulletin.unsubscribe(row.id, waiter)
            break
        await bulletin.wait(row.id, waiter, left)
    return job_view(row, await our.lookup.latest_attempt(row))


@router.get("/{ref}/why", response_model=Why, responses=told(409))
async def why(ref: str, our: Our, who: Who) -> Values:
    """Why it waits, or how it ended."""
    row = await one(our, who, ref)
    job = our.controller.rooms.jobs.get(row.id)
    if job is not None and job.waiting is not None:
        controller = our.controller
        return waiting_view(controller.planner.explain(row.id))
    return settled_view(job_view(row), doing(job))


@router.get("/{ref}/events", response_model=EventList, responses=told(409))
async def events(
    ref: str,
    our: Our,
    who: Who,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Values:
    """What happened to a job, the oldest first."""
    row = await one(our, who, ref)
    found = await our.controller.rooms.store.read(
        lambda tx: event_store.events_of(tx, row.id, after, limit)
    )
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
        **told(409),
    },
)
async def spec(
    ref: str, our: Our, who: Who, format: Annotated[str, Query(pattern="^(yaml|json)$")] = "yaml"
) -> Response | Values:
    """The native job file that asks for this job again."""
    found = _once_more(await several(our, who, ref))
    if format == "json":
        return to_native(found)
    return Response(to_yaml(found), media_type="application/yaml")


class StopOrder(BaseModel):
    grace: Annotated[float | None, Field(ge=0, le=86400)] = None
    now: bool = False


@router.post("/{ref}/stop", response_model=JobList, responses=told(400, 409, 413))
async def stop(
    ref: str, our: Our, asks: Asks, order: Annotated[StopOrder | None, Body()] = None
) -> Values:
    """Stops a job, or every element of an array. Stopping an ended job changes nothing."""
    rows = await to_change(our, asks.who, ref)
    order = order or StopOrder()
    grace = 0.0 if order.now else order.grace
    stopped = []
    for row in rows:
        job = our.controller.rooms.jobs.get(row.id)
        if job is not None:
            await our.controller.stop(job, asks.name, grace)
            stopped.append(row)
    if stopped:  # who stops what has ended has done nothing worth a line
        await _note(our, asks, "job.stopped", stopped)
    fresh = [await our.lookup.job(row.id) or row for row in rows]
    return {"jobs": [job_view(row) for row in fresh], "next": None}


@router.post("/{ref}/rerun", status_code=201, response_model=Submitted, responses=told(409))
async def rerun(ref: str, our: Our, asks: Asks) -> Values:
    """The same job once more, under a new number; of another's job, a copy of one's own."""
    again = _once_more(await several(our, asks.who, ref))
    if again.group is not None and not rules.submits_for(asks.who, again.group):
        again = replace(again, group=None)
    rows, _ = await our.submitter.submit([Submission(again)], asks.who, asks.address)
    return {"jobs": [job_view(new) for new in rows], "notes": [], "previews": []}


@router.post("/{ref}/hold", response_model=JobList, responses=told(409))
async def hold(ref: str, our: Our, asks: Asks) -> Values:
    """Keeps a queued job in the queue until it is released."""
    return await _hold(our, asks, ref, True)


@router.post("/{ref}/release", response_model=JobList, responses=told(409))
async def release(ref: str, our: Our, asks: Asks) -> Values:
    """Lets a held job start."""
    return await _hold(our, asks, ref, False)


async def _hold(our: Services, asks: Asker, ref: str, hold: bool) -> Values:
    rows = await to_change(our, asks.who, ref)
    jobs = [our.controller.rooms.jobs.get(row.id) for row in rows]
    waiting: list[Active] = [job for job in jobs if job is not None and job.waiting is not None]
    if not waiting:
        raise ApiProblem(
            409, "not_queued", f"{ref} does not wait in the queue", f"{ref} 不在队列中"
        )
    for job in waiting:
        await our.controller.hold(job, hold, asks.name)
    await _note(our, asks, "job.held" if hold else "job.released", rows)
    fresh = [await our.lookup.job(row.id) or row for row in rows]
    return {"jobs": [job_view(row) for row in fresh], "next": None}


async def several(our: Services, who: Principal, ref: str) -> list[JobRow]:
    """The jobs a reference names, among those one may see."""
    rows = await our.lookup.jobs(ref, who)
    shown = ref.replace("~", "/")[:100]
    if not rows:
        raise not_found(f"job {shown}", f"任务 {shown}")
    owners = list(dict.fromkeys(row.owner for row in rows))
    if len(owners) > 1:
        listed = ", ".join(f"{owner}/{shown}" for owner in owners[:5])
        raise ApiProblem(
            409,
            "ambiguous",
            f"{shown} is the name of several people's jobs; say whose: {listed}",
            f"{shown} 是多个人的任务名；请写明所有者：{listed}",
        )
    return [as_it_is(our, row) for row in rows]


async def to_change(our: Services, who: Principal, ref: str) -> list[JobRow]:
    """The same, for doing something to them."""
    rows = await several(our, who, ref)
    for row in rows:
        if not rules.changes_job(who, row.owner):
            raise ApiProblem(
                403,
                "not_allowed",
                f"Only {row.owner} or an admin may do this to {row.ref}",
                f"只有 {row.owner} 或管理员可以对 {row.ref} 执行此操作",
            )
    return rows


async def _note(our: Services, asks: Asker, act: str, rows: list[JobRow]) -> None:
    ref, more = rows[0].ref, len(rows) - 1
    await our.controller.rooms.store.write(lambda tx: note(tx, asks, act, ref, more=more))


async def one(our: Services, who: Principal, ref: str) -> JobRow:
    """The job a reference names; of an array, its first element."""
    return (await several(our, who, ref))[0]


def as_it_is(our: Services, row: JobRow) -> JobRow:
    """That a task runs is a fact of the engine; the database learns of it a moment later."""
    job = our.controller.rooms.jobs.get(row.id)
    if row.state is not State.STARTING or job is None or not job.launched:
        return row
    # Not the state in memory: that may be the end, which is not a fact before it is on disk.
    stopped = job.attempt is not None and job.attempt.stop is not None
    state = State.STOPPING if stopped else State.RUNNING
    return replace(row, state=state, started_at=job.row.started_at)


def _once_more(rows: list[JobRow]) -> JobSpec:
    """The job without the terminal it was called from; of an array, the element that was named."""
    spec = replace(from_values(rows[0].spec), stdin=Stdin.NONE)
    index = rows[0].array_index
    if spec.array is not None and len(rows) == 1 and index is not None:
        return replace(spec, array=Array((index,)))
    return spec
