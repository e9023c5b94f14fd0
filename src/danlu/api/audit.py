"""The route that reads the audit log."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from danlu.api.dependencies import Asks, Our
from danlu.api.session import PLAIN
from danlu.services.values import AuditRow, audit_words

router = APIRouter(tags=["people"])
Values = dict[str, Any]
Filter = Annotated[str | None, Query(max_length=200, pattern=PLAIN)]


class AuditLine(BaseModel):
    seq: int
    at: float
    actor: str = Field(description="`-`: nobody was signed in")
    act: str = Field(examples=["user.disabled"])
    thing: str = Field(examples=["alice"])
    data: dict[str, Any]
    address: str
    en: str
    zh: str


class AuditPage(BaseModel):
    lines: list[AuditLine]
    next: int | None = Field(description="pass as `before` for the next page; null: no more")


@router.get("/audit", response_model=AuditPage)
async def audit(
    our: Our,
    asks: Asks,
    actor: Filter = None,
    act: Filter = None,
    thing: Filter = None,
    since: Annotated[float | None, Query(ge=0, le=9e12, description="seconds since 1970")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    before: Annotated[
        int | None, Query(ge=1, le=2**62, description="`next` of the previous page")
    ] = None,
) -> Values:
    """Lists the audit log, newest first: who did what, when and from where.

    Actions on a job are also listed in the events of that job.
    """
    found = await our.audit.page(
        asks, actor=actor, act=act, thing=thing, since=since, before=before, limit=limit
    )
    return {"lines": [_view(row) for row in found.rows], "next": found.next}


def _view(row: AuditRow) -> Values:
    return {
        "seq": row.seq,
        "at": row.at,
        "actor": row.actor,
        "act": row.act,
        "thing": row.thing,
        "data": row.data,
        "address": row.address,
        **audit_words(row).values(),
    }
