"""Environments: requests kept under a name, and the jobs in which people work.

Each start submits a job like any other. The job and the row that names it are one commit, so a
server killed at any moment neither loses a start nor makes two of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import Clash, Crowded, NotThere, Unfit
from danlu.access.principal import Asker, Principal
from danlu.control import records
from danlu.control.attempts import ends_for_others
from danlu.control.controller import Controller
from danlu.control.editing import set_limits
from danlu.control.live_job import LiveJob
from danlu.control.lookup import Lookup
from danlu.control.submit import Brought, Submitter
from danlu.services import environment_refusals as refusals
from danlu.services.environment_requests import (
    RUNNING_KEYS,
    WAITING_KEYS,
    check_name,
    submission,
    tidy,
)
from danlu.services.found import Found, not_started
from danlu.services.jobs import Jobs
from danlu.services.names import Names, without_names
from danlu.services.submitting import Preview
from danlu.services.web_doors import WebDoors
from danlu.spec.complete import Submission
from danlu.spec.edit import differences
from danlu.spec.errors import Wrong
from danlu.spec.ids import uuid7
from danlu.spec.text import EMPTY, Text
from danlu.spec.units import format_duration, parse_duration
from danlu.store import environments as store
from danlu.store.jobs import get_jobs
from danlu.store.rows import AttemptRow, EnvironmentRow, JobRow
from danlu.store.tx import Tx

_MOMENT = 0.01
_MOST_AHEAD = 30 * 86400.0  # seconds by which one may extend, if the admin has set no maximum


@dataclass(frozen=True, slots=True)
class Environment:
    row: EnvironmentRow
    job: JobRow | None = None  # the latest
    attempt: AttemptRow | None = None
    doing: Text = EMPTY
    unknown_since: float | None = None
    ends_at: float | None = None  # by its time limit
    idle_since: float | None = None  # not used since then
    idle_stop_at: float | None = None  # when its idle limit is reached, if nobody uses it


class _Overtaken(Exception):
    """Somebody else changed it at the same moment; look again."""


class Environments:
    def __init__(
        self,
        controller: Controller,
        lookup: Lookup,
        found: Found,
        jobs: Jobs,
        submitter: Submitter,
        names: Names,
        web_doors: WebDoors,
    ) -> None:
        self._controller = controller
        self._context = controller.context
        self._lookup = lookup
        self._found = found
        self._jobs = jobs
        self._submitter = submitter
        self._names = names
        self._web_doors = web_doors

    # -- looking ------------------------------------------------------------------------------

    async def listed(self, who: Principal, everybody: bool = False) -> list[Environment]:
        """One's own and those shared with one; `everybody`: all that one may see."""

        def query(tx: Tx) -> tuple[list[EnvironmentRow], dict[str, JobRow]]:
            rows = store.every(tx) if everybody else store.seen_by(tx, who.name)
            return rows, get_jobs(tx, [row.job_id for row in rows if row.job_id])

        rows, jobs = await self._context.store.read(query)
        found = [(row, jobs.get(row.job_id or "")) for row in rows]
        return [self.shown(row, job, who) for row, job in found if _sees(who, row, job)]

    async def show(self, who: Principal, ref: str) -> Environment:
        row, job = await self.find(who, ref)
        return self.shown(row, job, who)

    # -- changing -----------------------------------------------------------------------------

    async def create(
        self, asks: Asker, name: str, request: Mapping[str, Any], id: str | None, start: bool
    ) -> tuple[Environment, bool]:
        """With its first job, unless told otherwise. False: this id was created before."""
        check_name(name)
        known = await self._created_before(asks, id)
        if known is not None:
            return await self.show(asks.who, known.ref), False
        row = EnvironmentRow(id or uuid7(), asks.name, name, time.time(), tidy(request))
        job = submission(name, row.request, self._controller.defaults)
        most = self._context.settings.limits.environments

        def keep(tx: Tx) -> None:
            _check_free(tx, row, most)
            row.job_id = job.id if start else None
            store.add(tx, row)
            note(tx, asks, "environment.created", row.ref, **row.request)

        if start:
            await self._submit(asks, row, job, keep)
        else:
            await self._context.store.write(keep)
        return await self.show(asks.who, row.ref), True

    async def preview(self, who: Principal, name: str, request: Mapping[str, Any]) -> Preview:
        """Dry run: what would happen to its job now."""
        check_name(name)
        job = submission(name, tidy(request), self._controller.defaults)
        async with self._context.workers.turn(who.name) as turn:
            verdict = await self._submitter.preview(job, who, 1, 1, turn)
            script = await self._submitter.script(job, who, turn)
        return Preview(job.spec, without_names(verdict, self._names.hidden_from(who)), script)

    async def start(self, asks: Asker, ref: str) -> Environment:
        """Changes nothing if it is running or on its way. One that is stopping starts after."""
        while True:
            row = await self._to_start(asks.who, ref)
            live = await self._live(row)
            if live is not None and not _is_stopping(live):
                return await self.show(asks.who, row.ref)
            job = self._next(row, live)

            def keep(tx: Tx, row: EnvironmentRow = row, job: Submission = job) -> None:
                _unchanged(tx, row)
                store.update(tx, row.id, job_id=job.id)
                note(tx, asks, "environment.started", row.ref)

            with contextlib.suppress(_Overtaken):
                await self._submit(asks, row, job, keep)
                return await self.show(asks.who, row.ref)

    async def stop(self, asks: Asker, ref: str) -> Environment:
        """Its files stay, and so does the environment. Has no effect on one that is stopped."""
        row = await self.to_change(asks.who, ref)
        await self._stop(asks, row)
        return await self.show(asks.who, row.ref)

    async def change(
        self, asks: Asker, ref: str, changes: Mapping[str, Any], restart: bool
    ) -> tuple[Environment, bool]:
        """From its next start on; `restart`: that is now. The second value: it was restarted."""
        while True:
            row = await self._to_start(asks.who, ref)
            request = tidy({**row.request, **changes})
            live = await self._live(row)
            job = self._next(row, live, request)
            with contextlib.suppress(_Overtaken):
                again = await self._change(asks, row, request, live, job, restart)
                return await self.show(asks.who, row.ref), again

    async def extend(self, asks: Asker, ref: str, by: float | str | None) -> Environment:
        """Moves the end of a running one; None: its usual time, from now on. It counts as used."""
        row = await self.to_change(asks.who, ref)
        live = await self._live(row)
        if live is None or not _runs(live):
            raise not_started(row.name)
        limit = self._longer(row, live, None if by is None else _seconds(by))
        told = {} if limit is None else {"time_limit": format_duration(limit)}
        spec = replace(live.spec, time_limit=limit)

        def op(tx: Tx) -> None:
            records.extended(live.row, spec, asks.name, time.time())(tx)
            note(tx, asks, "environment.extended", row.ref, **told)

        await set_limits(self._controller, live, spec, op)
        return await self.show(asks.who, row.ref)

    async def delete(self, asks: Asker, ref: str) -> Environment:
        """Stops its job. Files in the owner's folders stay."""
        while True:
            row = await self.to_change(asks.who, ref)
            shown = await self.show(asks.who, row.ref)
            await self._stop(asks, row)

            def op(tx: Tx, row: EnvironmentRow = row) -> None:
                _unchanged(tx, row)
                store.remove(tx, row.id)
                note(tx, asks, "environment.deleted", row.ref)

            with contextlib.suppress(_Overtaken):
                await self._context.store.write(op)
                return shown

    # -- details ------------------------------------------------------------------------------

    async def _change(
        self,
        asks: Asker,
        row: EnvironmentRow,
        request: dict[str, Any],
        live: LiveJob | None,
        job: Submission,
        restart: bool,
    ) -> bool:
        """Whether it was restarted."""
        before = row.request
        changed = {key for key in {*request, *before} if request.get(key) != before.get(key)}
        told = {key: request.get(key) for key in sorted(changed)}

        def keep(tx: Tx) -> None:
            _unchanged(tx, row)
            image = None if "image" in changed else row.saved_image
            store.update(tx, row.id, request=request, saved_image=image)
            note(tx, asks, "environment.changed", row.ref, **told)

        active = live is not None and not _is_stopping(live)
        if not changed or live is None or not active:
            await self._context.store.write(keep)
            return False
        if live.waiting is not None and changed <= WAITING_KEYS:
            await self._edit(asks, live, told)
            await self._context.store.write(keep)
            return False
        if changed <= RUNNING_KEYS and _runs(live):
            await self._set_limits(asks, live, job, keep)
            return False
        if job.spec == self._next(row, live).spec:  # other words for the same, such as 0 GPUs
            await self._context.store.write(keep)
            return False
        if not restart:
            raise refusals.restart_needed(row, live)
        await self._restart(asks, row, live, job, keep)
        return True

    async def _set_limits(
        self, asks: Asker, live: LiveJob, job: Submission, keep: Callable[[Tx], None]
    ) -> None:
        wanted = job.spec
        spec = replace(live.spec, time_limit=wanted.time_limit, idle_limit=wanted.idle_limit)
        told = [(live.row, spec, differences(live.spec, spec))]

        def op(tx: Tx) -> None:
            keep(tx)
            records.edited(told, asks.name, time.time())(tx)

        await set_limits(self._controller, live, spec, op)

    async def _edit(self, asks: Asker, live: LiveJob, changes: Mapping[str, Any]) -> None:
        try:
            await self._jobs.edit(asks, live.id, changes)
        except Clash as no:
            if no.code != "not_queued":
                raise
            raise _Overtaken from no  # it has just started

    async def _restart(
        self,
        asks: Asker,
        row: EnvironmentRow,
        live: LiveJob,
        job: Submission,
        keep: Callable[[Tx], None],
    ) -> None:
        """One commit: the stop of the old job, the new one, and what the row says of them."""
        submitted = False

        async def write(stop: records.Op | None) -> None:
            def together(tx: Tx) -> None:
                keep(tx)
                store.update(tx, row.id, job_id=job.id)
                if stop is not None:
                    stop(tx)

            nonlocal submitted
            await self._submit(asks, row, job, together)
            submitted = True

        await self._controller.stop(live, asks.name, write=write)
        if not submitted:  # it ended by itself
            await write(None)

    def _longer(self, row: EnvironmentRow, live: LiveJob, by: float | None) -> float | None:
        """The time limit that it gets. The most is from now on."""
        limit = live.spec.time_limit
        started = None if live.attempt is None else live.attempt.started_at
        if limit is None or started is None:
            return None
        at = time.time()
        usual = self._next(row, None).spec.time_limit or limit
        if by is None:
            return max(limit, at + usual - started)
        ruled = self._controller.defaults.max_time_limit
        most = max(usual, _MOST_AHEAD) if ruled is None else ruled
        if started + limit + by - at > most:
            raise refusals.too_long(row, by, most, ruled is not None)
        return limit + by

    async def _stop(self, asks: Asker, row: EnvironmentRow) -> None:
        live = await self._live(row)
        if live is None:
            return
        await self._controller.stop(live, asks.name)
        await self._context.store.write(lambda tx: note(tx, asks, "environment.stopped", row.ref))

    async def _submit(
        self, asks: Asker, row: EnvironmentRow, job: Submission, keep: Callable[[Tx], None]
    ) -> None:
        assert job.id is not None
        self._context.shares.started(row.id, job.id)
        brought = Brought((), keep)
        await self._submitter.submit([job], asks.who, asks.address, brought=brought)
        self._web_doors.expect_visitors()

    def _next(
        self, row: EnvironmentRow, live: LiveJob | None, request: dict[str, Any] | None = None
    ) -> Submission:
        asked = row.request if request is None else request
        image = row.saved_image if asked.get("image") == row.request.get("image") else None
        after = None if live is None else live.id
        return submission(row.name, asked, self._controller.defaults, image, after)

    async def _live(self, row: EnvironmentRow) -> LiveJob | None:
        """Its latest job, unless that has ended."""
        while row.job_id is not None:
            live = self._context.jobs.get(row.job_id)
            if live is not None:
                return live
            job = await self._lookup.job(row.job_id)
            if job is None or job.state.final:
                return None
            await asyncio.sleep(_MOMENT)  # it is on disk, and in memory at any moment
        return None

    async def _created_before(self, asks: Asker, id: str | None) -> EnvironmentRow | None:
        if id is None:
            return None
        row = await self._context.store.read(lambda tx: store.get(tx, id))
        if row is not None and row.owner != asks.name:
            raise refusals.id_taken(id)
        return row

    async def find(self, who: Principal, ref: str) -> tuple[EnvironmentRow, JobRow | None]:
        found = await self._lookup.environment(ref, who)
        if found is None:
            shown = ref.replace("~", "/")[:100]
            raise NotThere(Text(f"environment {shown}", f"环境 {shown}"))
        return found

    async def to_change(self, who: Principal, ref: str) -> EnvironmentRow:
        row, _ = await self.find(who, ref)
        if not rules.changes_environment(who, row.owner):
            raise refusals.not_yours(row)
        return row

    async def _to_start(self, who: Principal, ref: str) -> EnvironmentRow:
        row, _ = await self.find(who, ref)
        if not rules.starts_environment(who, row.owner):
            raise refusals.only_owner_starts(row)
        return row

    def shown(self, row: EnvironmentRow, job: JobRow | None, who: Principal) -> Environment:
        if job is None:
            return Environment(row)
        live = self._context.jobs.get(job.id)
        seen = self._found.as_it_is(job, self._names.hidden_from(who))
        if live is None:
            return Environment(row, seen)
        unknown = self._found.unknown_since(job.id)
        attempt = live.attempt or live.last
        idle = self._controller.idle
        return Environment(
            row,
            seen,
            attempt,
            live.doing,
            unknown,
            _ends_at(live),
            idle.since(live),
            idle.stops_at(live),
        )


