"""Routes for a user's secrets: set, list names, delete. Values are never returned."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from danlu.api.answers import SecretNames
from danlu.api.dependencies import Asks, Our, Who
from danlu.api.problems import error_responses
from danlu.spec.refs import NAME_PATTERN

router = APIRouter(prefix="/secrets", tags=["secrets"])
Name = Annotated[str, Path(pattern=f"^{NAME_PATTERN}$")]
Values = dict[str, Any]


class SecretValue(BaseModel):
    value: str = Field(min_length=1, max_length=65_536)


@router.get("", response_model=SecretNames)
async def names(our: Our, who: Who) -> Values:
    """Lists the names of the caller's secrets."""
    return {"names": await our.secrets.names(who)}


@router.put("/{name}", response_model=SecretNames, responses=error_responses(400, 413))
async def put(name: Name, secret: SecretValue, our: Our, asks: Asks) -> Values:
    """Sets a secret. Jobs that start later get the new value."""
    await our.secrets.put(asks, name, secret.value)
    return {"names": [name]}


@router.delete("/{name}", response_model=SecretNames)
async def delete(name: Name, our: Our, asks: Asks) -> Values:
    """Deletes a secret. Jobs that start later do not get it."""
    await our.secrets.delete(asks, name)
    return {"names": [name]}
