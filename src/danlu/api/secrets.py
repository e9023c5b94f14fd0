"""Routes for a user's secrets: set, list the names, delete. A value never comes back."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from danlu.access.audit import note
from danlu.api.answers import SecretNames
from danlu.api.problems import ApiProblem, not_found, told
from danlu.api.services import Asks, Our, Who
from danlu.spec.refs import NAME_PATTERN
from danlu.store import secrets as secret_store
from danlu.store.tx import Tx

router = APIRouter(prefix="/secrets", tags=["secrets"])
Name = Annotated[str, Path(pattern=f"^{NAME_PATTERN}$")]
Values = dict[str, Any]


class SecretValue(BaseModel):
    value: str = Field(min_length=1, max_length=65_536)


@router.get("", response_model=SecretNames)
async def names(our: Our, who: Who) -> Values:
    """The names of one's secrets."""
    store = our.controller.rooms.store
    return {"names": await store.read(lambda tx: secret_store.list_secrets(tx, who.name))}


@router.put("/{name}", response_model=SecretNames, responses=told(400, 413))
async def put(name: Name, secret: SecretValue, our: Our, asks: Asks) -> Values:
    """Jobs that start from now on get this value."""
    if "\0" in secret.value or any("\ud800" <= ch <= "\udfff" for ch in secret.value):
        raise ApiProblem(
            422,
            "invalid_request",
            "value: holds a character that no variable can hold (NUL)",
            "value：含有变量无法保存的字符（NUL）",
        )
    store = our.controller.rooms.store

    def op(tx: Tx) -> None:
        secret_store.put_secret(tx, asks.name, name, secret.value)
        note(tx, asks, "secret.set", name)

    await store.write(op)
    return {"names": [name]}


@router.delete("/{name}", response_model=SecretNames)
async def delete(name: Name, our: Our, asks: Asks) -> Values:
    """Deletes a secret; jobs that start later do not get it."""

    def op(tx: Tx) -> bool:
        found = secret_store.delete_secret(tx, asks.name, name)
        if found:
            note(tx, asks, "secret.deleted", name)
        return found

    if not await our.controller.rooms.store.write(op):
        raise not_found(f"secret {name}", f"密钥 {name}")
    return {"names": [name]}
