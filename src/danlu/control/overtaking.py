"""A later job that went first is told of in both timelines (who, how much, until when)."""

from __future__ import annotations

from math import ceil

from danlu.control import records
from danlu.control.active import Active
from danlu.control.rooms import Rooms, now
from danlu.sched.api import WHOLE, Start
from danlu.store import events
from danlu.store.rows import EventRow
from danlu.store.tx import Tx

# A job that waits for days is not told of every small one that slipped through.
_TOLD_EACH = 20
_TOLD_OF = 3


async def tell_of_overtaking(rooms: Rooms, job: Active, start: Start) -> None:
    at = now()
    begun = job.attempt.created_at if job.attempt is not None else at
    seconds = None if start.until is None else max(0, ceil(start.until - begun))
    cards = sum(shape.amount for shape in job.shapes) / WHOLE
    others = [rooms.jobs[other] for other in start.overtook if other in rooms.jobs]
    if not others:
        return
    refs = [other.row.ref for other in others[:_TOLD_OF]]
    news = [EventRow(job.id, at, "overtook", records.SYSTEM, {"refs": refs, "seconds": seconds})]
    data = {"ref": job.row.ref, "gpus": cards, "seconds": seconds}
    for other in others[:_TOLD_OF]:
        if other.overtaken < _TOLD_EACH:
            other.overtaken += 1
            news.append(EventRow(other.id, at, "overtaken", records.SYSTEM, data))

    def op(tx: Tx) -> None:
        events.append(tx, news)

    await rooms.persist(op)
    for told in (job, *others[:_TOLD_OF]):
        rooms.bulletin.post(told.id)
