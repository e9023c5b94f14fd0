"""Routes for one's own SSH keys: add, list, remove."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from danlu.api.dependencies import Asks, Our, Who
from danlu.api.problems import error_responses
from danlu.api.session import PLAIN
from danlu.services.values import SshKeyRow

router = APIRouter(prefix="/ssh-keys", tags=["session"])
Values = dict[str, Any]


class SshKey(BaseModel):
    id: str
    label: str = Field(examples=["laptop"])
    fingerprint: str = Field(
        description="as `ssh-keygen -l` shows it",
        examples=["SHA256:c2tleS1maW5nZXJwcmludC1vZi1hbi1leGFtcGxlLWtleQ"],
    )
    key: str = Field(description="kind and key, without its comment")
    created_at: float


class SshKeyList(BaseModel):
    keys: list[SshKey]


class NewSshKey(BaseModel):
    key: str = Field(
        min_length=1,
        max_length=16_384,
        pattern=PLAIN,
        description="one line of a .pub file",
        examples=["ssh-ed25519 AAAAC3Nza... me@laptop"],
    )
    label: str = Field(
        "", max_length=200, pattern=PLAIN, description="default: the comment of the key"
    )


@router.get("", response_model=SshKeyList)
async def list_keys(our: Our, who: Who) -> Values:
    """Lists the caller's SSH keys."""
    return {"keys": [_view(row) for row in await our.ssh_keys.of(who)]}


@router.post(
    "", status_code=201, response_model=SshKey, responses=error_responses(400, 403, 409, 413)
)
async def add(new: NewSshKey, our: Our, asks: Asks) -> Values:
    """Adds a public key for signing in over SSH."""
    return _view(await our.ssh_keys.add(asks, new.key, new.label))


@router.delete("/{id}", response_model=SshKey)
async def remove(
    id: Annotated[str, Path(max_length=64, pattern=PLAIN)], our: Our, asks: Asks
) -> Values:
    """Removes a key. It can no longer be used to sign in."""
    return _view(await our.ssh_keys.remove(asks, id))


def _view(row: SshKeyRow) -> Values:
    return {
        "id": row.id,
        "label": row.label,
        "fingerprint": row.fingerprint,
        "key": row.line,
        "created_at": row.created_at,
    }
