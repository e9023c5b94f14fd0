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
from danlu.control.launches import secret_names
from danlu.control.live_job import LiveJob, shapes_of, waiting_of
from danlu.control.lookup import Lookup
from danlu.control.queue import dependency_cause, verdict
from danlu.control.tools import tools_findings
from danlu.control.workers import Turn
from danlu.engines.api import Images
from danlu.sched.api import (
    DEFAULT_QUEUE,
    Cause,
    CauseKind,
    Explanation,
    Policy,
    Snapshot,
    TaskShape,
    Waiting,
)
from danlu.sched.explain.explain import apart, explain, never
from danlu.sched.explain.words import cause_words, gib
from danlu.spec.codec import to_values
from danlu.spec.complete import Submission
from danlu.spec.errors import NO_VALUE, Finding, spec_error
from danlu.spec.ids import uuid7
from danlu.spec.job import Dependency, JobSpec
from danlu.spec.refs import every_of
from danlu.spec.states import State
from danlu.spec.text import EMPTY, Text
from danlu.spec.units import format_size
from danlu.store import bundles
from danlu.store import jobs as job_store
from danlu.store.errors import StoreFull
from danlu.store.rows import JobRow
from danlu.store.secrets import list_secrets
from danlu.store.tx import Tx

MOST_LISTED = 20
_QUOTAS = (CauseKind.QUOTA_USER, CauseKind.QUOTA_GROUP)

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
        for number, request in enumerate(requests, 1):
            spec = await self._resolve(request.spec, who, number, len(requests))
            await self._check(spec, who, number, len(requests), brought.names)
            shapes = self._shapes(spec)
            for row in _rows(spec, request.id or uuid7(), owner, at):
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
        await self._check(spec, who, number, of, brought)
        owner = who.name
        snapshot = self._controller.snapshot()
        last = max((job.seq for job in snapshot.waiting), default=0)
        blocked = Cause(CauseKind.HELD) if spec.held else await self._unmet(spec)
        shapes = self._shapes(spec)
        row = replace(_row(spec, "preview", owner, snapshot.now), seq=last + 1)
        expected = self._controller.planner.expected(
            spec.queue, owner, spec.name, shapes, spec.time_limit
        )
        waiting = waiting_of(row, spec, shapes, blocked, expected)
        queue = sorted([*snapshot.waiting, waiting], key=lambda job: job.order)
        picture = replace_queue(snapshot, queue)
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
                            "names no job; `danlu jobs` lists them",
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

    async def _check(
        self, spec: JobSpec, who: Principal, number: int, of: int, brought: Collection[str]
    ) -> None:
        """Checks against this installation: groups, volumes, runtimes and nodes."""
        findings = [
            *self._group(spec, who),
            *await self._volumes(spec, who.name),
            *await self._secrets(spec, who.name, brought),
            *await self._bundle(spec, who.name),
            *self._images(spec),
            *await self._image_rights(spec, who),
            *await own_images.findings(self._controller.context.own_images, who, _images_of(spec)),
            *self._tools(spec),
            *self._queue(spec),
            *self._nodes(spec),
            *self._own_queues(spec),
        ]
        findings = findings or self._room(spec, who)  # which would only repeat it
        if findings:
            raise spec_error(findings, job=number if of > 1 else None)

    def check_edited(self, spec: JobSpec, owner: Principal) -> None:
        """Checks what an edit can change: whether the job can still run here, within its quotas."""
        findings = [
            *self._images(spec),
            *self._tools(spec),
            *self._queue(spec),
            *self._nodes(spec),
            *self._own_queues(spec),
        ]
        findings = findings or self._room(spec, owner)
        if findings:
            raise spec_error(findings)

    def _shapes(self, spec: JobSpec) -> tuple[TaskShape, ...]:
        context = self._controller.context
        return shapes_of(spec, context.volumes.limited, context.datasets)

    async def _volumes(self, spec: JobSpec, owner: str) -> list[Finding]:
        asked = any(role.mounts or role.workdir for role in spec.roles)
        if not asked and not spec.datasets:
            return []
        context = self._controller.context
        person = context.identities.remembered(owner) or await context.identities.person(owner)
        findings = [
            Finding(
                ("workdir",),
                role.workdir,
                Text(
                    "leads to a folder that no task of yours sees; /userhome is yours",
                    "指向你的任务看不到的目录；/userhome 是你的目录",
                ),
            )
            for role in spec.roles
            if context.volumes.hides(role, person)
        ]
        nodes = [node.name for node in context.ledger.nodes()]
        findings += context.datasets.findings(spec, person)
        return findings + context.volumes.findings(spec, person, nodes)

    async def _secrets(self, spec: JobSpec, owner: str, brought: Collection[str]) -> list[Finding]:
        """Reports a typo now instead of when the job is due to start."""
        names = secret_names(spec).difference(brought)
        if not names:
            return []
        known = await self._controller.context.store.read(lambda tx: list_secrets(tx, owner))
        listed = ", ".join(known[:MOST_LISTED]) + (", ..." if len(known) > MOST_LISTED else "")
        return [
            Finding(
                ("secrets",),
                name,
                Text(
                    f"is not a secret of yours ({listed or 'you have none'}); `danlu secret set "
                    f"{name}` makes it",
                    f"不是你的密钥（{listed or '你还没有密钥'}）；用 `danlu secret set {name}` 创"
                    "建",
                ),
            )
            for name in sorted(names.difference(known))
        ]

    async def _bundle(self, spec: JobSpec, owner: str) -> list[Finding]:
        """One's own only: whoever learns the id of another's has nothing."""
        if spec.bundle is None:
            return []
        id, at, carry = spec.bundle.id, now(), self._controller.context.settings.carry
        if await self._controller.context.store.write(lambda tx: bundles.used(tx, owner, id, at)):
            return []
        days = int(carry.keep // 86400)
        return [
            Finding(
                ("bundle",),
                id[:12],
                Text(
                    "is no folder you brought along, or was last used more than "
                    f"{days} days ago; run it again with --carry",
                    f"不是你上传的目录，或已超过 {days} 天未使用；请用 --carry 重新提交",
                ),
            )
        ]

    def _images(self, spec: JobSpec) -> list[Finding]:
        images = _images_of(spec)
        if not images:
            return []
        context = self._controller.context
        status = context.engines.status(self._controller.policy.queue(spec.queue).engine)
        inventory, engine = status.inventory, status.engine
        if not status.met:
            return []  # its features are unknown until it is back
        if not inventory.images:
            message = Text(
                "cannot run here: this engine does not run container images. "
                f"{inventory.images_hint.en}",
                f"无法在此运行：本引擎不支持容器镜像。{inventory.images_hint.zh}",
            )
            return [Finding(("image",), next(iter(images)), message)]
        if not isinstance(engine, Images):
            return []
        problems = [(image, engine.image_problem(image)) for image in images]
        return [Finding(("image",), image, found) for image, found in problems if found]

    async def _image_rights(self, spec: JobSpec, who: Principal) -> list[Finding]:
        may_use = self._controller.context.may_use_image
        images = dict.fromkeys(role.image for role in spec.roles if role.image is not None)
        if may_use is None or not images:
            return []
        own = self._controller.context.own_images
        some = [each for each in images if own is None or own.repository(each) is None]
        found = [(image, await may_use(who, image)) for image in some]
        return [Finding(("image",), image, why) for image, why in found if why is not None]

    def _tools(self, spec: JobSpec) -> list[Finding]:
        engine = self._controller.policy.queue(spec.queue).engine
        return tools_findings(spec, self._controller.context.engines.status(engine))

    def _group(self, spec: JobSpec, who: Principal) -> list[Finding]:
        if spec.login:
            return []
        if spec.group is None and len(who.groups) > 1:
            # Guessing could charge the job to the wrong group's quota.
            return [
                Finding(
                    ("group",),
                    NO_VALUE,
                    Text(
                        "you are in several groups, so say which one this job counts for "
                        f"(--group): {', '.join(sorted(who.groups))}",
                        "你在多个组中，请说明此任务计入哪个组（--group）："
                        f"{'、'.join(sorted(who.groups))}",
                    ),
                )
            ]
        if spec.group is None or rules.submits_for(who, spec.group):
            return []
        en = f"yours: {', '.join(sorted(who.groups))}" if who.groups else "you are in none"
        zh = f"你的组：{'、'.join(sorted(who.groups))}" if who.groups else "你不在任何组中"
        return [
            Finding(
                ("group",), spec.group, Text(f"is not a group of yours; {en}", f"不是你的组；{zh}")
            )
        ]

    def _queue(self, spec: JobSpec) -> list[Finding]:
        policy = self._controller.policy
        known = sorted({DEFAULT_QUEUE, *policy.queues})
        if spec.queue in known:
            kinds = policy.queue(spec.queue).kinds
            return [] if not kinds or spec.kind in kinds else [_wrong_kind(spec, policy)]
        return [
            Finding(
                ("queue",),
                spec.queue,
                Text(
                    f"is not a queue here; there is: {', '.join(known)}",
                    f"不是这里的队列；现有：{'、'.join(known)}",
                ),
            )
        ]

    def _own_queues(self, spec: JobSpec) -> list[Finding]:
        """What an engine that places jobs itself could never run."""
        context = self._controller.context
        status = context.engines.status(self._controller.policy.queue(spec.queue).engine)
        needs = [(role.resources, role.count) for role in spec.roles]
        wrong = status.misfit(spec.queue, needs)
        return [] if wrong is None else [Finding((wrong.key,), wrong.value, wrong.message)]

    def _nodes(self, spec: JobSpec) -> list[Finding]:
        named = [*spec.nodes.only, *spec.nodes.exclude]
        if not named:
            return []
        known = [node.name for node in self._controller.context.ledger.nodes()]
        listed = ", ".join(known[:MOST_LISTED]) + (", ..." if len(known) > MOST_LISTED else "")
        return [
            Finding(
                ("nodes",),
                name,
                Text(f"is not a node here; there is: {listed}", f"不是这里的节点；现有：{listed}"),
            )
            for name in dict.fromkeys(named)
            if name not in known
        ]

    def _room(self, spec: JobSpec, who: Principal) -> list[Finding]:
        """Rejects a request that exceeds every node or its quota right away."""
        shapes = self._shapes(spec)
        nodes = self._controller.context.ledger.states()
        waiting = waiting_of(_row(spec, "", who.name, 0.0), spec, shapes)
        policy, quotas = self._controller.policy, self._controller.planner.quotas
        cause = never(nodes, policy, waiting, quotas)
        if cause is None:
            return []
        words = cause_words(cause)
        key, value = _too_much(cause)
        if cause.kind in _QUOTAS:
            words += _accepted(cause)
        elif key == "gpus":
            words += _over_several(apart(nodes, policy, waiting, quotas))
        return [Finding((key,), value, Text("- ", "- ") + words)]

    async def _check_disk(self, requests: Sequence[Submission]) -> None:
        context = self._controller.context
        for queue in dict.fromkeys(request.spec.queue for request in requests):
            full = await context.disks.check(context.engine_for(queue))
            if full is not None:
                raise StoreFull(full.message)


def _wrong_kind(spec: JobSpec, policy: Policy) -> Finding:
    kinds = sorted(policy.queue(spec.queue).kinds)
    names = sorted({DEFAULT_QUEUE, *policy.queues})
    others = [name for name in names if spec.kind in (policy.queue(name).kinds or {spec.kind})]
    takes = ", ".join(kinds)
    return Finding(
        ("queue",),
        spec.queue,
        Text(
            f"takes only jobs of kind {takes}, and this one is {spec.kind.value}; others: "
            f"{', '.join(others) or 'none'}",
            f"只接受 {takes} 类任务，而此任务为 {spec.kind.value}；其他队列："
            f"{'、'.join(others) or '无'}",
        ),
    )


def _images_of(spec: JobSpec) -> list[str]:
    return list(dict.fromkeys(role.image for role in spec.roles if role.image is not None))


def _count(requests: Sequence[Submission]) -> int:
    arrays = [each.spec.array for each in requests if each.spec.array is not None]
    return len(requests) - len(arrays) + sum(len(array.indexes) for array in arrays)


def _nobody_waits() -> Clash:
    message = Text(
        "The request was dropped: its connection was closed while it waited",
        "请求已放弃：等待期间连接已断开",
    )
    return Clash("dropped", message)


def _row(spec: JobSpec, job_id: str, owner: str, at: float) -> JobRow:
    return JobRow(
        id=job_id,
        owner=owner,
        name=spec.name,
        number=0,
        kind=spec.kind,
        state=State.QUEUED,
        spec={},
        queue=spec.queue,
        group=spec.group,
        priority=spec.priority,
        submitted_at=at,
        held=spec.held,
    )


def _rows(spec: JobSpec, job_id: str, owner: str, at: float) -> list[JobRow]:
    base = replace(_row(spec, job_id, owner, at), spec=to_values(spec))
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


def _over_several(parts: tuple[int, int] | None) -> Text:
    if parts is None:
        return EMPTY
    tasks, gpus = parts
    return Text(
        f". Over several nodes it fits: count {tasks}, gpus {gpus}",
        f"。分到多个节点可以放下：count {tasks}，gpus {gpus}",
    )


def _accepted(cause: Cause) -> Text:
    """What the quota would allow: a split counts as much as the whole."""
    limit = float(cause.numbers["limit"])
    raised = Text("an admin can raise the quota", "管理员可以调高配额")
    if not limit:
        return Text(f"; {raised.en}", f"；{raised.zh}")
    most = gib(int(limit)) if cause.numbers["what"] == "memory" else f"{limit:g}"
    return Text(
        f". Up to {most} in total would be accepted; {raised.en}",
        f"。合计不超过 {most} 即可接受；{raised.zh}",
    )


def _too_much(cause: Cause) -> tuple[str, object]:
    """The key and value that cannot be met."""
    numbers = cause.numbers
    if cause.kind in _QUOTAS:
        what = str(numbers["what"])
        need = numbers["need"]
        key = "gpus" if what == "model" else what
        return key, format_size(int(need)) if what == "memory" else f"{need:g}"
    if cause.kind is CauseKind.GUARANTEE:
        return "gpus", f"{numbers['need']:g}"
    if cause.kind in (CauseKind.MODEL_ABSENT, CauseKind.KIND_LIMITED):
        return "gpus", numbers["model"]
    if cause.kind is CauseKind.VOLUME_ABSENT:
        return "mounts", numbers["asked"]
    if cause.kind in (CauseKind.LABEL_ABSENT, CauseKind.NODES_NAMED):
        key = "gpus" if str(numbers["asked"]).startswith("gpus ") else "nodes"
        return key, numbers["asked"]
    for key, need in (("gpus", "gpus"), ("cpus", "cpus"), ("memory", "memory")):
        if float(numbers[need]) > float(numbers[f"largest_{need}"]):
            return key, format_size(int(numbers[need])) if key == "memory" else numbers[need]
    return "count", numbers["tasks"]


def element_id(first: str, place: int) -> str:
    """Derives element ids from the first one, so that a repeated submission yields the same."""
    head, tail = first[:-12], int(first[-12:], 16)
    return f"{head}{(tail + place) % (1 << 48):012x}"


def replace_queue(snapshot: Snapshot, queue: list[Waiting]) -> Snapshot:
    return replace(snapshot, waiting=queue)
