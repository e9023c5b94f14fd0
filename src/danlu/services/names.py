"""Names of other groups' jobs, shown or hidden by `server.names`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from danlu.access import rules
from danlu.access.principal import Principal
from danlu.control.context import Context
from danlu.sched.api import Cause, Eta, Explanation, Holder, Suggestion, Waiting
from danlu.spec.states import Reason
from danlu.store.rows import AttemptRow, EventRow, JobRow

HIDDEN = "***"
"""In place of the name of a job or its owner; it stands in sentences of both languages."""

Hide = Callable[[str], bool]
_FOR_OTHERS = frozenset({Reason.PREEMPTED, Reason.MOVED})


class Names:
    def __init__(self, context: Context) -> None:
        self._context = context

    def hidden_from(self, who: Principal) -> Hide | None:
        """Which references to hide. None: the person may see every name."""
        if not self._context.settings.names_by_group or who.admin:
            return None

        @cache  # looks through all jobs, and most answers name none
        def seen() -> set[str]:
            jobs = (job.row for job in self._context.jobs.values())
            return {row.ref for row in jobs if rules.sees_name(who, row.owner, row.group)}

        return lambda ref: ref.partition("/")[0] != who.name and ref not in seen()


def without_names(found: Explanation, hide: Hide | None) -> Explanation:
    if hide is None:
        return found
    return replace(
        found,
        causes=tuple(_cause(cause, hide) for cause in found.causes),
        nodes=tuple(
            replace(verdict, holders=tuple(_ref(ref, hide) for ref in verdict.holders))
            for verdict in found.nodes
        ),
        holders=tuple(_holder(holder, hide) for holder in found.holders),
        suggestions=tuple(_suggestion(each, hide) for each in found.suggestions),
        eta=_eta(found.eta, hide),
    )


def unnamed(job: Waiting, hide: Hide) -> Waiting:
    return replace(job, ref=HIDDEN, owner=HIDDEN, name=HIDDEN) if hide(job.ref) else job


Told = TypeVar("Told", JobRow, AttemptRow)


def ended_for(row: Told, hide: Hide | None) -> Told:
    """Without the name of the job that it was ended for."""
    if hide is None or row.reason not in _FOR_OTHERS:
        return row
    return replace(row, detail=_detail(row.detail, hide))


def told(event: EventRow, hide: Hide | None) -> EventRow:
    """The same for what happened to it."""
    data = event.data
    if hide is None or not (_FOR_OTHERS & {data.get("why"), data.get("reason")}):
        return event
    found = {**data}
    if isinstance(ref := data.get("for"), str):
        found["for"] = _ref(ref, hide)
    if isinstance(detail := data.get("detail"), dict):
        found["detail"] = _detail(detail, hide)
    return replace(event, data=found)


def _detail(detail: Mapping[str, Any], hide: Hide) -> dict[str, Any]:
    return {**detail, "detail": _ref(str(detail.get("detail", "")), hide)}


def _ref(ref: str, hide: Hide) -> str:
    return HIDDEN if hide(ref) else ref


def _cause(cause: Cause, hide: Hide) -> Cause:
    ref = cause.numbers.get("ref")
    if not isinstance(ref, str) or not ref or not hide(ref):
        return cause
    return replace(cause, numbers={**cause.numbers, "ref": HIDDEN})


def _holder(holder: Holder, hide: Hide) -> Holder:
    return replace(holder, ref=HIDDEN, owner=HIDDEN) if hide(holder.ref) else holder


def _suggestion(suggestion: Suggestion, hide: Hide) -> Suggestion:
    why = suggestion.why
    ref, numbers = suggestion.numbers.get("ref"), suggestion.numbers
    if isinstance(ref, str) and ref and hide(ref):
        numbers = {**numbers, "ref": HIDDEN}
    return replace(suggestion, numbers=numbers, why=_cause(why, hide) if why else None)


def _eta(eta: Eta | None, hide: Hide) -> Eta | None:
    if eta is None or eta.after is None or not hide(eta.after):
        return eta
    return replace(eta, after=HIDDEN)
