"""DLC params files (`key=value` lines) and flags, of both generations.

A job given by flags is passed as a JSON object with the same keys, because a flag's value, such as
a multi-line `--command`, may not fit on a line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from danlu.spec.defaults import Defaults
from danlu.spec.dialects.dlc_command import read_command
from danlu.spec.dialects.dlc_data import Data
from danlu.spec.dialects.dlc_keys import KNOWN, NOTED, WATCHED, read_pairs
from danlu.spec.dialects.dlc_machines import Machine, machine_of
from danlu.spec.dialects.dlc_roles import COUNTS, KINDS, RESOURCES, ROLES
from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.keys import Keys
from danlu.spec.dialects.language import Converted, Dialect, Options, Site
from danlu.spec.dialects.node_names import put_nodes
from danlu.spec.dialects.openpai import read_model
from danlu.spec.dialects.recognise import COMMAND
from danlu.spec.errors import Path, wrong
from danlu.spec.fields import integer, read_number
from danlu.spec.forms import read_env
from danlu.spec.request import MOST_RETRIES
from danlu.spec.text import Text
from danlu.spec.units import parse_size

_RESTARTS = re.compile(r"--max-num-of-job-restart[= ]+(\d{1,6})\b", re.ASCII)
_count = integer(0, 100_000)
_priority = integer(0, 9)  # 0 appears in older files: below all others
_minutes = integer(0, 5_000_000)


def read(text: str, options: Options, site: Site, defaults: Defaults) -> Converted:
    command = not text.lstrip().startswith("{") and COMMAND.search(text) is not None
    raw, more = read_command(text) if command else (read_pairs(text), False)
    draft = Draft(lambda path: raw.line_of(path) or 1)
    if more:
        draft.note(
            (),
            Text(
                "Only the dlc command is read, with the plain variables the script sets; the rest "
                "of the script is not run",
                "只读取 dlc 命令（代入脚本中直接赋值的变量）；其他内容不运行",
            ),
        )
    _Job(draft, raw.values, site).build()
    submission = draft.finish(options.values, options.offers, defaults)
    return Converted(Dialect.DLC, (submission,), tuple(draft.notes))


class _Job:
    def __init__(self, draft: Draft, values: Mapping[str, Any], site: Site) -> None:
        self.draft = draft
        self.keys = Keys(draft, values)
        self.site = site
        self.command = ""

    def build(self) -> None:
        draft, keys = self.draft, self.keys
        draft.put(("variables",), "dlc", ())
        if keys.required("name", Text("give the job a name", "请给任务起名")):
            name = keys.text("name")
            if name:
                draft.name(name, ("name",))
        kind = self._kind()
        self._command()
        self._queue()
        self._limits()
        env = keys.text("envs")
        if env:
            values = draft.read(_assignments, env, ("envs",))
            if values:
                draft.put(("env",), values, ("envs",))
        roles = self._roles(kind)
        self._nodes()
        self._success(kind, roles)
        for key, message in NOTED.items():
            keys.note(key, message)
        keys.refuse_rest(KNOWN)

    def _kind(self) -> str:
        text = self.keys.line("kind")
        if text is None:
            return ""
        known = KINDS.get(text.strip().lower())
        if known is None:
            every = ", ".join(KINDS.values())
            self.draft.refuse(
                ("kind",), text, Text(f"is not one of: {every}", f"不是以下之一：{every}")
            )
        return known or ""

    def _command(self) -> None:
        draft, keys = self.draft, self.keys
        data = Data(draft, keys, self.site)
        data.add_mounts()
        if not keys.required("command", Text("write what to run", "请写要运行的命令")):
            return
        command = keys.text("command")
        if command is not None:
            self.command = "\n".join([*data.before(), command])

    def _queue(self) -> None:
        draft, keys = self.draft, self.keys
        workspace = (keys.text("workspace_id") or "").strip()
        if workspace.lower() == "default":
            draft.note(
                ("workspace_id",),
                Text(
                    "personal workspace: the job counts against no group",
                    "个人工作空间：任务不计入任何组",
                ),
            )
        elif workspace:
            draft.put(("group",), workspace, ("workspace_id",))
            draft.note(
                ("workspace_id",),
                Text(
                    f"a workspace is a group here: {workspace}",
                    f"工作空间在这里就是组：{workspace}",
                ),
            )
        resource = (keys.text("resource_id") or "").strip()
        if resource:
            draft.put(("queue",), resource, ("resource_id",))
            draft.note(
                ("resource_id",),
                Text(
                    f"a resource group is a queue here: {resource}",
                    f"资源组在这里就是队列：{resource}",
                ),
            )
        priority = keys.read("priority", _priority)
        if priority is not None:
            draft.put(("priority",), priority, ("priority",))

    def _limits(self) -> None:
        draft, keys = self.draft, self.keys
        minutes = keys.read("job_max_running_time_minutes", _minutes)
        if minutes:
            draft.put(("time_limit",), f"{minutes}m", ("job_max_running_time_minutes",))
        if keys.flag("enable_preemptible_job"):
            draft.put(("preemptible",), True, ("enable_preemptible_job",))
            draft.note(
                ("enable_preemptible_job",),
                Text(
                    "the job may be preempted: ended and queued again if others need its GPUs",
                    "他人需要卡时，任务可能被结束并重新排队",
                ),
            )
        self._restarts()
        if keys.flag("interactive"):
            draft.note(
                ("interactive",),
                Text(
                    "the job is queued as usual; follow it with danlu logs -f JOB, enter it with "
                    "danlu exec JOB -- bash",
                    "任务照常排队；danlu logs -f 任务 查看输出，danlu exec 任务 -- bash 进入任务",
                ),
            )

    def _restarts(self) -> None:
        """AIMaster watches a job and starts it again: that many retries."""
        args = self.keys.text("aimaster_args")
        if args is None:
            return
        key = ("aimaster_args",)
        match = _RESTARTS.search(args)
        if match is None:
            self.draft.note(key, WATCHED)
            return
        retries = min(int(match[1]), MOST_RETRIES)
        self.draft.put(("retries",), retries, key)
        self.draft.note(
            key,
            Text(
                f"a job that fails is started again up to {retries} times (retries); the platform "
                "does the rest of AIMaster's work itself",
                f"任务失败后最多重新运行 {retries} 次（retries）；"
                "AIMaster 的其他工作由平台自己完成",
            ),
        )

    def _roles(self, kind: str) -> dict[str, int]:
        draft = self.draft
        counts: dict[str, int] = {}
        for role in ROLES:
            count = self._count(role)
            if count:
                counts[role] = count
        if not counts:
            draft.missing(
                ("workers",), Text("set a count, e.g. workers=1 or worker_count=1", "请写数量")
            )
        for role, count in counts.items():
            self._role(role, count, counts)
        for role in ROLES:
            if role not in counts:
                self._unused(role)
        return counts

    def _nodes(self) -> None:
        names = self.keys.text("node_names")
        if names and names.strip():
            put_nodes(self.draft, "only", names, self.site, ("node_names",))

    def _count(self, role: str) -> int:
        found: int | None = None
        for key in COUNTS[role]:
            value = self.keys.raw(key)
            if value is None:
                continue
            word = str(value).strip().lower()
            if role == "chief" and word in ("true", "false"):
                found = int(word == "true")
            else:
                found = self.draft.read(_count, str(value).strip(), (key,))
        if found is None and role == "worker" and self._asks(role):
            self.draft.note(
                ("worker_image",),
                Text("no count is set: using one worker", "没有写数量：一个 worker"),
            )
            return 1
        return found or 0

    def _asks(self, role: str) -> bool:
        return any(self.keys.has(f"{role}_{what}") for what in RESOURCES)

    def _unused(self, role: str) -> None:
        for what in RESOURCES:
            key = f"{role}_{what}"
            if self.keys.has(key):
                self.draft.note((key,), Text(f"this job has no {role}", f"这个任务没有 {role}"))
            self.keys.raw(key)

    def _role(self, name: str, count: int, counts: Mapping[str, int]) -> None:
        draft = self.draft
        role: Path = ("roles", name)
        if count != 1:
            draft.put((*role, "count"), count, (self._count_key(name),))
        if self.command:
            draft.put((*role, "command"), self.command, ("command",))
        image = self._inherited(name, "image", counts)
        if image:
            draft.put((*role, "image"), image[0].strip(), (image[1],))
        else:
            draft.missing((f"{name}_image",), Text("write the container image", "请写容器镜像"))
        self._resources(role, name, counts)

    def _count_key(self, role: str) -> str:
        return next((key for key in COUNTS[role] if self.keys.has(key)), COUNTS[role][0])

    def _inherited(self, role: str, what: str, counts: Mapping[str, int]) -> tuple[str, str] | None:
        """A role's value; a leading role defaults to that of the workers."""
        for owner in (role, "worker"):
            key = f"{owner}_{what}"
            value = self.keys.text(key)
            if value is None or not value.strip():
                continue
            if owner != role and what == "image":
                self.draft.note(
                    (f"{role}_image",),
                    Text(
                        f"is not set: {role} is like worker, including its resources",
                        f"没有写：{role} 与 worker 相同，资源也相同",
                    ),
                )
            return value, key
        return None

    def _resources(self, role: Path, name: str, counts: Mapping[str, int]) -> None:
        draft = self.draft
        own = name if any(self.keys.has(f"{name}_{w}") for w in RESOURCES[1:]) else "worker"
        spec = (self.keys.line(f"{own}_spec") or "").strip()
        machine = machine_of(spec) if spec else None
        if spec and machine is None and not self.keys.has(f"{own}_cpu"):
            draft.refuse(
                (f"{own}_spec",),
                spec,
                Text(
                    f"is an unknown cloud instance type; use {own}_cpu, {own}_gpu and {own}_memory "
                    "instead",
                    f"是未知的云上实例规格；请改写 {own}_cpu、{own}_gpu、{own}_memory",
                ),
            )
        elif spec:
            draft.note(
                (f"{own}_spec",),
                _machine_words(machine),
            )
        cpus = self.keys.read(f"{own}_cpu", _cpus)
        if cpus or machine:
            draft.put((*role, "cpus"), cpus or (machine and machine.cpus), (f"{own}_cpu",))
        self._gpus(role, own, machine.gpus if machine else 0, machine.model if machine else None)
        memory = self.keys.read(f"{own}_memory", read_gib)
        if memory is None and machine is not None and machine.memory_gib:
            memory = machine.memory_gib << 30
        if memory:
            draft.put((*role, "memory"), memory, (f"{own}_memory",))
        shm = self.keys.read(f"{own}_shared_memory", read_gib)
        if shm:
            if memory and shm > memory:
                # DLC counts shared memory in addition to memory, Danlu as part of it.
                draft.put((*role, "memory"), memory + shm, (f"{own}_memory",))
                draft.note(
                    (f"{own}_shared_memory",),
                    Text(
                        "is part of the memory here, so memory is increased by it",
                        "在这里是内存的一部分，因此内存相应增加",
                    ),
                )
            draft.put((*role, "shm"), shm, (f"{own}_shared_memory",))

    def _gpus(self, role: Path, own: str, count: int, model: str | None) -> None:
        draft = self.draft
        given = self.keys.read(f"{own}_gpu", _gpus)
        count = count if given is None else given
        text = (self.keys.text(f"{own}_gpu_type") or "").strip()
        if text:
            model = draft.read(read_model, text, (f"{own}_gpu_type",))
        if count and model:
            draft.put((*role, "gpus"), {"count": count, "model": model}, (f"{own}_gpu",))
        elif count:
            draft.put((*role, "gpus"), count, (f"{own}_gpu",))

    def _success(self, kind: str, counts: Mapping[str, int]) -> None:
        """When the job is complete although some of its roles (parameter servers) never end."""
        draft = self.draft
        policy = (self.keys.text("success_policy") or "").strip()
        if policy and policy not in ("ChiefWorker", "AllWorkers"):
            draft.refuse(
                ("success_policy",),
                policy,
                Text(
                    "is not one of: ChiefWorker, AllWorkers",
                    "不是以下之一：ChiefWorker、AllWorkers",
                ),
            )
            return
        leader = next((role for role in ("chief", "master", "head") if role in counts), None)
        if policy == "ChiefWorker" and leader:
            draft.put(("roles", leader, "min_succeeded"), 1, ("success_policy",))
        elif policy == "ChiefWorker" and "worker" in counts:
            draft.put(("roles", "worker", "min_succeeded"), 1, ("success_policy",))
            draft.note(
                ("success_policy",),
                Text(
                    "there is no chief: the first worker to succeed completes the job",
                    "没有 chief：第一个成功的 worker 结束任务",
                ),
            )
        elif {"ps", "graphlearn"} & counts.keys():
            # Parameter servers never end by themselves: the leader, or all workers, decide.
            role = leader or "worker"
            if role in counts:
                draft.put(("roles", role, "min_succeeded"), counts[role], ("success_policy",))
                draft.note(
                    ("success_policy",) if policy else (),
                    Text(
                        f"the job succeeds when every {role} has; the others are then stopped",
                        f"所有 {role} 成功后任务即成功，其余随之停止",
                    ),
                )


