"""Turns a checked spec into a queued job, which is on disk once acknowledged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from danlu.access import rules
from danlu.access.errors import Clash, Unfit
from danlu.access.principal import Principal
from danlu.control import own_images, records
from danlu.control.context import now
from danlu.control.controller import Controller
from danlu.control.dry_runs import script_of
from danlu.control.live_job import LiveJob, waiting_of
from danlu.control.lookup import Lookup
from danlu.control.new_rows import new_row, new_rows
from danlu.control.queue import dependency_cause, verdict
from danlu.control.submission_checks import SubmissionChecks, checked_part
from danlu.control.workers import Turn
from danlu.sched.api import (
    Cause,
    CauseKind,
    Explanation,
    TaskShape,
)
from danlu.spec.complete import Submission
from danlu.spec.errors import Finding, spec_error
from danlu.spec.ids import uuid7
from danlu.spec.job import Dependency, JobSpec
from danlu.spec.refs import every_of
from danlu.spec.text import Text
from danlu.store import jobs as job_store
from danlu.store.errors import StoreFull
from danlu.store.rows import JobRow
from danlu.store.tx import Tx

Origins = dict[str, Mapping[str, Any]]
Gone = Callable[[], Awaitable[bool]]
"""Whether the client has closed its connection."""


async def present() -> bool:
    """For callers that have no connection."""
    return False


@dataclass(frozen=True, slots=True)
class Brought:
    """Secrets that come with the jobs, and are stored in the same commit or not at all."""

    names: Collection[str] = ()
    keep: Callable[[Tx], None] = lambda tx: None


NOTHING = Brought()


class Submitter:
    def __init__(self, controller: Controller, lookup: Lookup) -> None:
        self._controller = controller
        self._lookup = lookup
        self._checks = SubmissionChecks(controller)
        self._coming: Counter[str] = Counter()  # jobs being submitted, by owner

    async def submit(
        self,
        requests: Sequence[Submission],
        who: Principal,
        address: str = "",
        gone: Gone = present,
        brought: Brought = NOTHING,
    ) -> tuple[list[JobRow], bool]:
        """Submits all or none. Known ids return the existing jobs and False (nothing is new).

        A user's large requests go one after the other, and those nobody waits for are dropped.
        """
        count = _count(requests)
        if count == 1:
            return await self._submit(requests, who, address, brought)
        self._check_request(requests, count)
        async with self._controller.context.workers.turn(who.name, patient=True):
            if await gone():
                raise _nobody_waits()
            return await self._submit(requests, who, address, brought)

    async def _submit(
        self, requests: Sequence[Submission], who: Principal, address: str, brought: Brought
    ) -> tuple[list[JobRow], bool]:
        await self._check_user(who.name, requests)
        with self._announced(who.name, _count(requests)):
            return await self._accept(requests, who, address, brought)

    async def _accept(
        self, requests: Sequence[Submission], who: Principal, address: str, brought: Brought
    ) -> tuple[list[JobRow], bool]:
        owner = who.name
        await self._check_disk(requests)
        rows: list[JobRow] = []
        actives: dict[str, LiveJob] = {}
        origins: Origins = {}
        at = now()
        checked: JobSpec | None = None
        shapes: tuple[TaskShape, ...] = ()
        for number, request in enumerate(requests, 1):
            spec = await self._resolve(request.spec, who, number, len(requests))
            part = checked_part(spec) if len(requests) > 1 else None
            if part is None or part != checked:
                checked = part
                shapes = await self._checks.check(spec, who, number, len(requests), brought.names)
            for row in new_rows(spec, request.id or uuid7(), owner, at):
                rows.append(row)
                if request.origin is not None:
                    origins[row.id] = request.origin
                # If an id occurs twice in one request, the first one is stored.
                actives.setdefault(row.id, LiveJob(row, spec, shapes))
        stored = await self._store(rows, actives, owner, address, origins, brought)
        fresh = [row for row, new in stored if new]
        shown = [replace(row) for row, _ in stored]
        self._controller.enqueue(fresh, [actives[row.id] for row in fresh])
        return shown, bool(fresh)

    async def _store(
        self,
        rows: list[JobRow],
        jobs: dict[str, LiveJob],
        owner: str,
        address: str,
        origins: Origins,
        brought: Brought,
    ) -> list[job_store.Inserted]:
        """Writes them, along with the start of jobs that can start at once."""
        controller = self._controller
        begun: list[LiveJob] = []
        try:
            for job in jobs.values():
                if not await controller.start_ahead(job):
                    break
                begun.append(job)
            attempts = {job.id: job.attempt for job in begun if job.attempt is not None}
            submitted = records.submitted(rows, owner, attempts, address, origins)

            def op(tx: Tx) -> list[job_store.Inserted]:
                brought.keep(tx)
                return submitted(tx)

            stored = await controller.context.store.write(op)
        except BaseException:
            for job in begun:
                controller.take_back(job)
            raise
        for row, new in stored:
            if not new and row.id in attempts:
                controller.take_back(jobs[row.id])
        return stored

    async def preview(
        self,
        request: Submission,
        who: Principal,
        number: int,
        of: int,
        turn: Turn,
        brought: Collection[str] = (),
    ) -> Explanation:
        """Dry run: what would happen to it now, without queueing anything."""
        spec = await self._resolve(request.spec, who, number, of)
        shapes = await self._checks.check(spec, who, number, of, brought)
        owner = who.name
        snapshot = self._controller.snapshot()
        last = max((job.seq for job in snapshot.waiting), default=0)
        blocked = Cause(CauseKind.HELD) if spec.held else await self._unmet(spec)
        row = replace(new_row(spec, "preview", owner, snapshot.now), seq=last + 1)
        expected = self._controller.planner.expected(
            spec.queue, owner, spec.name, shapes, spec.time_limit
        )
        waiting = waiting_of(row, spec, shapes, blocked, expected)
        queue = sorted([*snapshot.waiting, waiting], key=lambda job: job.order)
        picture = replace(snapshot, waiting=queue)
        from danlu.sched.explain.explain import explain

        return await turn.run(explain, picture, self._controller.policy, "preview")

    async def script(self, request: Submission, who: Principal, turn: Turn) -> str:
        """Dry run: what an engine that places jobs itself would be given; empty for others."""
        spec = await self._resolve(request.spec, who, 1, 1)
        return await script_of(self._controller.context, spec, who, turn)

    def _check_request(self, requests: Sequence[Submission], count: int) -> None:
        """Checked before expansion: a short file can ask for very many jobs."""
        arrays = [each.spec.array for each in requests if each.spec.array is not None]
        limits = self._controller.context.settings.limits
        if count > limits.request:
            raise Unfit(
                "array" if arrays else "jobs",
                Text(
                    f"{count} jobs at once are too many; the limit is {limits.request} "
                    "(elements of arrays count)",
                    f"一次提交 {count} 个任务过多；上限为 {limits.request} 个（数组元素都计入）",
                ),
            )

    async def _check_user(self, owner: str, requests: Sequence[Submission]) -> None:
        context = self._controller.context
        limits = context.settings.limits
        count = _count(requests)
        if context.jobs.count(owner) + self._coming[owner] + count > limits.jobs:
            count = _count(await self._unknown(requests))
        mine = context.jobs.count(owner) + self._coming[owner]
        if count and mine + count > limits.jobs:
            raise Unfit(
                "jobs",
                Text(
                    f"you have {mine} jobs that have not ended; {count} more would be over the "
                    f"limit of {limits.jobs}",
                    f"你有 {mine} 个未结束的任务；再加 {count} 个会超过上限 {limits.jobs}",
                ),
            )

    async def _unknown(self, requests: Sequence[Submission]) -> list[Submission]:
        """Without those that were sent before."""
        ids = [request.id for request in requests if request.id is not None]
        if not ids:
            return list(requests)
        store = self._controller.context.store
        known = await store.read(lambda tx: job_store.get_jobs(tx, ids))
        return [request for request in requests if request.id not in known]

    @contextmanager
    def _announced(self, owner: str, count: int) -> Iterator[None]:
        """Counts jobs that are on their way, so that requests sent together share the limit."""
        self._coming[owner] += count
        try:
            yield
        finally:
            self._coming[owner] -= count
            if not self._coming[owner]:
                del self._coming[owner]

    async def _unmet(self, spec: JobSpec) -> Cause | None:
        """The first job it would wait for."""
        unmet: list[tuple[str, Dependency]] = []
        for dependency in spec.after:
            row = await self._lookup.job(dependency.job)
            if row is None:
                continue
            if not verdict(dependency.after, row.state, row.started_at is not None):
                unmet.append((row.ref, dependency))
        return dependency_cause(*unmet[0], len(unmet) - 1) if unmet else None

    async def _resolve(self, spec: JobSpec, who: Principal, number: int, of: int) -> JobSpec:
        """Fills in the group and resolves the references of its dependencies."""
        queue = self._controller.context.rulebook.real_queue(spec.queue)
        if queue != spec.queue:
            spec = replace(spec, queue=queue)
        if spec.group is None and who.groups and not spec.login:
            spec = replace(spec, group=rules.usual_group(who))
        own = self._controller.context.own_images
        spec, unknown = await own_images.with_full_names(own, who, spec)
        if unknown:
            raise spec_error(unknown, job=number if of > 1 else None)
        if not spec.after:
            return spec
        found: list[Dependency] = []
        missing: list[Finding] = []
        for index, dependency in enumerate(spec.after):
            name = every_of(dependency.job)
            if name is not None:
                mine = self._unfinished(name, who.name)
                found.extend(Dependency(job_id, dependency.after) for job_id in mine)
                continue
            jobs = await self._lookup.jobs(dependency.job, who)
            if not jobs:
                missing.append(
                    Finding(
                        ("after", index),
                        dependency.job,
                        Text(
                            "is not a job; `danlu jobs` lists them",
                            "不是已有的任务；`danlu jobs` 可列出任务",
                        ),
                    )
                )
            found.extend(Dependency(job.id, dependency.after) for job in jobs)
        if missing:
            raise spec_error(missing, job=number if of > 1 else None)
        return replace(spec, after=tuple(found))

    def _unfinished(self, name: str, owner: str) -> list[str]:
        jobs = self._controller.context.jobs.values()
        return [job.id for job in jobs if job.row.name == name and job.row.owner == owner]

    def check_edited(self, spec: JobSpec, owner: Principal) -> None:
        self._checks.check_edited(spec, owner)

    async def _check_disk(self, requests: Sequence[Submission]) -> None:
        context = self._controller.context
        for queue in dict.fromkeys(request.spec.queue for request in requests):
            full = await context.disks.check(context.engine_for(queue))
            if full is not None:
                raise StoreFull(full.message)


def _count(requests: Sequence[Submission]) -> int:
    arrays = [each.spec.array for each in requests if each.spec.array is not None]
    return len(requests) - len(arrays) + sum(len(array.indexes) for array in arrays)


def _nobody_waits() -> Clash:
    message = Text(
        "The request was dropped: its connection was closed while it waited",
        "请求已放弃：等待期间连接已断开",
    )
    return Clash("dropped", message)
