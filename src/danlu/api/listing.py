"""The route that lists jobs: filters, order, pages."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Annotated, Any

from fastapi import APIRouter, Query

from danlu.access import rules
from danlu.api.answers import JobList
from danlu.api.jobs import as_it_is
from danlu.api.problems import ApiProblem
from danlu.api.services import Our, Services, Who
from danlu.api.views import job_view
from danlu.spec.states import State
from danlu.store import listing
from danlu.store.listing import SORTS, JobQuery
from danlu.store.rows import JobRow

router = APIRouter(prefix="/jobs", tags=["jobs"])
Values = dict[str, Any]
LATEST = 9_000_000_000_000.0

# No name holds a NUL, and PostgreSQL would not even compare with one.
_PLAIN = r"^[^\x00]*$"


def _name(of: str) -> Any:
    return Query(max_length=200, pattern=_PLAIN, description=of)


def _moment(what: str) -> Any:
    return Query(ge=0, le=LATEST, description=f"{what}, in seconds since 1970")


@router.get("", response_model=JobList)
async def list_jobs(
    our: Our,
    who: Who,
    state: Annotated[
        str | None, Query(max_length=200, description="states, with commas between")
    ] = None,
    owner: Annotated[str | None, _name("only jobs of this person")] = None,
    group: Annotated[str | None, _name("only jobs that count for this group")] = None,
    name: Annotated[str | None, _name("only jobs of exactly this name")] = None,
    kind: Annotated[str | None, _name("train, environment or service")] = None,
    queue: Annotated[str | None, _name("only jobs of this queue")] = None,
    since: Annotated[float | None, _moment("submitted at this time or later")] = None,
    until: Annotated[float | None, _moment("submitted before this time")] = None,
    text: Annotated[str | None, _name("a part of the name or the command, in any case")] = None,
    active: Annotated[
        bool | None, Query(description="true: not ended; false: ended; left out: both")
    ] = None,
    sort: Annotated[
        str,
        Query(
            pattern=f"^-?({'|'.join(SORTS)})$",
            description=f"one of {', '.join(SORTS)}; with - in front, the largest first. "
            "What has not started or ended counts as later than what has",
        ),
    ] = "-submitted",
    limit: Annotated[int, Query(ge=1, le=1000, description="jobs on a page")] = 50,
    before: Annotated[
        str | None,
        Query(max_length=600, description="`next` of the page before, in the same order"),
    ] = None,
) -> Values:
    """Lists jobs, a page at a time.

    The newest first, unless `sort` says otherwise. Jobs that arrive while somebody turns the pages
    are neither doubled nor do they push others out. A person sees their own jobs and those of the
    groups they lead; an admin sees all.
    """
    order = sort.removeprefix("-")
    query = JobQuery(
        states=_states(state),
        owner=owner,
        group=group,
        name=name,
        kind=kind,
        queue=queue,
        since=since,
        until=until,
        text=text or None,
        active=active,
        seen_by=rules.sight(who),
        sort=order,
        descending=sort.startswith("-"),
        limit=limit + 1,
        behind=_place(before, order),
    )
    rows = await our.controller.rooms.store.read(lambda tx: listing.list_jobs(tx, query))
    more = len(rows) > limit
    rows = rows[:limit]
    views = [job_view(as_it_is(our, row), _running_attempt(our, row)) for row in rows]
    return {"jobs": views, "next": _mark(rows[-1], order) if more else None}


def _mark(row: JobRow, order: str) -> str:
    """Where a page ended. Nobody but this file reads it."""
    value, seq = listing.place_of(row, order)
    if order == "submitted":
        return str(seq)
    packed = json.dumps([order, value, seq], separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _place(mark: str | None, order: str) -> tuple[Any, int] | None:
    if mark is None:
        return None
    if order == "submitted" and mark.isascii() and mark.isdigit() and len(mark) < 19:
        return None, int(mark)
    try:
        packed = base64.b64decode(mark + "=" * (-len(mark) % 4), b"-_", validate=True)
        made_for, value, seq = json.loads(packed)
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise _bad_mark() from None
    textual = order in ("name", "owner", "state")
    fits = isinstance(value, str) if textual else _is_number(value)
    if made_for != order or not fits or not isinstance(seq, int) or not 0 <= seq < 2**62:
        raise _bad_mark()
    return value, seq


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**62


def _bad_mark() -> ApiProblem:
    return ApiProblem(
        422,
        "invalid_request",
        "before: not the `next` of a page in this order; begin again with the first page",
        "before：不是同一排序下上一页的 `next`；请从第一页重新开始",
    )


def _states(text: str | None) -> tuple[State, ...]:
    if not text:
        return ()
    try:
        return tuple(sorted({State(part.strip()) for part in text.split(",") if part.strip()}))
    except ValueError:
        known = ", ".join(State)
        raise ApiProblem(
            422,
            "invalid_request",
            f"state: {text[:100]!r} is not a list of states; there are: {known}",
            f"state：{text[:100]!r} 不是状态列表；可用：{known}",
        ) from None


def _running_attempt(our: Services, row: JobRow) -> Any:
    job = our.controller.rooms.jobs.get(row.id)
    return job.attempt if job is not None else None
