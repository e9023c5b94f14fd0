"""Routes for environments: create, look, start, stop, change."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from danlu.api import answers
from danlu.api.dependencies import Asks, Our, Who
from danlu.api.problems import error_responses
from danlu.api.session import PLAIN
from danlu.api.views import job_view
from danlu.api.why import waiting_view
from danlu.services.environments import Environment
from danlu.spec.native import to_native

router = APIRouter(prefix="/environments", tags=["environments"])
Values = dict[str, Any]
Name = Annotated[
    str,
    Path(
        max_length=100,
        pattern=PLAIN,
        description="its name; another person's is `owner~name`",
    ),
]
User = Annotated[str, Path(max_length=64, pattern=PLAIN)]
_NOT_KEYS = frozenset({"name", "id", "start", "restart"})


class EnvironmentView(BaseModel):
    id: str
    owner: str
    name: str = Field(examples=["dev"])
    created_at: float
    request: dict[str, Any] = Field(
        description="keys of a native job file: what each start asks for"
    )
    saved_image: str | None = Field(
        description="the image it was saved as, from which it starts; null: as in `request`"
    )
    shared: list[str] = Field(description="others who may enter it")
    state: str = Field(
        description="stopped, queued, starting, running or stopping", examples=["running"]
    )
    job: answers.Job | None = Field(description="its latest job; null: never started")
    doing_en: str = Field(description="what is being done for it, e.g. the progress of a pull")
    doing_zh: str
    ends_at: float | None = Field(description="when it reaches its time limit; null: none")
    idle_since: float | None = Field(
        description="not used since then; null: in use, or without an idle limit"
    )
    idle_stop_at: float | None = Field(
        description="when it is stopped for its idle limit, if nobody uses it; null: in use"
    )


class EnvironmentList(BaseModel):
    environments: list[EnvironmentView]


class EnvironmentKeys(BaseModel):
    """Keys of a native job file, except those about commands and several tasks."""

    model_config = ConfigDict(extra="forbid")

    image: str | None = Field(None, max_length=4096, examples=["pytorch:2.4"])
    gpus: int | float | str | dict[str, Any] | None = Field(None, examples=[1])
    cpus: float | None = None
    memory: int | str | None = Field(None, examples=["16G"])
    shm: int | str | None = Field(None, examples=["8G"])
    env: dict[str, Any] | None = Field(None, examples=[{"LR": "0.1"}])
    secrets: dict[str, Any] | list[str] | None = Field(None, examples=[{"WANDB_API_KEY": "wandb"}])
    mounts: list[Any] | None = Field(None, examples=[["fast:/fast"]])
    ports: int | list[str] | dict[str, Any] | None = Field(None, examples=[{"http": 1}])
    workdir: str | None = Field(None, examples=["/userhome/project"])
    queue: str | None = None
    group: str | None = None
    priority: int | None = Field(None, description="-1000 to 1000; higher goes first")
    time_limit: int | float | str | None = Field(None, examples=["8h"])
    idle_limit: int | float | str | None = Field(
        None,
        description="time without use after which it is stopped; 0: never",
        examples=["2h"],
    )
    nodes: list[str] | dict[str, Any] | None = Field(None, examples=[["n1"]])
    grace: int | float | str | None = Field(None, examples=["10s"])
    log_cap: int | str | None = Field(None, examples=["1G"])
    bundle: str | dict[str, Any] | None = Field(
        None,
        description="a folder brought along with `--carry`: its working folder, in all its starts",
        examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
    )

    def keys(self) -> Values:
        return self.model_dump(exclude_unset=True, exclude=set(_NOT_KEYS))


class NewEnvironment(EnvironmentKeys):
    name: str = Field(
        max_length=100,
        description="letters, digits and '_', at most 27, with at least one letter",
        examples=["dev"],
    )
    id: str | None = Field(
        None,
        pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        description="a UUID chosen by the client: repeating the request creates it once",
    )
    start: bool = Field(True, description="start it at once")


class EnvironmentChanges(EnvironmentKeys):
    """What is left out stays; null resets it to its default."""

    restart: bool = Field(
        False, description="stop it and start it again if the change cannot be made otherwise"
    )


class CreatedEnvironment(BaseModel):
    environment: EnvironmentView | None = Field(description="null: a dry run")
    preview: answers.Preview | None = Field(description="the result of a dry run")


class ChangedEnvironment(BaseModel):
    environment: EnvironmentView
    restarted: bool = Field(description="it was stopped and starts again with the change")


@router.get("", response_model=EnvironmentList)
async def list_environments(
    our: Our,
    who: Who,
    all: Annotated[
        bool, Query(description="of everybody whose environments the caller may see")
    ] = False,
) -> Values:
    """Lists the caller's environments and those shared with them."""
    found = await our.environments.listed(who, all)
    return {"environments": [environment_view(each) for each in found]}