def _sees(who: Principal, row: EnvironmentRow, job: JobRow | None) -> bool:
    group = row.request.get("group") if job is None else job.group
    return rules.sees_job(who, row.owner, group, row.shared)


def _ends_at(live: LiveJob) -> float | None:
    started = None if live.attempt is None else live.attempt.started_at
    limit = live.spec.time_limit
    return None if started is None or limit is None else started + limit


def _is_stopping(live: LiveJob) -> bool:
    """For good: not only to be queued again."""
    attempt = live.attempt
    return attempt is not None and attempt.stop is not None and not ends_for_others(attempt)


def _runs(live: LiveJob) -> bool:
    attempt = live.attempt
    return attempt is not None and attempt.started_at is not None and attempt.stop is None


def _seconds(by: float | str) -> float:
    try:
        found = parse_duration(by)
    except Wrong as error:
        raise Unfit("by", error.findings[0].message.after(repr(by)[:64])) from None
    if found <= 0:
        raise Unfit("by", Text("must be more than 0", "必须大于 0"))
    return found


def _check_free(tx: Tx, row: EnvironmentRow, most: int) -> None:
    if store.find(tx, row.owner, row.name) is not None:
        raise refusals.name_taken(row.name)
    if store.count_of(tx, row.owner) >= most:
        raise Crowded(most, Text("environments", "环境"))


def _unchanged(tx: Tx, row: EnvironmentRow) -> None:
    """What was decided on is still so: two starts at once make one job."""
    now = store.get(tx, row.id)
    if now is None:
        raise refusals.gone(row)
    if (now.job_id, now.request) != (row.job_id, row.request):
        raise _Overtaken
