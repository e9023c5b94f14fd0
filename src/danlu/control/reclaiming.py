"""What the scheduler wants to end or to move, carried out: polite signal, queue, start elsewhere.

A job that is ended for others is stopped like any other, with the reason on disk; so a server that
is killed on the way goes on where it was. It is queued again at once, however often that happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from danlu.control import records
from danlu.control.active import Active
from danlu.control.attempts import Attempts, target
from danlu.control.background import Background
from danlu.control.rooms import Rooms, log, now
from danlu.sched.api import Decision, TaskPlace
from danlu.spec.states import Reason
from danlu.store.errors import StoreError


class Reclaiming:
    def __init__(self, rooms: Rooms, attempts: Attempts, background: Background) -> None:
        self._rooms = rooms
        self._attempts = attempts
        self._background = background
        self._for: dict[str, set[str]] = {}  # job that gets the room -> attempts that end for it

    def carry_out(self, decision: Decision) -> None:
        if not decision.preempts and not decision.moves:
            return
        wanted: dict[str, list[tuple[str, Sequence[TaskPlace] | None]]] = {}
        for preempt in decision.preempts:
            wanted.setdefault(preempt.by, []).append((preempt.job_id, None))
        for move in decision.moves:
            wanted.setdefault(move.by, []).append((move.job_id, move.places))
        for by, ends in wanted.items():
            if not self._under_way(by):
                self._begin(by, ends)

    def _under_way(self, by: str) -> bool:
        """Its room is being made already: what the next pass would end as well is left alone."""
        left = {attempt for attempt in self._for.get(by, ()) if attempt in self._rooms.attempts}
        if left:
            self._for[by] = left
        else:
            self._for.pop(by, None)
        return bool(left)

    def _begin(self, by: str, ends: list[tuple[str, Sequence[TaskPlace] | None]]) -> None:
        rooms = self._rooms
        winner = rooms.jobs.get(by)
        jobs = [(rooms.jobs.get(job_id), places) for job_id, places in ends]
        if winner is None or any(job is None or not _endable(job) for job, _ in jobs):
            return
        for job, places in jobs:
            assert job is not None
            assert job.attempt is not None
            self._for.setdefault(by, set()).add(job.attempt.id)
            if places is not None:
                # Nobody else takes the place it goes to.
                rooms.ledger.hold(target(job.attempt.id), job.id, job.shapes, places)
            self._background.spawn(self._end(job, winner.row.ref, places))

    async def _end(self, job: Active, ref: str, places: Sequence[TaskPlace] | None) -> None:
        attempt = job.attempt
        if attempt is None:
            return
        more: dict[str, Any] = {"for": ref, "at": now()}
        why = Reason.PREEMPTED
        if places is not None:
            why = Reason.MOVED
            more["to"] = [
                {"node": place.node, "cards": list(place.cards), "share": place.share}
                for place in places
            ]
        try:
            await self._attempts.stop(job, records.SYSTEM, why, None, more)
        except StoreError as trouble:
            log.warning("%s cannot be ended for %s yet: %s", job.row.ref, ref, trouble)
            self._rooms.ledger.release(target(attempt.id))


def _endable(job: Active) -> bool:
    attempt = job.attempt
    runs = attempt is not None and attempt.stop is None and not job.ending
    return runs and job.spec.preemptible
