"""Records in both timelines when a later job starts first."""

from __future__ import annotations

from math import ceil

from danlu.control import records
from danlu.control.context import Context, now
from danlu.control.live_job import LiveJob
from danlu.sched.api import WHOLE, Start
from danlu.store import events
from danlu.store.rows import EventRow
from danlu.store.tx import Tx

# Do not flood the timeline of a job that waits for days.
_TOLD_EACH = 20
_TOLD_OF = 3


async def tell_of_overtaking(context: Context, job: LiveJob, start: Start) -> None:
    at = now()
    begun = job.attempt.created_at if job.attempt is not None else at
    seconds = None if start.until is None else max(0, ceil(start.until - begun))
    gpus = sum(shape.amount for shape in job.shapes) / WHOLE
    others = [context.jobs[other] for other in start.overtook if other in context.jobs]
    if not others:
        return
    refs = [other.row.ref for other in others[:_TOLD_OF]]
    news = [EventRow(job.id, at, "overtook", records.SYSTEM, {"refs": refs, "seconds": seconds})]
    data = {"ref": job.row.ref, "gpus": gpus, "seconds": seconds}
    for other in others[:_TOLD_OF]:
        if other.overtaken < _TOLD_EACH:
            other.overtaken += 1
            news.append(EventRow(other.id, at, "overtaken", records.SYSTEM, data))

    def op(tx: Tx) -> None:
        events.append(tx, news)

    await context.persist(op)
    for told in (job, *others[:_TOLD_OF]):
        context.notifier.post(told.id)
