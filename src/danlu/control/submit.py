"""From a checked spec to a queued job: acknowledged means on disk."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from danlu.control import records
from danlu.control.active import Active, shapes_of
from danlu.control.controller import Controller
from danlu.control.lookup import Lookup
from danlu.control.queue import dependency_cause, verdict
from danlu.control.rooms import now
from danlu.sched.api import Cause, CauseKind, Explanation, Snapshot, Waiting
from danlu.sched.decide import could_ever_run
from danlu.sched.explain import explain
from danlu.sched.words import cause_words
from danlu.spec.codec import to_values
from danlu.spec.complete import Submission
from danlu.spec.errors import Finding, spec_error
from danlu.spec.ids import uuid7
from danlu.spec.job import Dependency, JobSpec
from danlu.spec.states import State
from danlu.store import jobs as job_store
from danlu.store.errors import StoreFull
from danlu.store.rows import JobRow

BUILT_IN_VOLUMES = frozenset({"userhome"})


class Submitter:
    def __init__(self, controller: Controller, lookup: Lookup) -> None:
        self._controller = controller
        self._lookup = lookup
        self._disk_checked = 0.0

    async def submit(self, requests: Sequence[Submission], owner: str) -> tuple[list[JobRow], bool]:
        """All of them or none. The same ids again give the same jobs (False: nothing is new)."""
        self._check_disk()
        rows: list[JobRow] = []
        actives: dict[str, Active] = {}
        at = now()
        for number, request in enumerate(requests, 1):
            spec = await self._resolve(request.spec, owner, number, len(requests))
            self._check(spec, number, len(requests))
            shapes = shapes_of(spec)
            for row in _rows(spec, request.id or uuid7(), owner, at):
                rows.append(row)
                # The same id twice in one request: the first is the one that is stored.
                actives.setdefault(row.id, Active(row, spec, shapes))
        stored = await self._store(rows, actives, owner)
        fresh = [row for row, new in stored if new]
        shown = [replace(row) for row, _ in stored]
        self._controller.enqueue(fresh, [actives[row.id] for row in fresh])
        return shown, bool(fresh)

    async def _store(
        self, rows: list[JobRow], jobs: dict[str, Active], owner: str
    ) -> list[job_store.Inserted]:
        """Writes them, together with the start of those that can start at once."""
        controller = self._controller
        begun = list(takewhile(controller.start_ahead, jobs.values()))
        attempts = {job.id: job.attempt for job in begun if job.attempt is not None}
        try:
            op = records.submitted(rows, owner, attempts)
            stored = await controller.rooms.store.write(op)
        except BaseException:
            for job in begun:
                controller.take_back(job)
            raise
        for row, new in stored:
            if not new and row.id in attempts:
                controller.take_back(jobs[row.id])
        return stored

    async def preview(self, request: Submission, owner: str, number: int, of: int) -> Explanation:
        """What would happen to it now; nothing is queued."""
        spec = await self._resolve(request.spec, owner, number, of)
        self._check(spec, number, of)
        snapshot = self._controller.snapshot()
        last = max((job.seq for job in snapshot.waiting), default=0)
        blocked = Cause(CauseKind.HELD) if spec.held else await self._unmet(spec)
        waiting = Waiting(
            "preview", spec.name, owner, last + 1, spec.priority, shapes_of(spec), blocked
        )
        queue = sorted([*snapshot.waiting, waiting], key=lambda job: job.order)
        return explain(replace_queue(snapshot, queue), self._controller.policy, "preview")

    async def _unmet(self, spec: JobSpec) -> Cause | None:
        """The first of the jobs it would wait for."""
        unmet: list[tuple[str, Dependency]] = []
        for dependency in spec.after:
            row = await self._lookup.job(dependency.job)
            if row is None:
                continue
            if not verdict(dependency.after, row.state, row.started_at is not None):
                unmet.append((row.ref, dependency))
        return dependency_cause(*unmet[0], len(unmet) - 1) if unmet else None

    async def _resolve(self, spec: JobSpec, owner: str, number: int, of: int) -> JobSpec:
        """Turns what people call the jobs it waits for into ids."""
        if not spec.after:
            return spec
        found: list[Dependency] = []
        missing: list[Finding] = []
        for index, dependency in enumerate(spec.after):
            jobs = await self._lookup.jobs(dependency.job, owner)
            if not jobs:
                missing.append(
                    Finding(
                        ("after", index),
                        dependency.job,
                        "names no job; `danlu jobs` lists them",
                        "不是已有的任务；`danlu jobs` 可列出任务",
                    )
                )
            found.extend(Dependency(job.id, dependency.after) for job in jobs)
        if missing:
            raise spec_error(missing, job=number if of > 1 else None)
        return replace(spec, after=tuple(found))

    def _check(self, spec: JobSpec, number: int, of: int) -> None:
        """What only this installation can tell: its volumes, its runtimes, its nodes."""
        findings = [
            *self._volumes(spec),
            *self._images(spec),
            *self._queue(spec),
            *self._room(spec),
        ]
        if findings:
            raise spec_error(findings, job=number if of > 1 else None)

    def _volumes(self, spec: JobSpec) -> list[Finding]:
        known = sorted({*self._controller.rooms.settings.volumes, *BUILT_IN_VOLUMES})
        return [
            Finding(
                ("mounts", index, "volume"),
                mount.volume,
                f"is not a volume here; there are: {', '.join(known)}",
                f"不是这里的存储卷；现有：{'、'.join(known)}",
            )
            for role in spec.roles
            for index, mount in enumerate(role.mounts)
            if mount.volume not in known
        ]

    def _images(self, spec: JobSpec) -> list[Finding]:
        inventory = self._controller.inventory
        if inventory.images:
            return []
        return [
            Finding(
                ("image",),
                role.image,
                f"cannot run here: this engine runs no container images. {inventory.images_hint}",
                f"无法在此运行：本引擎不支持容器镜像。{inventory.images_hint}",
            )
            for role in spec.roles[:1]
            if role.image is not None
        ]

    def _queue(self, spec: JobSpec) -> list[Finding]:
        if spec.queue == "default":
            return []
        return [
            Finding(
                ("queue",),
                spec.queue,
                "is not a queue here; there is: default",
                "不是这里的队列；现有：default",
            )
        ]

    def _room(self, spec: JobSpec) -> list[Finding]:
        """A request larger than anything here is told so now, not after a night in the queue."""
        shapes = shapes_of(spec)
        nodes = self._controller.rooms.ledger.states()
        if could_ever_run(shapes, nodes):
            return []
        waiting = Waiting("x", spec.name, "", 1, 0, shapes)
        snapshot = Snapshot(0.0, nodes, [waiting])
        cause = explain(snapshot, self._controller.policy, "x").causes[-1]
        en, zh = cause_words(cause)
        key, value = _too_much(cause)
        return [Finding((key,), value, f"- {en}", f"- {zh}")]

    def _check_disk(self) -> None:
        if time.monotonic() - self._disk_checked < 1.0:
            return
        settings = self._controller.rooms.settings
        free = shutil.disk_usage(settings.data).free
        if free < settings.min_free_bytes:
            raise StoreFull(
                f"New work is refused: only {free >> 20} MiB are left on the disk of the data "
                f"folder ({settings.data}). Free space there, then submit again",
                f"暂不接受新任务：数据目录（{settings.data}）所在磁盘只剩 {free >> 20} MiB。"
                "清理后再提交",
            )
        self._disk_checked = time.monotonic()


def _rows(spec: JobSpec, job_id: str, owner: str, at: float) -> list[JobRow]:
    values = to_values(spec)
    base = JobRow(
        id=job_id,
        owner=owner,
        name=spec.name,
        number=0,
        kind=spec.kind,
        state=State.QUEUED,
        spec=values,
        queue=spec.queue,
        group=spec.group,
        priority=spec.priority,
        submitted_at=at,
        held=spec.held,
    )
    if spec.array is None:
        return [base]
    return [
        replace(
            base,
            id=job_id if place == 0 else element_id(job_id, place),
            array_id=job_id,
            array_index=index,
        )
        for place, index in enumerate(spec.array.indexes)
    ]


def _too_much(cause: Cause) -> tuple[str, object]:
    """The key, and its value, for which nothing here has room."""
    numbers = cause.numbers
    if cause.kind is CauseKind.MODEL_ABSENT:
        return "gpus", numbers["model"]
    for key, need in (("gpus", "cards"), ("cpus", "cpus"), ("memory", "memory")):
        if float(numbers[need]) > float(numbers[f"largest_{need}"]):
            return key, numbers[need]
    return "count", numbers["tasks"]


def element_id(first: str, place: int) -> str:
    """Ids of an array's elements follow from the first: submitted again, they are the same."""
    head, tail = first[:-12], int(first[-12:], 16)
    return f"{head}{(tail + place) % (1 << 48):012x}"


def replace_queue(snapshot: Snapshot, queue: list[Waiting]) -> Snapshot:
    return replace(snapshot, waiting=queue)
