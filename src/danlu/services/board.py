"""The head of the queue, as every user sees it: the next jobs and their estimated start."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from danlu.access.principal import Principal
from danlu.control.controller import Controller
from danlu.sched.api import Explanation, Policy, Snapshot, Waiting
from danlu.sched.explain.explain import explain
from danlu.services.names import Names, unnamed, without_names

SHOWN = 5  # details are available per job
_FRESH = 2.0  # seconds


@dataclass(frozen=True, slots=True)
class Next:
    place: int
    job: Waiting
    why: Explanation


@dataclass(frozen=True, slots=True)
class Head:
    at: float
    waiting: int
    jobs: tuple[Next, ...]


class Board:
    """Computed once for all readers, in a thread, since a long queue takes a while."""

    def __init__(self, controller: Controller, names: Names) -> None:
        self._controller = controller
        self._names = names
        self._head: Head | None = None
        self._turn = asyncio.Lock()

    async def head(self, who: Principal) -> Head:
        """The same for all signed-in users, except for names they may not see."""
        async with self._turn:
            if self._head is None or time.time() - self._head.at > _FRESH:
                planner = self._controller.planner
                snapshot, policy = planner.snapshot(), planner.policy
                self._head = await asyncio.to_thread(_explained, snapshot, policy)
            head = self._head
        hide = self._names.hidden_from(who)
        if hide is None:
            return head
        jobs = tuple(
            Next(each.place, unnamed(each.job, hide), without_names(each.why, hide))
            for each in head.jobs
        )
        return replace(head, jobs=jobs)


def _explained(snapshot: Snapshot, policy: Policy) -> Head:
    first = _first(snapshot.waiting)
    jobs = tuple(
        Next(place, job, explain(snapshot, policy, job.job_id, suggest=False))
        for place, job in enumerate(first, 1)
    )
    return Head(snapshot.now, len(snapshot.waiting), jobs)


def _first(waiting: Sequence[Waiting]) -> list[Waiting]:
    """Jobs that wait only for resources and their turn."""
    found: list[Waiting] = []
    for job in waiting:
        if job.blocked is None:
            found.append(job)
            if len(found) == SHOWN:
                break
    return found
