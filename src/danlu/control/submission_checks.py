"""What a job is checked for at submission, against this installation: groups, volumes, secrets,
images, queues, nodes and quotas.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from danlu.access import rules
from danlu.access.principal import Principal
from danlu.control import own_images
from danlu.control.context import now
from danlu.control.controller import Controller
from danlu.control.launches import secret_names
from danlu.control.live_job import shapes_of, waiting_of
from danlu.control.new_rows import new_row
from danlu.control.tools import tools_findings
from danlu.engines.api import Images
from danlu.sched.api import DEFAULT_QUEUE, Cause, CauseKind, Policy, TaskShape
from danlu.sched.explain.never import apart, never
from danlu.sched.explain.words import cause_words, gib
from danlu.spec.errors import NO_VALUE, Finding, spec_error
from danlu.spec.job import JobSpec
from danlu.spec.text import EMPTY, Text
from danlu.spec.units import format_size
from danlu.store import bundles
from danlu.store.secrets import list_secrets

MOST_LISTED = 20
_QUOTAS = (CauseKind.QUOTA_USER, CauseKind.QUOTA_GROUP)


class SubmissionChecks:
    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._context = controller.context

    async def check(
        self, spec: JobSpec, who: Principal, number: int, of: int, brought: Collection[str]
    ) -> tuple[TaskShape, ...]:
        """The shapes of its tasks. Raises SpecError. `number` and `of`: its place in a file;
        `brought`: names of secrets that come with it.
        """
        findings = [
            *self._group(spec, who),
            *await self._volumes(spec, who.name),
            *await self._secrets(spec, who.name, brought),
            *await self._bundle(spec, who.name),
            *self._images(spec),
            *await self._image_rights(spec, who),
            *await own_images.findings(self._context.own_images, who, _images_of(spec)),
            *self._tools(spec),
            *self._queue(spec),
            *self._nodes(spec),
            *self._own_queues(spec),
        ]
        shapes: tuple[TaskShape, ...] = ()
        if not findings:  # which it would only repeat
            shapes = self.shapes(spec)
            findings = self._room(spec, who, shapes)
        if findings:
            raise spec_error(findings, job=number if of > 1 else None)
        return shapes

    def check_edited(self, spec: JobSpec, owner: Principal) -> None:
        """Checks what an edit can change: whether the job can still run here, within its quotas."""
        findings = [
            *self._images(spec),
            *self._tools(spec),
            *self._queue(spec),
            *self._nodes(spec),
            *self._own_queues(spec),
        ]
        findings = findings or self._room(spec, owner, self.shapes(spec))
        if findings:
            raise spec_error(findings)

    def shapes(self, spec: JobSpec) -> tuple[TaskShape, ...]:
        return shapes_of(spec, self._context.volumes.limited, self._context.datasets)

    async def _volumes(self, spec: JobSpec, owner: str) -> list[Finding]:
        asked = any(role.mounts or role.workdir for role in spec.roles)
        if not asked and not spec.datasets:
            return []
        context = self._context
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
        known = await self._context.store.read(lambda tx: list_secrets(tx, owner))
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
        id, at, carry = spec.bundle.id, now(), self._context.settings.carry
        if await self._context.store.write(lambda tx: bundles.used(tx, owner, id, at)):
            return []
        days = int(carry.keep // 86400)
        return [
            Finding(
                ("bundle",),
                id[:12],
                Text(
                    "is not a folder you brought along, or was last used more than "
                    f"{days} days ago; run it again with --carry",
                    f"不是你上传的目录，或已超过 {days} 天未使用；请用 --carry 重新提交",
                ),
            )
        ]

    def _images(self, spec: JobSpec) -> list[Finding]:
        images = _images_of(spec)
        if not images:
            return []
        context = self._context
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
        may_use = self._context.may_use_image
        images = _images_of(spec)
        if may_use is None or not images:
            return []
        own = self._context.own_images
        some = [each for each in images if own is None or own.repository(each) is None]
        found = [(image, await may_use(who, image)) for image in some]
        return [Finding(("image",), image, why) for image, why in found if why is not None]

    def _tools(self, spec: JobSpec) -> list[Finding]:
        engine = self._controller.policy.queue(spec.queue).engine
        return tools_findings(spec, self._context.engines.status(engine))

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
        en = f"yours: {', '.join(sorted(who.groups))}" if who.groups else "you are in no group"
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
                    f"is not a queue here; available: {', '.join(known)}",
                    f"不是这里的队列；现有：{'、'.join(known)}",
                ),
            )
        ]

    def _own_queues(self, spec: JobSpec) -> list[Finding]:
        """What an engine that places jobs itself could never run."""
        context = self._context
        status = context.engines.status(self._controller.policy.queue(spec.queue).engine)
        needs = [(role.resources, role.count) for role in spec.roles]
        wrong = status.misfit(spec.queue, needs)
        return [] if wrong is None else [Finding((wrong.key,), wrong.value, wrong.message)]

    def _nodes(self, spec: JobSpec) -> list[Finding]:
        named = [*spec.nodes.only, *spec.nodes.exclude]
        if not named:
            return []
        known = [node.name for node in self._context.ledger.nodes()]
        listed = ", ".join(known[:MOST_LISTED]) + (", ..." if len(known) > MOST_LISTED else "")
        return [
            Finding(
                ("nodes",),
                name,
                Text(f"is not a node here; available: {listed}", f"不是这里的节点；现有：{listed}"),
            )
            for name in dict.fromkeys(named)
            if name not in known
        ]

    def _room(self, spec: JobSpec, who: Principal, shapes: tuple[TaskShape, ...]) -> list[Finding]:
        """Rejects a request that exceeds every node or its quota right away."""
        nodes = self._context.ledger.states()
        waiting = waiting_of(new_row(spec, "", who.name, 0.0), spec, shapes)
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


def checked_part(spec: JobSpec) -> JobSpec:
    """Jobs with the same one pass or fail together: those of a sweep differ in what they run."""
    roles = tuple(
        replace(role, env={}, command=replace(role.command, words=())) for role in spec.roles
    )
    return replace(spec, name="", roles=roles)


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
