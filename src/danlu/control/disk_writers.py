"""Who writes while a disk is almost full: each job is told once, and the admin sees by whom."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from danlu.control import records
from danlu.control.context import Context, log, now
from danlu.control.disk_watch import EVERY, Low
from danlu.control.live_job import LiveJob
from danlu.store import events
from danlu.store.errors import StoreError
from danlu.store.rows import EventRow
from danlu.store.tx import Tx

_SHOWN = 5
_LEAST = 1 << 20  # bytes; who wrote less did not fill the disk


@dataclass(frozen=True, slots=True)
class Writer:
    """What a user's running jobs have written to disks since they started."""

    user: str
    jobs: int
    written: int  # bytes


class DiskWriters:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._told: set[str] = set()  # jobs

    async def run(self) -> None:
        while True:
            await self._tell()
            await asyncio.sleep(EVERY)

    def most(self) -> list[Writer]:
        """The users whose jobs wrote most, where a disk is almost full."""
        found: dict[str, Writer] = {}
        for job, written, _ in self._writing():
            user = job.row.owner
            known = found.get(user, Writer(user, 0, 0))
            found[user] = Writer(user, known.jobs + 1, known.written + written)
        return sorted(found.values(), key=lambda each: (-each.written, each.user))[:_SHOWN]

    def _writing(self) -> list[tuple[LiveJob, int, Low]]:
        context = self._context
        if context.disks.low is None:
            return []
        written = context.sampler.written()
        return [
            (job, amount, low)
            for job in context.attempts.values()
            if (amount := written.get(job.id, 0)) >= _LEAST
            and (low := context.disks.low_at(context.engine_of(job).name)) is not None
        ]

    async def _tell(self) -> None:
        """One event per job, however often the space runs low while it runs."""
        context = self._context
        self._told &= context.jobs.keys()
        new = [each for each in self._writing() if each[0].id not in self._told]
        if not new:
            return
        news = [
            EventRow(
                job.id, now(), "disk_low", records.SYSTEM, {"free": low.free, "written": written}
            )
            for job, written, low in new
        ]

        def op(tx: Tx) -> None:
            events.append(tx, news)

        try:
            await context.store.write(op)
        except StoreError as trouble:  # told at the next look
            log.warning("cannot warn jobs that the disk is almost full: %s", trouble)
            return
        for job, _, _ in new:
            self._told.add(job.id)
            context.notifier.post(job.id)
