"""Routes for quotas: how much users and groups may hold at once."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from danlu.access import rules
from danlu.access.principal import Principal
from danlu.api.problems import told
from danlu.api.queues import parsed
from danlu.api.services import Asks, Our, Services, Who
from danlu.api.session import PLAIN
from danlu.control.rulebook import EVERYBODY, Kind
from danlu.control.scheduling import Scheduling
from danlu.sched.api import WHOLE, Quota
from danlu.sched.quota import Held
from danlu.spec.units import parse_size

router = APIRouter(prefix="/quotas", tags=["scheduling"])
Values = dict[str, Any]
Whose = Annotated[Literal["user", "group"], Path(description="whose: user or group")]
Name = Annotated[
    str, Path(min_length=1, max_length=64, pattern=PLAIN, description="or *: everybody else")
]
Cards = Annotated[float, Field(ge=0, le=1e6)]
Model = Annotated[str, Field(min_length=1, max_length=64, pattern=PLAIN)]


class QuotaView(BaseModel):
    of: str = Field(description="user or group", examples=["user"])
    name: str = Field(description="*: everybody who has none of their own", examples=["alice"])
    gpus: float | None = Field(description="cards in all; null: no limit")
    models: dict[str, float] = Field(description="cards by model")
    cpus: float | None
    memory: int | None
    guaranteed: float = Field(description="cards that are the group's by right, lent while idle")
    declared: str = Field(description="file (danlu.toml) or command")
    used_gpus: float = Field(description="what they hold now; 0 for *")
    used_models: dict[str, float]
    used_cpus: float
    used_memory: int


class QuotaList(BaseModel):
    quotas: list[QuotaView]


class QuotaChanges(BaseModel):
    """What is left out stays as it is; null takes a limit away."""

    gpus: Cards | None = Field(None, examples=[8])
    models: Annotated[dict[Model, Cards], Field(max_length=100)] | None = Field(
        None, examples=[{"A100": 2}]
    )
    cpus: Annotated[float, Field(ge=0, le=1e7)] | None = Field(None, examples=[64])
    memory: int | Annotated[str, Field(max_length=64)] | None = Field(None, examples=["512G"])
    guaranteed: Cards | None = Field(None, examples=[0])


@router.get("", response_model=QuotaList)
async def list_quotas(our: Our, who: Who) -> Values:
    """One's own quotas and those of one's groups, with what is in use; an admin sees all."""
    return {"quotas": _views(our, who)}


@router.put("/{of}/{name}", response_model=QuotaList, responses=told(400, 409, 413))
async def set_quota(of: Whose, name: Name, changes: QuotaChanges, our: Our, asks: Asks) -> Values:
    """Holds from now on: who has more keeps it, but gets nothing beyond. Answers with all."""
    values = changes.model_dump(exclude_unset=True)
    if values.get("memory") is not None:
        values["memory"] = parsed("memory", values["memory"], parse_size)
    await _scheduling(our).set_quota(asks, Kind(of), name, values)
    return {"quotas": _views(our, asks.who)}


@router.delete("/{of}/{name}", response_model=QuotaList, responses=told(409))
async def remove_quota(of: Whose, name: Name, our: Our, asks: Asks) -> Values:
    """Takes it away. Answers with those that are left."""
    await _scheduling(our).remove_quota(asks, Kind(of), name)
    return {"quotas": _views(our, asks.who)}


def _scheduling(our: Services) -> Scheduling:
    return Scheduling(our.controller.rooms, our.controller.rules_changed)


def _views(our: Services, who: Principal) -> list[Values]:
    quotas = our.controller.rooms.rulebook.quotas
    users, groups = our.controller.planner.held()
    users_of = {**quotas.users, **({EVERYBODY: quotas.user} if quotas.user else {})}
    groups_of = {**quotas.groups, **({EVERYBODY: quotas.group} if quotas.group else {})}
    found = [
        _view(our, Kind.USER, name, quota, users.get(name))
        for name, quota in sorted(users_of.items())
        if name == EVERYBODY or rules.sees_quota(who, name, None)
    ]
    return found + [
        _view(our, Kind.GROUP, name, quota, groups.get(name))
        for name, quota in sorted(groups_of.items())
        if name == EVERYBODY or rules.sees_quota(who, None, name)
    ]


def _view(our: Services, kind: Kind, name: str, quota: Quota, held: Held | None) -> Values:
    held = held or Held()
    in_file = our.controller.rooms.rulebook.in_file(kind, name)
    return {
        "of": kind.value,
        "name": name,
        "gpus": None if quota.cards is None else quota.cards / WHOLE,
        "models": {model: count / WHOLE for model, count in quota.models.items()},
        "cpus": quota.cpus,
        "memory": quota.memory,
        "guaranteed": quota.guaranteed / WHOLE,
        "declared": "file" if in_file else "command",
        "used_gpus": held.cards / WHOLE,
        "used_models": {model: count / WHOLE for model, count in held.models.items()},
        "used_cpus": held.millicpus / 1000,
        "used_memory": held.memory,
    }
