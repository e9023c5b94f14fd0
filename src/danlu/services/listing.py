"""Lists of jobs: filters, order, pages."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any

from danlu.access import rules
from danlu.access.errors import Unfit
from danlu.access.principal import Principal
from danlu.control.controller import Controller
from danlu.services.found import Found
from danlu.services.names import Hide, Names, ended_for
from danlu.spec.states import State
from danlu.spec.text import Text
from danlu.store import listing
from danlu.store.listing import JobQuery, Whole
from danlu.store.rows import AttemptRow, JobRow
from danlu.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Filters:
    states: tuple[State, ...] = ()
    owner: str | None = None
    group: str | None = None
    name: str | None = None
    number: int | None = None
    kind: str | None = None
    queue: str | None = None
    since: float | None = None
    until: float | None = None
    text: str | None = None
    active: bool | None = None  # None: ended jobs too


@dataclass(frozen=True, slots=True)
class Entry:
    row: JobRow
    attempt: AttemptRow | None  # the current one
    unknown_since: float | None
    elements: dict[State, int] | None = None  # of its array, which it stands for


@dataclass(frozen=True, slots=True)
class Page:
    jobs: list[Entry]
    next: str | None  # cursor of the next page; None: this is the last
    counts: dict[State, int] | None = None  # all that match, not only this page


class Listing:
    def __init__(self, controller: Controller, found: Found, names: Names) -> None:
        self._context = controller.context
        self._found = found
        self._names = names

    async def page(
        self,
        who: Principal,
        filters: Filters,
        sort: str,
        limit: int,
        before: str | None,
        fold: bool = False,
        counts: bool = False,
    ) -> Page:
        """`sort`: one of SORTS, descending with a leading `-`. `before`: the `next` of a page.

        `fold`: one entry for each array, in the order of submission only.
        Users see their own jobs and those of groups they lead; admins see all.
        """
        order = sort.removeprefix("-")
        query = JobQuery(
            states=filters.states,
            owner=filters.owner,
            group=filters.group,
            name=filters.name,
            number=filters.number,
            kind=filters.kind,
            queue=filters.queue,
            since=filters.since,
            until=filters.until,
            text=filters.text or None,
            active=filters.active,
            seen_by=rules.sight(who),
            sort=order,
            descending=sort.startswith("-"),
            limit=limit + 1,
            behind=_place(before, order),
        )
        if fold and sort != "-submitted":
            raise _unfoldable()

        def look(tx: Tx) -> tuple[list[tuple[JobRow, Whole | None]], dict[State, int] | None]:
            rows = listing.list_folded(tx, query) if fold else _alone(listing.list_jobs(tx, query))
            return rows, listing.count_jobs(tx, query) if counts else None

        rows, counted = await self._context.store.read(look)
        more = len(rows) > limit
        rows = rows[:limit]
        hide = self._names.hidden_from(who)
        return Page(
            [self._entry(row, whole, hide) for row, whole in rows],
            _mark(*rows[-1], order) if more else None,
            counted,
        )

    def _entry(self, row: JobRow, whole: Whole | None, hide: Hide | None) -> Entry:
        return Entry(
            self._found.as_it_is(row, hide),
            self._latest_attempt(row, hide),
            self._found.unknown_since(row.id),
            None if whole is None else whole.states,
        )

    def _latest_attempt(self, row: JobRow, hide: Hide | None) -> AttemptRow | None:
        job = self._context.jobs.get(row.id)
        latest = (job.attempt or job.last) if job is not None else None
        return None if latest is None else ended_for(latest, hide)


def _alone(rows: list[JobRow]) -> list[tuple[JobRow, Whole | None]]:
    return [(row, None) for row in rows]


def _mark(row: JobRow, whole: Whole | None, order: str) -> str:
    """An opaque cursor, only decoded here. Behind an array is behind its first element."""
    value, seq = listing.place_of(row, order)
    if order == "submitted":
        return str(seq if whole is None else whole.first)
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


def _unfoldable() -> Unfit:
    return Unfit(
        "fold",
        Text(
            "works only in the order -submitted; leave out `sort`",
            "只能按 -submitted 的顺序把数组列为一项；请去掉 `sort`",
        ),
    )


def _bad_mark() -> Unfit:
    return Unfit(
        "before",
        Text(
            "is not the `next` of a page in this order; start again with the first page",
            "不是同一排序下上一页的 `next`；请从第一页重新开始",
        ),
    )
