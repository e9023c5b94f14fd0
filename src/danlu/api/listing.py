"""The route that lists jobs: filters, order, pages."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any

from fastapi import APIRouter, Query

from danlu.api.answers import JobList
from danlu.api.dependencies import Our, Who
from danlu.api.problems import ApiProblem
from danlu.api.views import job_view
from danlu.services.listing import Entry, Filters
from danlu.services.values import SORTS
from danlu.spec.states import State
from danlu.spec.text import EMPTY, Text

router = APIRouter(prefix="/jobs", tags=["jobs"])
Values = dict[str, Any]
LATEST = 9_000_000_000_000.0

# No name contains NUL, and PostgreSQL rejects it even in comparisons.
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
        str | None, Query(max_length=200, description="states, separated by commas")
    ] = None,
    owner: Annotated[str | None, _name("only jobs of this person")] = None,
    group: Annotated[str | None, _name("only jobs of this group")] = None,
    name: Annotated[str | None, _name("only jobs of exactly this name")] = None,
    number: Annotated[
        int | None,
        Query(ge=1, le=2**62, description="with `owner` and `name`: a job, or an array's elements"),
    ] = None,
    kind: Annotated[str | None, _name("train, environment or service")] = None,
    queue: Annotated[str | None, _name("only jobs of this queue")] = None,
    since: Annotated[float | None, _moment("submitted at or after this time")] = None,
    until: Annotated[float | None, _moment("submitted before this time")] = None,
    text: Annotated[str | None, _name("part of the name or the command, case-insensitive")] = None,
    active: Annotated[
        bool | None, Query(description="true: not ended; false: ended; omitted: both")
    ] = None,
    sort: Annotated[
        str,
        Query(
            pattern=f"^-?({'|'.join(SORTS)})$",
            description=f"one of {', '.join(SORTS)}; with a leading -, descending. Jobs that have "
            "not started or ended sort after those that have",
        ),
    ] = "-submitted",
    limit: Annotated[int, Query(ge=1, le=1000, description="jobs per page")] = 50,
    before: Annotated[
        str | None,
        Query(max_length=600, description="`next` of the previous page, with the same order"),
    ] = None,
    fold: Annotated[
        bool,
        Query(description="an array is one job, the newest that matches; `elements` counts it all"),
    ] = False,
    counts: Annotated[bool, Query(description="also count all that match, by state")] = False,
) -> Values:
    """Lists jobs, one page at a time, newest first unless `sort` is given.

    Pagination is stable: jobs submitted in the meantime cause no duplicates or gaps. Users see
    their own jobs and those of groups they lead; admins see all.
    """
    filters = Filters(
        states=_states(state),
        owner=owner,
        group=group,
        name=name,
        number=number,
        kind=kind,
        queue=queue,
        since=since,
        until=until,
        text=text,
        active=active,
    )
    page = await our.listing.page(who, filters, sort, limit, before, fold, counts)
    return {"jobs": [_view(each) for each in page.jobs], "next": page.next, "counts": page.counts}


def _view(entry: Entry) -> Values:
    view = job_view(entry.row, entry.attempt, entry.unknown_since)
    return {**view, "elements": entry.elements}


def _states(text: str | None) -> tuple[State, ...]:
    if not text:
        return ()
    parts = {part.strip() for part in text.split(",") if part.strip()}
    for part in sorted(parts - set(State)):
        raise _not_a_state(part[:100])
    return tuple(sorted(State(part) for part in parts))


def _not_a_state(word: str) -> ApiProblem:
    known = ", ".join(State)
    near = get_close_matches(word.lower(), list(State), 1)
    meant = Text(f" (did you mean {near[0]}?)", f"（是否想写 {near[0]}？）") if near else EMPTY
    return ApiProblem(
        422,
        "invalid_request",
        Text(
            f"state: {word!r} is not a state{meant.en}; allowed: {known}",
            f"state：{word!r} 不是状态{meant.zh}；可用：{known}",
        ),
    )
