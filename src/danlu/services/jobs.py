"""Operations on jobs: show, wait, explain, stop, hold, rerun."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import Clash
from danlu.access.principal import Asker, Principal
from danlu.control.controller import Controller
from danlu.control.editing import edit
from danlu.control.live_job import LiveJob
from danlu.control.lookup import Lookup
from danlu.control.submit import Submitter
from danlu.control.words import unknown_words
from danlu.sched.api import Explanation
from danlu.services.found import Found
from danlu.services.names import Names, ended_for, told, without_names
from danlu.spec.codec import from_values
from danlu.spec.complete import Submission
from danlu.spec.defaults import Defaults
from danlu.spec.edit import edited
from danlu.spec.job import Array, JobSpec, Stdin
from danlu.spec.text import EMPTY, Text
from danlu.store import events as event_store
from danlu.store.rows import AttemptRow, EventRow, JobRow

AT_ONCE = 100  # elements of an array that are stopped in one commit


@dataclass(frozen=True, slots=True)
class Detail:
    """All about one job. `doing`: progress of a slow step, such as an image pull."""

    row: JobRow
    spec: JobSpec
    attempts: list[AttemptRow]
    doing: Text
    unknown_since: float | None = None  # its engine does not report it
    idle_stop_at: float | None = None  # when it is stopped if nobody uses it


@dataclass(frozen=True, slots=True)
class Reasons:
    """`waiting` is None if the job is not waiting; then its row has its state."""

    row: JobRow
    waiting: Explanation | None
    doing: Text
    last: AttemptRow | None = None  # the attempt that ended before it was requeued


class Jobs:
    def __init__(
        self,
        controller: Controller,
        lookup: Lookup,
        found: Found,
        submitter: Submitter,
        names: Names,
    ) -> None:
        self._controller = controller
        self._context = controller.context
        self._lookup = lookup
        self._found = found
        self._submitter = submitter
        self._names = names
        self._editing = asyncio.Lock()

    # -- looking ------------------------------------------------------------------------------

    async def show(self, who: Principal, ref: str) -> Detail:
        row = await self._found.one(who, ref)
        hide = self._names.hidden_from(who)
        attempts = [ended_for(each, hide) for each in await self._lookup.attempts(row.id)]
        doing, unknown = self._doing(row.id), self._found.unknown_since(row.id)
        live = self._context.jobs.get(row.id)
        stops = None if live is None else self._controller.idle.stops_at(live)
        return Detail(row, from_values(row.spec), attempts, doing, unknown, stops)

    async def wait(
        self, who: Principal, ref: str, longest: float
    ) -> tuple[JobRow, AttemptRow | None, float | None]:
        """Returns once the job has ended or after `longest` seconds.

        The last value is the time since when its state is unknown, if it is.
        """
        row = await self._found.one(who, ref)
        hide = self._names.hidden_from(who)
        notifier = self._context.notifier
        deadline = time.monotonic() + longest
        while not row.state.final:
            waiter = notifier.subscribe(row.id)
            fresh = await self._lookup.job(row.id)
            row = self._found.as_it_is(fresh or row, hide)
            left = deadline - time.monotonic()
            if row.state.final or left <= 0:
                notifier.unsubscribe(row.id, waiter)
                break
            await notifier.wait(row.id, waiter, left)
        latest = await self._lookup.latest_attempt(row)
        shown = None if latest is None else ended_for(latest, hide)
        return row, shown, self._found.unknown_since(row.id)

    async def why(self, who: Principal, ref: str) -> Reasons:
        row = await self._found.one(who, ref)
        job = self._context.jobs.get(row.id)
        waits = job is not None and (job.waiting is not None or job.pending)
        explanation = self._controller.planner.explain(row.id) if waits else None
        hide = self._names.hidden_from(who)
        if explanation is not None:
            explanation = without_names(explanation, hide)
        last = ended_for(job.last, hide) if job is not None and job.last is not None else None
        return Reasons(row, explanation, self._doing(row.id), last)

    async def events(self, who: Principal, ref: str, after: int, limit: int) -> list[EventRow]:
        row = await self._found.one(who, ref)
        found = await self._context.store.read(
            lambda tx: event_store.events_of(tx, row.id, after, limit)
        )
        hide = self._names.hidden_from(who)
        return [told(event, hide) for event in found]

    async def spec(self, who: Principal, ref: str) -> JobSpec:
        """A spec that submits this job again."""
        return _once_more(await self._found.several(who, ref))

    @property
    def defaults(self) -> Defaults:
        """What jobs that name no CPUs or memory get now."""
        return self._controller.defaults

    async def ids(self, who: Principal, refs: list[str]) -> frozenset[str]:
        """The ids of all jobs these references name."""
        rows = [row for ref in refs for row in await self._found.several(who, ref)]
        return frozenset(row.id for row in rows)

    def _doing(self, job_id: str) -> Text:
        job = self._context.jobs.get(job_id)
        since = self._found.unknown_since(job_id)
        if job is not None and since is not None:
            return unknown_words(self._context.engine_of(job).name, time.time() - since)
        return job.doing if job is not None else EMPTY

    # -- changing -----------------------------------------------------------------------------

    async def stop(self, asks: Asker, ref: str, grace: float | None = None) -> list[JobRow]:
        """Stops a job, or every element of an array. Stopping an ended job changes nothing."""
        rows = await self._found.to_change(asks.who, ref)
        stopped = [row for row in rows if row.id in self._context.jobs]
        for start in range(0, len(stopped), AT_ONCE):
            jobs = [self._context.jobs.get(row.id) for row in stopped[start : start + AT_ONCE]]
            stops = [self._controller.stop(job, asks.name, grace) for job in jobs if job]
            await asyncio.gather(*stops)
        if stopped:  # stopping ended jobs is not worth an audit line
            await self._note(asks, "job.stopped", stopped)
        return await self._fresh(rows)

    async def stop_all_of(self, owner: str, by: str) -> None:
        """Does not check permissions: disabling an account already has."""
        jobs = [job for job in self._context.jobs.values() if job.row.owner == owner]
        for job in jobs:
            await self._controller.stop(job, by)

    async def hold(self, asks: Asker, ref: str, hold: bool) -> list[JobRow]:
        """Holds a queued job, or releases it."""
        rows = await self._found.to_change(asks.who, ref)
        jobs = [self._context.jobs.get(row.id) for row in rows]
        waiting: list[LiveJob] = [
            job for job in jobs if job is not None and job.waiting is not None
        ]
        if not waiting:
            raise Clash(
                "not_queued", Text(f"{ref} is not waiting in the queue", f"{ref} 不在队列中")
            )
        for job in waiting:
            await self._controller.hold(job, hold, asks.name)
        await self._note(asks, "job.held" if hold else "job.released", rows)
        return await self._fresh(rows)

    async def edit(self, asks: Asker, ref: str, changes: Mapping[str, Any]) -> list[JobRow]:
        """Changes a waiting job, or the waiting elements of an array. They keep their turn."""
        rows = await self._found.to_change(asks.who, ref)
        if not any(self._waits(row) for row in rows):
            raise _not_waiting(ref, rows[0])
        # One at a time: each starts from what the one before has written.
        async with self._context.workers.turn(asks.name) as turn, self._editing:
            specs: dict[int, tuple[JobSpec, JobSpec]] = {}  # elements of an array share a spec
            for job in filter(None, map(self._waits, rows)):
                if id(job.spec) not in specs:
                    defaults = self._controller.defaults
                    found = await turn.run(edited, job.spec, dict(changes), defaults)
                    self._submitter.check_edited(found, Principal(job.row.owner))
                    specs[id(job.spec)] = (job.spec, found)
            # Some may have started meanwhile; those keep what they have.
            waiting = [job for job in map(self._waits, rows) if job is not None]
            if not waiting:
                raise _not_waiting(ref, rows[0])
            wanted = [(job, specs[id(job.spec)][1]) for job in waiting]
            todo = [(job, spec) for job, spec in wanted if spec != job.spec]
            if todo:
                await edit(self._controller, todo, asks.name)
                await self._note(asks, "job.edited", [job.row for job, _ in todo])
        return await self._fresh(rows)

    def _waits(self, row: JobRow) -> LiveJob | None:
        job = self._context.jobs.get(row.id)
        return job if job is not None and job.waiting is not None else None

    async def rerun(self, asks: Asker, ref: str) -> list[JobRow]:
        """Submits the job again under a new number; another user's job becomes one's own copy."""
        again = _once_more(await self._found.several(asks.who, ref))
        most = self._controller.defaults.max_time_limit
        if most is not None and again.time_limit is not None:
            again = replace(again, time_limit=min(again.time_limit, most))  # it was extended
        if again.group is not None and not rules.submits_for(asks.who, again.group):
            again = replace(again, group=None)
        rows, _ = await self._submitter.submit([Submission(again)], asks.who, asks.address)
        return rows

    async def _fresh(self, rows: list[JobRow]) -> list[JobRow]:
        fresh = await self._lookup.with_ids([row.id for row in rows])
        return [fresh.get(row.id, row) for row in rows]

    async def _note(self, asks: Asker, act: str, rows: list[JobRow]) -> None:
        ref, more = rows[0].ref, len(rows) - 1
        await self._context.store.write(lambda tx: note(tx, asks, act, ref, more=more))


def _not_waiting(ref: str, row: JobRow) -> Clash:
    en, zh = ("has ended", "已结束") if row.state.final else ("has already started", "已经开始")
    return Clash(
        "not_queued",
        Text(
            f"{ref} {en}: only waiting jobs can be changed. `danlu clone {ref} --set KEY=VALUE` "
            "submits a changed copy",
            f"{ref} {zh}：只能修改等待中的任务。`danlu clone {ref} --set 键=值` 可提交修改后的副本",
        ),
    )


def _once_more(rows: list[JobRow]) -> JobSpec:
    """The spec without its terminal; for one element of an array, just that element."""
    spec = replace(from_values(rows[0].spec), stdin=Stdin.NONE, login=False)
    index = rows[0].array_index
    if spec.array is not None and len(rows) == 1 and index is not None:
        return replace(spec, array=Array((index,)))
    return spec
