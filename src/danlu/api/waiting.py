"""The route for the head of the queue."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from danlu.api.dependencies import Our, Who
from danlu.api.why import expected
from danlu.sched.api import CauseKind
from danlu.sched.explain.words import cause_words, sentence
from danlu.services.board import MOST, SHOWN, Next
from danlu.spec.text import EMPTY

router = APIRouter(tags=["scheduling"])
Values = dict[str, Any]


class WaitingJob(BaseModel):
    place: int | None = Field(
        description="null: it is not waiting for its turn, but for something else"
    )
    id: str
    ref: str
    owner: str
    queue: str
    tasks: int
    gpus: int = Field(description="per task")
    gpu_model: str | None
    submitted_at: float
    eta: float | None
    eta_p90: float | None
    eta_basis: str | None
    cause: str | None = Field(description="kind of the first reason")
    cause_en: str = Field(description="why it waits, in one line; empty far behind the head")
    cause_zh: str


class WaitingList(BaseModel):
    at: float
    waiting: int = Field(description="number of waiting jobs")
    jobs: list[WaitingJob] = Field(description="the first of them, in order")


@router.get("/waiting", response_model=WaitingList)
async def waiting(
    our: Our,
    who: Who,
    limit: Annotated[int, Query(ge=1, le=MOST, description="jobs, from the head on")] = SHOWN,
) -> Values:
    """Lists the waiting jobs with their requests and estimated start times. Same for all users.

    Only the first five have an estimate. Jobs that are held or wait for other jobs come last.
    """
    head = await our.board.head(who, limit)
    return {
        "at": head.at,
        "waiting": head.waiting,
        "jobs": [_view(each, head.at) for each in head.jobs],
    }


def _view(each: Next, now: float) -> Values:
    job, largest = each.job, max(each.job.shapes, key=lambda shape: shape.gpus)
    return {
        "place": each.place,
        "id": job.job_id,
        "ref": job.ref,
        "owner": job.owner,
        "queue": job.queue,
        "tasks": len(job.shapes),
        "gpus": largest.gpus,
        "gpu_model": largest.model,
        "submitted_at": job.submitted,
        **_reasons(each, now),
    }


def _reasons(each: Next, now: float) -> Values:
    if each.why is None:
        blocked = each.job.blocked
        # Only that it is held: other causes may tell what somebody's job does.
        held = blocked is not None and blocked.kind is CauseKind.HELD
        words = cause_words(blocked) if blocked is not None and held else EMPTY
        kind = blocked.kind if blocked is not None and held else None
        unknown = {"eta": None, "eta_p90": None, "eta_basis": None}
        return {**unknown, "cause": kind, **words.values("cause")}
    cause = sentence(each.why)
    eta = {"eta": None, "eta_p90": None, "eta_basis": None, **expected(each.why, now)}
    # Without an estimate, the reason for that says more than the cause.
    return {
        "eta": eta["eta"],
        "eta_p90": eta["eta_p90"],
        "eta_basis": eta["eta_basis"],
        "cause": each.why.causes[0].kind if each.why.causes else None,
        "cause_en": eta.get("eta_why_en") or cause.en,
        "cause_zh": eta.get("eta_why_zh") or cause.zh,
    }
