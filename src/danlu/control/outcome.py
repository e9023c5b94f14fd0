"""Derives the outcome of an attempt from its tasks. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from danlu.engines.api import Phase, TaskSeen
from danlu.spec.placement import Placement
from danlu.spec.states import Reason

_PORT = re.compile(r"(?<!\d)\d{4,5}(?!\d)", re.ASCII)
ENDED = frozenset({Phase.EXITED, Phase.LOST, Phase.ABSENT})


@dataclass(frozen=True, slots=True)
class Outcome:
    reason: Reason
    detail: dict[str, Any] = field(default_factory=dict)
    exit_code: int | None = None


def succeeded(task: TaskSeen) -> bool:
    return task.phase is Phase.EXITED and task.exit_code == 0 and not task.signal


def failed(task: TaskSeen) -> bool:
    return task.phase in ENDED and not succeeded(task)


def all_ended(tasks: Sequence[TaskSeen]) -> bool:
    return all(task.phase in ENDED for task in tasks)


def culprit(tasks: Sequence[TaskSeen]) -> TaskSeen | None:
    """The task that failed first; the others often fail because of it."""
    failures = [task for task in tasks if failed(task)]
    if not failures:
        return None
    return min(failures, key=lambda t: (t.ended_at or float("inf"), t.task))


def exit_code_of(task: TaskSeen) -> int | None:
    """Shell convention: 128 + n for a signal."""
    if task.phase is not Phase.EXITED:
        return None
    return 128 + task.signal if task.signal else task.exit_code


def lost(task: TaskSeen) -> Outcome:
    if task.hint == Reason.MACHINE_RESTARTED:
        return Outcome(Reason.MACHINE_RESTARTED)
    return Outcome(Reason.LOST, {"detail": task.detail or "its keeper left no status"})


def names_leased(lines: Sequence[str], places: Sequence[Placement]) -> bool:
    """Whether a 'port in use' error is about a port leased to the job, so not its fault."""
    leased = {port for place in places for port in place.ports}
    named = {int(number) for line in lines for number in _PORT.findall(line)}
    return bool(leased & named)
