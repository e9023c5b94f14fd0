"""The head of the queue, as every user sees it: the next jobs and their estimated start."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from itertools import islice

from danlu.access.principal import Principal
from danlu.control.controller import Controller
from danlu.control.live_job import waiting_of
from danlu.sched.api import Explanation, Policy, Snapshot, Waiting
from danlu.sched.explain.explain import explain
from danlu.services.names import Names, unnamed, without_names

SHOWN = 5  # explained and estimated; for the others, details are available per job
MOST = 500
_FRESH = 2.0  # seconds


@dataclass(frozen=True, slots=True)
class Next:
    place: int | None  # None: it waits for something else than its turn, or elsewhere
    job: Waiting
    why: Explanation | None  # None: too far behind to be worth an estimate


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

    async def head(self, who: Principal, limit: int = SHOWN) -> Head:
        """The same for all signed-in users, except for names they may not see."""
        async with self._turn:
            if self._head is None or time.time() - self._head.at > _FRESH:
                planner = self._controller.planner
                snapshot, policy = planner.snapshot(), planner.policy
                ours = await asyncio.to_thread(_explained, snapshot, policy)
                self._head = self._with_engines(ours)
            head = self._head
        hide = self._names.hidden_from(who)
        jobs = head.jobs[:limit]
        if hide is not None:
            jobs = tuple(
                Next(
                    each.place,
                    unnamed(each.job, hide),
                    each.why and without_names(each.why, hide),
                )
                for each in jobs
            )
        return replace(head, jobs=jobs)

    def _with_engines(self, head: Head) -> Head:
        """And the jobs in the queues of engines, whose order only the engines know."""
        context, planner = self._controller.context, self._controller.planner
        pending = sorted(
            (job for job in context.attempts.values() if job.pending), key=lambda job: job.row.seq
        )
        jobs = list(head.jobs)
        explained = sum(each.why is not None for each in jobs)
        for number, job in enumerate(pending[: max(0, MOST - len(jobs))], explained):
            why = planner.explain(job.id) if number < SHOWN else None
            jobs.append(Next(None, waiting_of(job.row, job.spec, job.shapes), why))
        # Those with an explanation are those that are shown.
        jobs.sort(key=lambda each: each.why is None)
        return Head(head.at, head.waiting + len(pending), tuple(jobs))


def _explained(snapshot: Snapshot, policy: Policy) -> Head:
    free = [job for job in snapshot.waiting if job.blocked is None]
    # Jobs that wait only for resources and their turn come first, the others have no turn yet.
    jobs: list[Next] = []
    for place, job in enumerate(free[:MOST], 1):
        why = None
        if place <= SHOWN:
            why = explain(snapshot, policy, job.job_id, suggest=False)
        jobs.append(Next(place, job, why))
    held = (job for job in snapshot.waiting if job.blocked is not None)
    jobs += [Next(None, job, None) for job in islice(held, MOST - len(jobs))]
    return Head(snapshot.now, len(snapshot.waiting), tuple(jobs))
