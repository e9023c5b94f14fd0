"""From a checked spec to a queued job: acknowledged means on disk."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from danlu.access import rules
from danlu.access.principal import Principal
from danlu.control import records
from danlu.control.active import Active, shapes_of
from danlu.control.controller import Controller
from danlu.control.launches import secret_names
from danlu.control.lookup import Lookup
from danlu.control.queue import dependency_cause, verdict
from danlu.control.rooms import now
from danlu.engines.api import Images
from danlu.sched.api import (
    DEFAULT_QUEUE,
    Cause,
    CauseKind,
    Explanation,
    Snapshot,
    TaskShape,
    Waiting,
)
from danlu.sched.explain import apart, explain, never
from danlu.sched.words import cause_words
from danlu.spec.codec import to_values
from danlu.spec.complete import Submission
from danlu.spec.errors import Finding, spec_error
from danlu.spec.ids import uuid7
from danlu.spec.job import Dependency, JobSpec
from danlu.spec.refs import every_of
from danlu.spec.states import State
from danlu.spec.units import format_size
from danlu.store import jobs as job_store
from danlu.store.errors import StoreFull
from danlu.store.rows import JobRow
from danlu.store.secrets import list_secrets

MOST_LISTED = 20

Origins = dict[str, Mapping[str, Any]]


class Submitter:
    def __init__(self, controller: Controller, lookup: Lookup) -> None:
        self._controller = controller
        self._lookup = lookup
        self._disk_checked = 0.0

    async def submit(
        self, requests: Sequence[Submission], who: Principal, address: str = ""
    ) -> tuple[list[JobRow], bool]:
        """All of them or none. The same ids again give the same jobs (False: nothing is new)."""
        owner = who.name
        self._check_disk()
        rows: list[JobRow] = []
        actives: dict[str, Active] = {}
        origins: Origins = {}
        at = now()
        for number, request in enumerate(requests, 1):
            spec = await self._resolve(request.spec, who, number, len(requests))
            await self._check(spec, who, number, len(requests))
            shapes = self._shapes(spec)
            for row in _rows(spec, request.id or uuid7(), owner, at):
                rows.append(row)
                if request.origin is not None:
                    origins[row.id] = request.origin
                # The same id twice in one request: the first is the one that is stored.
                actives.setdefault(row.id, Active(row, spec, shapes))
        stored = await self._store(rows, actives, owner, address, origins)
        fresh = [row for row, new in stored if new]
        shown = [replace(row) for row, _ in stored]
        self._controller.enqueue(fresh, [actives[row.id] for row in fresh])
        return shown, bool(fresh)

    async def _store(
        self,
        rows: list[JobRow],
        jobs: dict[str, Active],
        owner: str,
        address: str,
        origins: Origins,
    ) -> list[job_store.Inserted]:
        """Writes them, together with the start of those that can start at once."""
        controller = self._controller
        begun = list(takewhile(controller.start_ahead, jobs.values()))
        attempts = {job.id: job.attempt for job in begun if job.attempt is not None}
        try:
            op = records.submitted(rows, owner, attempts, address, origins)
            stored = await controller.rooms.store.write(op)
        except BaseException:
            for job in begun:
                controller.take_back(job)
            raise
        for row, new in stored:
            if not new and row.id in attempts:
                controller.take_back(jobs[row.id])
        return stored

    async def preview(
        self, request: Submission, who: Principal, number: int, of: int
    ) -> Explanation:
        """What would happen to it now; nothing is queued."""
        spec = await self._resolve(request.spec, who, number, of)
        await self._check(spec, who, number, of)
        owner = who.name
        snapshot = self._controller.snapshot()
        last = max((job.seq for job in snapshot.waiting), default=0)
        blocked = Cause(CauseKind.HELD) if spec.held else await self._unmet(spec)
        shapes = self._shapes(spec)
        waiting = Waiting(
            "preview",
            spec.name,
            owner,
            last + 1,
            spec.priority,
            shapes,
            blocked,
            group=spec.group,
            queue=spec.queue,
            kind=spec.kind,
            name=spec.name,
            submitted=snapshot.now,
            time_limit=spec.time_limit,
            expected=self._controller.planner.expected(
                spec.queue, owner, spec.name, shapes, spec.time_limit
            ),
            preemptible=spec.preemptible,
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

    async def _resolve(self, spec: JobSpec, who: Principal, number: int, of: int) -> JobSpec:
        """Fills in the group, and turns what people call the jobs it waits for into ids."""
        queue = self._controller.rooms.rulebook.real_queue(spec.queue)
        if queue != spec.queue:
            spec = replace(spec, queue=queue)
        if spec.group is None and who.groups:
            spec = replace(spec, group=rules.usual_group(who))
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
                        "names no job; `danlu jobs` lists them",
                        "不是已有的任务；`danlu jobs` 可列出任务",
                    )
                )
            found.extend(Dependency(job.id, dependency.after) for job in jobs)
        if missing:
            raise spec_error(missing, job=number if of > 1 else None)
        return replace(spec, after=tuple(found))

    def _unfinished(self, name: str, owner: str) -> list[str]:
        jobs = self._controller.rooms.jobs.values()
        return [job.id for job in jobs if job.row.name == name and job.row.owner == owner]

    async def _check(self, spec: JobSpec, who: Principal, number: int, of: int) -> None:
        """What only this installation can tell: its groups, volumes, runtimes, nodes."""
        findings = [
            *self._group(spec, who),
            *await self._volumes(spec, who.name),
            *await self._secrets(spec, who.name),
            *self._images(spec),
            *self._queue(spec),
            *self._nodes(spec),
        ]
        findings = findings or self._room(spec)  # which would only say the same in other words
        if findings:
            raise spec_error(findings, job=number if of > 1 else None)

    def _shapes(self, spec: JobSpec) -> tuple[TaskShape, ...]:
        return shapes_of(spec, self._controller.rooms.volumes.limited)

    async def _volumes(self, spec: JobSpec, owner: str) -> list[Finding]:
        if not any(role.mounts or role.workdir for role in spec.roles):
            return []
        rooms = self._controller.rooms
        person = rooms.identities.remembered(owner) or await rooms.identities.person(owner)
        findings = [
            Finding(
                ("workdir",),
                role.workdir,
                "leads to a folder that no task of yours sees; /userhome is yours",
                "指向你的任务看不到的目录；/userhome 是你的目录",
            )
            for role in spec.roles
            if rooms.volumes.hides(role, person)
        ]
        nodes = [node.name for node in rooms.ledger.nodes()]
        return findings + rooms.volumes.findings(spec, person, nodes)

    async def _secrets(self, spec: JobSpec, owner: str) -> list[Finding]:
        """A slip of the pen is told now, not when its turn has come."""
        names = secret_names(spec)
        if not names:
            return []
        known = await self._controller.rooms.store.read(lambda tx: list_secrets(tx, owner))
        listed = ", ".join(known[:MOST_LISTED]) + (", ..." if len(known) > MOST_LISTED else "")
        return [
            Finding(
                ("secrets",),
                name,
                f"is not a secret of yours ({listed or 'you have none'}); `danlu secret set {name}`"
                " makes it",
                f"不是你的密钥（{listed or '你还没有密钥'}）；用 `danlu secret set {name}` 创建",
            )
            for name in sorted(names.difference(known))
        ]

    def _images(self, spec: JobSpec) -> list[Finding]:
        images = dict.fromkeys(role.image for role in spec.roles if role.image is not None)
        if not images:
            return []
        inventory, engine = self._controller.inventory, self._controller.rooms.engine
        if not inventory.images:
            en = f"cannot run here: this engine runs no container images. {inventory.images_hint}"
            zh = f"无法在此运行：本引擎不支持容器镜像。{inventory.images_hint_zh}"
            return [Finding(("image",), next(iter(images)), en, zh)]
        if not isinstance(engine, Images):
            return []
        problems = [(image, engine.image_problem(image)) for image in images]
        return [Finding(("image",), image, *found) for image, found in problems if found]

    def _group(self, spec: JobSpec, who: Principal) -> list[Finding]:
        if spec.group is None or rules.submits_for(who, spec.group):
            return []
        en = f"yours: {', '.join(sorted(who.groups))}" if who.groups else "you are in none"
        zh = f"你的组：{'、'.join(sorted(who.groups))}" if who.groups else "你不在任何组中"
        return [
            Finding(("group",), spec.group, f"is not a group of yours; {en}", f"不是你的组；{zh}")
        ]

    def _queue(self, spec: JobSpec) -> list[Finding]:
        known = sorted({DEFAULT_QUEUE, *self._controller.policy.queues})
        if spec.queue in known:
            return []
        return [
            Finding(
                ("queue",),
                spec.queue,
                f"is not a queue here; there is: {', '.join(known)}",
                f"不是这里的队列；现有：{'、'.join(known)}",
            )
        ]

    def _nodes(self, spec: JobSpec) -> list[Finding]:
        named = [*spec.nodes.only, *spec.nodes.exclude]
        if not named:
            return []
        known = [node.name for node in self._controller.rooms.ledger.nodes()]
        listed = ", ".join(known[:MOST_LISTED]) + (", ..." if len(known) > MOST_LISTED else "")
        return [
            Finding(
                ("nodes",),
                name,
                f"is not a node here; there is: {listed}",
                f"不是这里的节点；现有：{listed}",
            )
            for name in dict.fromkeys(named)
            if name not in known
        ]

    def _room(self, spec: JobSpec) -> list[Finding]:
        """A request larger than anything here is told so now, not after a night in the queue."""
        shapes = self._shapes(spec)
        nodes = self._controller.rooms.ledger.states()
        waiting = Waiting("x", spec.name, "", 1, 0, shapes, queue=spec.queue, kind=spec.kind)
        cause = never(nodes, self._controller.policy, waiting)
        if cause is None:
            return []
        en, zh = cause_words(cause)
        key, value = _too_much(cause)
        parts = apart(nodes, self._controller.policy, waiting) if key == "gpus" else None
        if parts is not None:
            tasks, cards = parts
            en = f"{en}. Over several nodes it fits: count {tasks}, gpus {cards}"
            zh = f"{zh}。分到多个节点可以放下：count {tasks}，gpus {cards}"
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
    if cause.kind in (CauseKind.MODEL_ABSENT, CauseKind.KIND_LIMITED):
        return "gpus", numbers["model"]
    if cause.kind is CauseKind.VOLUME_ABSENT:
        return "mounts", numbers["asked"]
    if cause.kind in (CauseKind.LABEL_ABSENT, CauseKind.NODES_NAMED):
        key = "gpus" if str(numbers["asked"]).startswith("gpus ") else "nodes"
        return key, numbers["asked"]
    for key, need in (("gpus", "cards"), ("cpus", "cpus"), ("memory", "memory")):
        if float(numbers[need]) > float(numbers[f"largest_{need}"]):
            return key, format_size(int(numbers[need])) if key == "memory" else numbers[need]
    return "count", numbers["tasks"]


def element_id(first: str, place: int) -> str:
    """Ids of an array's elements follow from the first: submitted again, they are the same."""
    head, tail = first[:-12], int(first[-12:], 16)
    return f"{head}{(tail + place) % (1 << 48):012x}"


def replace_queue(snapshot: Snapshot, queue: list[Waiting]) -> Snapshot:
    return replace(snapshot, waiting=queue)
