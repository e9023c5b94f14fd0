"""Routes for quotas: how much users and groups may hold at once."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from danlu.api.dependencies import Asks, Our, Who
from danlu.api.problems import error_responses
from danlu.api.session import PLAIN
from danlu.sched.api import WHOLE
from danlu.services.scheduling import QuotaState
from danlu.services.values import Kind

router = APIRouter(prefix="/quotas", tags=["scheduling"])
Values = dict[str, Any]
Whose = Annotated[Literal["user", "group"], Path(description="whose: user or group")]
Name = Annotated[
    str, Path(min_length=1, max_length=64, pattern=PLAIN, description="or *: everyone else")
]
Gpus = Annotated[float, Field(ge=0, le=1e6)]
Model = Annotated[str, Field(min_length=1, max_length=64, pattern=PLAIN)]


class QuotaWarning(BaseModel):
    en: str
    zh: str


class QuotaView(BaseModel):
    of: str = Field(description="user or group", examples=["user"])
    name: str = Field(description="*: everyone without their own", examples=["alice"])
    gpus: float | None = Field(description="total GPUs; null: no limit")
    models: dict[str, float] = Field(description="GPUs by model")
    cpus: float | None
    memory: int | None
    guaranteed: float = Field(description="GPUs guaranteed to the group, lent while idle")
    declared: str = Field(description="file (danlu.toml) or command")
    used_gpus: float = Field(description="current usage; 0 for *")
    used_models: dict[str, float]
    used_cpus: float
    used_memory: int
    warnings: list[QuotaWarning] = Field(description="what the cluster cannot provide at present")


class QuotaList(BaseModel):
    quotas: list[QuotaView]


class QuotaChanges(BaseModel):
    """What is left out stays as it is; null takes a limit away."""

    gpus: Gpus | None = Field(None, examples=[8])
    models: Annotated[dict[Model, Gpus], Field(max_length=100)] | None = Field(
        None, examples=[{"A100": 2}]
    )
    cpus: Annotated[float, Field(ge=0, le=1e7)] | None = Field(None, examples=[64])
    memory: int | Annotated[str, Field(max_length=64)] | None = Field(None, examples=["512G"])
    guaranteed: Gpus | None = Field(None, examples=[0])


@router.get("", response_model=QuotaList)
async def list_quotas(our: Our, who: Who) -> Values:
    """Lists the quotas of the caller and their groups, with current usage; admins see all."""
    return {"quotas": [_view(quota) for quota in our.scheduling.quotas(who)]}


@router.put("/{of}/{name}", response_model=QuotaList, responses=error_responses(400, 409, 413))
async def set_quota(of: Whose, name: Name, changes: QuotaChanges, our: Our, asks: Asks) -> Values:
    """Sets a quota. Jobs over it keep running, but no more start. Returns all quotas."""
    values = changes.model_dump(exclude_unset=True)
    quotas = await our.scheduling.set_quota(asks, Kind(of), name, values)
    return {"quotas": [_view(quota) for quota in quotas]}


@router.delete("/{of}/{name}", response_model=QuotaList, responses=error_responses(409))
async def remove_quota(of: Whose, name: Name, our: Our, asks: Asks) -> Values:
    """Removes a quota. Returns the remaining quotas."""
    left = await our.scheduling.remove_quota(asks, Kind(of), name)
    return {"quotas": [_view(quota) for quota in left]}


def _view(state: QuotaState) -> Values:
    quota, held = state.quota, state.held
    return {
        "of": state.kind.value,
        "name": state.name,
        "gpus": None if quota.gpus is None else quota.gpus / WHOLE,
        "models": {model: count / WHOLE for model, count in quota.models.items()},
        "cpus": quota.cpus,
        "memory": quota.memory,
        "guaranteed": quota.guaranteed / WHOLE,
        "declared": "file" if state.in_file else "command",
        "used_gpus": held.gpus / WHOLE,
        "used_models": {model: count / WHOLE for model, count in held.models.items()},
        "used_cpus": held.millicpus / 1000,
        "used_memory": held.memory,
        "warnings": [warning.values() for warning in state.warnings],
    }