@router.post(
    "",
    status_code=201,
    response_model=CreatedEnvironment,
    responses={
        200: {"model": CreatedEnvironment, "description": "It was created before, or a dry run"},
        **error_responses(400, 409, 413),
    },
)
async def create(new: NewEnvironment, our: Our, asks: Asks, dry_run: bool = False) -> Response:
    """Creates an environment and starts it."""
    if dry_run:
        found = await our.environments.preview(asks.who, new.name, new.keys())
        why = waiting_view(found.verdict)
        view = {"spec": to_native(found.spec), "why": why, "script": found.script}
        return JSONResponse({"environment": None, "preview": view})
    made, fresh = await our.environments.create(asks, new.name, new.keys(), new.id, new.start)
    body = {"environment": environment_view(made), "preview": None}
    return JSONResponse(body, 201 if fresh else 200)


@router.get("/{name}", response_model=EnvironmentView)
async def show(name: Name, our: Our, who: Who) -> Values:
    """Returns an environment with its latest job."""
    return environment_view(await our.environments.show(who, name))


@router.patch(
    "/{name}", response_model=ChangedEnvironment, responses=error_responses(400, 409, 413)
)
async def change(name: Name, changes: EnvironmentChanges, our: Our, asks: Asks) -> Values:
    """Changes what an environment asks for.

    While it runs, it has to be stopped and started again for it: then `restart` must be true.
    """
    made, again = await our.environments.change(asks, name, changes.keys(), changes.restart)
    return {"environment": environment_view(made), "restarted": again}


@router.delete("/{name}", response_model=EnvironmentView)
async def delete(name: Name, our: Our, asks: Asks) -> Values:
    """Stops and deletes an environment. Files in its owner's folders stay."""
    return environment_view(await our.environments.delete(asks, name))


@router.post("/{name}/start", response_model=EnvironmentView, responses=error_responses(409))
async def start(name: Name, our: Our, asks: Asks) -> Values:
    """Starts an environment. Has no effect on one that is running or waiting."""
    return environment_view(await our.environments.start(asks, name))


@router.post("/{name}/stop", response_model=EnvironmentView, responses=error_responses(409))
async def stop(name: Name, our: Our, asks: Asks) -> Values:
    """Stops an environment, which can be started again."""
    return environment_view(await our.environments.stop(asks, name))


@router.put("/{name}/shares/{user}", response_model=EnvironmentView, responses=error_responses(409))
async def share(name: Name, user: User, our: Our, asks: Asks) -> Values:
    """Lets another person enter an environment, as its owner does."""
    return environment_view(await our.sharing.share(asks, name, user))


@router.delete("/{name}/shares/{user}", response_model=EnvironmentView)
async def unshare(name: Name, user: User, our: Our, asks: Asks) -> Values:
    """Ends this at once, also for somebody who is inside. Anyone may leave."""
    return environment_view(await our.sharing.unshare(asks, name, user))


class ExtendOrder(BaseModel):
    by: float | Annotated[str, Field(max_length=64)] | None = Field(
        None, description="seconds, or 2h; null: its usual time, from now on", examples=["2h"]
    )


@router.post(
    "/{name}/extend", response_model=EnvironmentView, responses=error_responses(400, 409, 413)
)
async def extend(
    name: Name, our: Our, asks: Asks, order: Annotated[ExtendOrder | None, Body()] = None
) -> Values:
    """Moves the end of a running environment, which also counts as used now."""
    by = None if order is None else order.by
    return environment_view(await our.environments.extend(asks, name, by))


def environment_view(found: Environment) -> Values:
    row, job = found.row, found.job
    active = job is not None and not job.state.final
    return {
        "id": row.id,
        "owner": row.owner,
        "name": row.name,
        "created_at": row.created_at,
        "request": row.request,
        "saved_image": row.saved_image,
        "shared": row.shared,
        "state": job.state if job is not None and active else "stopped",
        "job": None if job is None else job_view(job, found.attempt, found.unknown_since),
        **found.doing.values("doing"),
        "ends_at": found.ends_at,
        "idle_since": found.idle_since,
        "idle_stop_at": found.idle_stop_at,
    }