def _machine_words(machine: Machine | None) -> Text:
    if machine is None:
        return Text("is not used: CPUs, GPUs and memory are set", "不使用：已写明 CPU、GPU 和内存")
    if machine.memory_gib is None:
        return Text(
            f"is read as {machine.cpus} CPUs and {machine.gpus} GPUs",
            f"按 {machine.cpus} 个 CPU、{machine.gpus} 张 GPU 申请",
        )
    return Text(
        f"is read as {machine.cpus} CPUs, {machine.memory_gib} GiB and {machine.gpus} GPUs",
        f"按 {machine.cpus} 个 CPU、{machine.memory_gib} GiB 内存、{machine.gpus} 张 GPU 申请",
    )


def _cpus(value: object) -> float:
    number = read_number(value.strip() if isinstance(value, str) else value)
    if number is None or not 0.01 <= number <= 100_000:
        raise wrong(value, Text("is not a number of CPUs", "不是 CPU 数量"))
    return number


def _gpus(value: object) -> int:
    return integer(0, 4096)(value.strip() if isinstance(value, str) else value)


def read_gib(value: object) -> int:
    """A bare number is GiB; 4Gi, 4G, 512Mi have their own unit."""
    text = str(value).strip()
    if not text:
        raise wrong(value, Text("is empty", "为空"))
    if read_number(text) is not None:
        text += "G"
    try:
        return parse_size(text[:-1] if text[-1:] in "iI" else text)
    except ValueError:
        raise wrong(
            value,
            Text(
                "is not a size; use GiB, e.g. 4, or 4Gi, 512Mi",
                "不是大小；请写 GiB 数，例如 4，或 4Gi、512Mi",
            ),
        ) from None


def _assignments(text: str) -> dict[str, str]:
    """`a=1,b=2`; a part without '=' belongs to the preceding value."""
    found: dict[str, str] = {}
    last = ""
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if equals and re.fullmatch(r"\s*[A-Za-z_]\w*\s*", name, re.ASCII):
            last = name.strip()
            found[last] = value
        elif last:
            found[last] += f",{part}"
        elif part.strip():
            raise wrong(part, Text("is not name=value", "不是 name=value 的形式"))
    return read_env(found)
