"""The route that reads the audit log."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from danlu.access import rules
from danlu.access.audit import words
from danlu.access.errors import NotAllowed
from danlu.api.services import Asks, Our
from danlu.api.session import PLAIN
from danlu.store import audit as audit_store
from danlu.store.rows import AuditRow

router = APIRouter(tags=["people"])
Values = dict[str, Any]
Text = Annotated[str | None, Query(max_length=200, pattern=PLAIN)]


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
    actor: Text = None,
    act: Text = None,
    thing: Text = None,
    since: Annotated[
        float | None, Query(ge=0, le=9e12, description="in seconds since 1970")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    before: Annotated[
        int | None, Query(ge=1, le=2**62, description="`next` of the page before")
    ] = None,
) -> Values:
    """Tells who did what to what, when and from where, the newest first.

    What was done to a job, and by whom, is also told by the job's own events.
    """
    if not rules.reads_audit(asks.who):
        raise NotAllowed("Only an admin may do this", "只有管理员可以执行")
    # Who was sent away is written down in bundles: those that wait to be written come first.
    await our.gate.tell()
    rows = await our.controller.rooms.store.read(
        lambda tx: audit_store.lines(
            tx,
            actor=actor,
            act=act,
            thing=thing,
            since=since,
            before_seq=before,
            limit=limit + 1,
        )
    )
    more = len(rows) > limit
    rows = rows[:limit]
    return {"lines": [_view(row) for row in rows], "next": rows[-1].seq if more else None}


def _view(row: AuditRow) -> Values:
    en, zh = words(row)
    return {
        "seq": row.seq,
        "at": row.at,
        "actor": row.actor,
        "act": row.act,
        "thing": row.thing,
        "data": row.data,
        "address": row.address,
        "en": en,
        "zh": zh,
    }
