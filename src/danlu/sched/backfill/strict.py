"""The strict queue simulated beside the real one, without overtaking."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from operator import attrgetter

from danlu.sched.api import Running, Waiting
from danlu.sched.backfill.pool import Pool
from danlu.sched.backfill.timeline import Amounts, add, covers, end_of, pick, run_of, take
from danlu.sched.backfill.view import Begun, View
from danlu.sched.memory import Entry, Memory
from danlu.sched.sharing import Order

_order = attrgetter("order")
_NEAR = 1e-6
_BEFORE_ALL: Order = (-(1 << 62),)  # for jobs that were running before


class Strict(ABC):
    """When each job would start without overtaking, as far as known."""

    def __init__(self, view: View, jobs: Sequence[Waiting], memory: Memory) -> None:
        self._view, self._now = view, view.now
        self._stale = False
        running = {job.job_id: job for job in view.snapshot.running}
        waiting = {job.job_id: view.order(job) for job in jobs}
        self._entries = self._remembered(memory, waiting, running)
        known = {entry.job_id for entry in self._entries}
        self._entries.extend(
            self._adopted(job) for job_id, job in running.items() if job_id not in known
        )
        fresh = [job for job in jobs if job.job_id not in known]
        if fresh or self._stale:
            self._place(fresh)
        self.slots = {entry.job_id: entry for entry in self._entries}
        self.promised = {entry.job_id: entry.at for entry in self._entries}

    @property
    def last_begun(self) -> Order:
        """The queue position of the last job that has actually started."""
        begun = (entry.order for entry in self._entries if entry.begun is not None)
        return max(begun, default=_BEFORE_ALL)

    def after(self, begun: Sequence[Begun]) -> tuple[Entry, ...]:
        """The entries to remember after these starts; none while both queues agree."""
        places = {one.job.job_id: one.places for one in begun}
        entries = tuple(
            replace(
                entry,
                begun=self._now,
                elsewhere=bool(entry.places) and entry.places != places[entry.job_id],
            )
            if entry.job_id in places
            else entry
            for entry in self._entries
        )
        return () if all(map(_is_on_time, entries)) else entries

    def _remembered(
        self, memory: Memory, waiting: Mapping[str, Order], running: dict[str, Running]
    ) -> list[Entry]:
        now, entries = self._now, []
        for entry in memory.entries:
            if entry.job_id in waiting:
                self._stale = self._stale or entry.at < now - _NEAR
                moved = entry.order != waiting[entry.job_id]
                if moved or entry.begun is not None:  # a retry, with a new position
                    self._stale = True
                    continue
            elif entry.job_id not in running:
                if entry.begun is None:  # it left without having run
                    self._stale = True
                    continue
                ran = max(1.0, now - entry.begun)
                if ran < entry.run - _NEAR:
                    self._stale = True
                    entries.append(replace(entry, run=ran))
                    continue
                if entry.end <= now:
                    continue
            entries.append(entry)
        return entries

    def _adopted(self, job: Running) -> Entry:
        run = max(1.0, end_of(job, self._now) - job.since)
        return Entry(
            job.job_id,
            _BEFORE_ALL,
            job.since,
            job.shapes,
            run,
            job.since,
            job.since,
            job.owner,
            job.places,
        )

    def _place(self, fresh: list[Waiting]) -> None:
        """Computes the starts of new jobs and, if necessary, of all that have not started."""
        view = self._view
        added = [
            Entry(
                j.job_id,
                view.order(j),
                j.submitted,
                view.shapes(j),
                run_of(j) or inf,
                inf,
                owner=j.owner,
                queue=j.queue,
            )
            for j in fresh
        ]
        last = max((entry.order for entry in self._entries), default=_BEFORE_ALL)
        if self._stale or any(entry.order < last for entry in added):
            settled = [e for e in self._entries if e.at <= self._now and e.begun is not None]
            ids = {entry.job_id for entry in settled}
            open_ = [entry for entry in self._entries if entry.job_id not in ids]
            added = sorted([*open_, *added], key=_order)
            self._entries = settled
        self._append(added)

    @abstractmethod
    def _append(self, added: Sequence[Entry]) -> None:
        """Computes each start; none is before that of an earlier job."""


class Summed(Strict):
    """Treats all nodes as one."""

    def __init__(self, view: View, jobs: Sequence[Waiting], memory: Memory, pool: Pool) -> None:
        self._pool = pool
        super().__init__(view, jobs, memory)

    def _append(self, added: Sequence[Entry]) -> None:
        needs = self._needs([*self._entries, *added])
        line = _Queue(self._now, pick(self._pool.total, self._scarce))
        for entry in self._entries:
            line.hold(entry.at, entry.end, needs[entry.job_id])
        for entry in added:
            at = line.append(max(self._now, entry.submitted), entry.run, needs[entry.job_id])
            self._entries.append(replace(entry, at=at))

    def _needs(self, entries: Iterable[Entry]) -> dict[str, Amounts]:
        amounts = {entry.job_id: self._pool.amounts(entry.shapes) for entry in entries}
        sums = [sum(column) for column in zip(*amounts.values(), strict=True)]
        total = self._pool.total
        self._scarce = [place for place, wanted in enumerate(sums) if wanted > total[place]]
        return {job_id: pick(amount, self._scarce) for job_id, amount in amounts.items()}


def _is_on_time(entry: Entry) -> bool:
    if entry.begun is None or entry.elsewhere:
        return False
    return abs(entry.begun - entry.at) < _NEAR


class _Queue:
    """Starts jobs one after the other, in order."""

    def __init__(self, now: float, free: Amounts) -> None:
        self._at = now
        self._free = free
        self._ends: list[tuple[float, Amounts]] = []

    def hold(self, at: float, end: float, need: Amounts) -> None:
        """Adds a job that has started; must precede all calls of `append`."""
        self._at = max(self._at, at)
        self._free = take(self._free, need)
        heapq.heappush(self._ends, (end, need))

    def append(self, after: float, run: float, need: Amounts) -> float:
        self._at = max(self._at, after)
        ends = self._ends
        while ends and (ends[0][0] <= self._at or not covers(self._free, need)):
            end, given = heapq.heappop(ends)
            self._at = max(self._at, end)
            self._free = add(self._free, given)
        if not covers(self._free, need):
            return inf
        self._free = take(self._free, need)
        heapq.heappush(ends, (self._at + run, need))
        return self._at
