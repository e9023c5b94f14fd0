"""Carries out preemptions and moves: stop gracefully, requeue, start elsewhere.

A preempted job is stopped like any other, with the reason on disk, so that a restarted server can
continue. It is always requeued at once, no matter how often it is preempted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from danlu.control import records
from danlu.control.attempts import Attempts, target
from danlu.control.background import Background
from danlu.control.context import Context, log, now
from danlu.control.live_job import LiveJob
from danlu.sched.api import Decision
from danlu.spec.placement import Placement
from danlu.spec.states import Reason
from danlu.store.errors import StoreError


class Reclaiming:
    def __init__(self, context: Context, attempts: Attempts, background: Background) -> None:
        self._context = context
        self._attempts = attempts
        self._background = background
        self._for: dict[str, set[str]] = {}  # job -> attempts being preempted for it

    def carry_out(self, decision: Decision) -> None:
        if not decision.preempts and not decision.moves:
            return
        wanted: dict[str, list[tuple[str, Sequence[Placement] | None]]] = {}
        for preempt in decision.preempts:
            wanted.setdefault(preempt.by, []).append((preempt.job_id, None))
        for move in decision.moves:
            wanted.setdefault(move.by, []).append((move.job_id, move.places))
        for by, ends in wanted.items():
            if not self._under_way(by):
                self._begin(by, ends)

    def _under_way(self, by: str) -> bool:
        """Preemption for it is already under way, so the next pass must not stop more jobs."""
        left = {attempt for attempt in self._for.get(by, ()) if attempt in self._context.attempts}
        if left:
            self._for[by] = left
        else:
            self._for.pop(by, None)
        return bool(left)

    def _begin(self, by: str, ends: list[tuple[str, Sequence[Placement] | None]]) -> None:
        context = self._context
        winner = context.jobs.get(by)
        jobs = [(context.jobs.get(job_id), places) for job_id, places in ends]
        if winner is None or any(job is None or not self._endable(job) for job, _ in jobs):
            return
        for job, places in jobs:
            assert job is not None
            assert job.attempt is not None
            self._for.setdefault(by, set()).add(job.attempt.id)
            if places is not None:
                # Reserve the place it moves to.
                context.ledger.hold(target(job.attempt.id), job.id, job.shapes, places)
            self._background.spawn(self._end(job, winner.row.ref, places))

    def _endable(self, job: LiveJob) -> bool:
        attempt = job.attempt
        if attempt is None or attempt.stop is not None or job.ending:
            return False
        return job.spec.preemptible and self._context.engines.unknown_since(job) is None

    async def _end(self, job: LiveJob, ref: str, places: Sequence[Placement] | None) -> None:
        attempt = job.attempt
        if attempt is None:
            return
        more: dict[str, Any] = {"for": ref, "at": now()}
        why = Reason.PREEMPTED
        if places is not None:
            why = Reason.MOVED
            more["to"] = tuple(places)
        try:
            await self._attempts.stop(job, records.SYSTEM, why, None, more)
        except StoreError as trouble:
            log.warning("%s cannot be ended for %s yet: %s", job.row.ref, ref, trouble)
            self._context.ledger.release(target(attempt.id))
