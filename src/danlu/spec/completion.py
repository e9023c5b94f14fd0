"""One pass that fills the gaps of a request and checks contradictions and limits."""

from __future__ import annotations

import re
from collections.abc import Mapping

from danlu.spec.commands import command_of, no_command, tool_findings
from danlu.spec.defaults import Defaults
from danlu.spec.errors import NO_VALUE, Finding, Path
from danlu.spec.job import (
    ANY_NODE,
    NO_FILES,
    Command,
    GpuRequest,
    JobSpec,
    Kind,
    Processes,
    Resources,
    Role,
    Stdin,
    Variables,
)
from danlu.spec.names import default_name
from danlu.spec.request import ROLE_KEYS, JobRequest, RoleRequest
from danlu.spec.text import Text
from danlu.spec.units import format_duration, format_size

SINGLE_ROLE = "main"
"""The role of a job that names none."""

QUEUE = "default"
GRACE = 10.0
"""What an environment runs that names no command."""

MOST_ROLES = 100

SHARED_KEYS = frozenset({"image", "env", "secrets", "mounts", "workdir"})
"""Keys that may be set next to `roles` and then apply to all of them."""

ROLE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}", re.ASCII)
_NO_GPUS = GpuRequest()


def bad_role_name(name: str) -> Finding:
    return Finding(
        ("roles", name),
        NO_VALUE,
        Text(
            "is not a valid role name; use a letter, then letters, digits or '_', up to 32",
            "不是角色名；请以字母开头，后接字母、数字或 '_'，最多 32 个字符",
        ),
    )


class Completion:
    """One pass over a request. `bad` are keys already reported, so that nothing is reported
    twice.
    """

    def __init__(
        self, request: JobRequest, defaults: Defaults, bad: frozenset[Path] = frozenset()
    ) -> None:
        self.request = request
        self.defaults = defaults
        self.bad = bad
        self.findings: list[Finding] = []

    def add(self, path: Path, value: object, message: Text) -> None:
        self.findings.append(Finding(path, value, message))

    def spec(self) -> JobSpec | None:
        request = self.request
        roles = self.roles()
        self.check_job(roles)
        if not roles or self.findings:
            return None
        first = roles[0]
        kind = request.kind or Kind.TRAIN
        return JobSpec(
            name=request.name or default_name(first.command),
            kind=kind,
            roles=roles,
            queue=request.queue or self.defaults.queue(kind),
            group=request.group,
            priority=request.priority or 0,
            time_limit=request.time_limit or self.defaults.limited_time(kind),
            idle_limit=self.idle_limit(kind),
            retries=request.retries or 0,
            grace=GRACE if request.grace is None else request.grace,
            after=request.after or (),
            array=request.array,
            stdin=request.stdin or Stdin.NONE,
            split_output=bool(request.split_output),
            log_cap=request.log_cap,
            held=bool(request.held),
            variables=request.variables or Variables.DANLU,
            search=request.search,
            files=request.files or NO_FILES,
            nodes=request.nodes or ANY_NODE,
            preemptible=bool(request.preemptible),
            bundle=request.bundle,
            datasets=request.datasets or (),
        )

    def check_job(self, roles: tuple[Role, ...]) -> None:
        request, defaults = self.request, self.defaults
        tasks = sum(role.count for role in roles)
        if tasks > defaults.max_tasks:
            path: Path = ("roles",) if request.roles else ("count",)
            most = defaults.max_tasks
            self.add(
                path,
                tasks,
                Text(f"tasks exceed the limit of {most} per job", f"个任务实例超过上限（{most}）"),
            )
        if request.array is not None and len(request.array.indexes) > defaults.max_array:
            most = defaults.max_array
            self.add(
                ("array",),
                len(request.array.indexes),
                Text(
                    f"elements exceed the limit of {most} per array; use several arrays",
                    f"个元素超过数组上限（{most}）；请分成几个数组",
                ),
            )
        limit = defaults.max_time_limit
        if request.time_limit is not None and limit is not None and request.time_limit > limit:
            self.above(("time_limit",), format_duration(request.time_limit), format_duration(limit))
        idle = request.idle_limit
        limited = request.kind is Kind.ENVIRONMENT
        longest = defaults.environment.max_idle_limit if limited else None
        if idle is not None and longest is not None and not 0 < idle <= longest:
            self.above(("idle_limit",), format_duration(idle), format_duration(longest))
        cap = defaults.max_log_cap
        if request.log_cap is not None and request.log_cap > cap:
            self.above(("log_cap",), format_size(request.log_cap), format_size(cap))

    def idle_limit(self, kind: Kind) -> float | None:
        asked = self.request.idle_limit
        return self.defaults.limited_idle(kind) if asked is None else asked or None

    def above(self, path: Path, value: object, most: str) -> None:
        self.add(
            path,
            value,
            Text(f"exceeds the limit here; at most {most}", f"超过此处的上限；最多 {most}"),
        )

    def roles(self) -> tuple[Role, ...]:
        request = self.request
        if request.roles is None:
            # Unreadable `roles` have been reported; the rest cannot be checked without them.
            if ("roles",) in self.bad:
                return ()
            role = self.role(SINGLE_ROLE, request, ())
            return (role,) if role else ()
        self.check_beside_roles()
        self.check_role_names(request.roles)
        roles = [
            self.role(name, self.inherited(role), ("roles", name))
            for name, role in list(request.roles.items())[:MOST_ROLES]
        ]
        return tuple(role for role in roles if role is not None)

    def check_beside_roles(self) -> None:
        for key in ROLE_KEYS:
            if key not in SHARED_KEYS and getattr(self.request, key) is not None:
                self.add(
                    (key,),
                    NO_VALUE,
                    Text(
                        "cannot be used next to roles; move it into a role, e.g. "
                        f"roles.worker.{key}",
                        f"不能与 roles 并列；请写在角色里，例如 roles.worker.{key}",
                    ),
                )

    def check_role_names(self, roles: Mapping[str, RoleRequest]) -> None:
        told = any(path[0] == "roles" for path in self.bad)
        if len(roles) > MOST_ROLES or (not roles and not told):
            self.add(
                ("roles",),
                NO_VALUE,
                Text(
                    f"must have 1 to {MOST_ROLES} roles",
                    f"没有角色或角色过多；请写 1 到 {MOST_ROLES} 个",
                ),
            )
        seen: set[str] = set()
        for name in list(roles)[:MOST_ROLES]:
            if not ROLE_NAME.fullmatch(name):
                self.findings.append(bad_role_name(name))
            elif name.lower() in seen:
                self.add(
                    ("roles", name),
                    NO_VALUE,
                    Text(
                        "differs from another role only in case; choose another name",
                        "与另一角色只有大小写不同；请换一个名称",
                    ),
                )
            seen.add(name.lower())

    def inherited(self, role: RoleRequest) -> RoleRequest:
        """Merges top-level keys; the role's own values win."""
        top = self.request
        mounts = {mount.path: mount for mount in (*(top.mounts or ()), *(role.mounts or ()))}
        secrets = {
            name: secret
            for name, secret in (top.secrets or {}).items()
            if name not in (role.env or {})
        }
        env = {
            name: text for name, text in (top.env or {}).items() if name not in (role.secrets or {})
        }
        return role.model_copy(
            update={
                "image": role.image or top.image,
                "workdir": role.workdir or top.workdir,
                "env": env | (role.env or {}),
                "secrets": secrets | (role.secrets or {}),
                "mounts": tuple(mounts.values()),
            }
        )

    def role(self, name: str, request: RoleRequest, path: Path) -> Role | None:
        command = self.command(request, path)
        resources = self.resources(request, path)
        env, secrets = request.env or {}, request.secrets or {}
        for both in env.keys() & secrets.keys():
            self.add(
                (*path, "secrets", both),
                NO_VALUE,
                Text(
                    "is set in both env and secrets; keep one",
                    "同时由 env 和 secrets 设置；请只保留一个",
                ),
            )
        gpus = resources.gpus
        whole = gpus.count > 0 and gpus.fraction is None
        per_gpu = request.processes is Processes.PER_GPU
        if per_gpu and not whole and (*path, "gpus") not in self.bad:
            self.add(
                (*path, "processes"),
                "per_gpu",
                Text(
                    "needs whole GPUs; use gpus: 1 or more, or write one",
                    "需要整卡；请申请 gpus: 1 或更多，或写 one",
                ),
            )
        if command is None:
            return None
        self.findings.extend(tool_findings(command, request, self.request.files, path))
        return Role(
            name=name,
            count=request.count or 1,
            command=command,
            resources=resources,
            image=request.image,
            env=env,
            secrets=secrets,
            mounts=request.mounts or (),
            ports=request.ports or {},
            workdir=request.workdir,
            processes=request.processes or Processes.ONE,
            min_failed=1 if request.min_failed is None else request.min_failed,
            min_succeeded=request.min_succeeded or 0,
        )

    def command(self, request: RoleRequest, path: Path) -> Command | None:
        command, findings = command_of(request, path, self.request.kind)
        self.findings.extend(findings)
        if command is not None or findings:
            return command
        # A misspelt or invalid command has been reported already.
        if not any(len(bad) == len(path) + 1 and bad[: len(path)] == path for bad in self.bad):
            self.findings.append(no_command(path))
        return None

    def resources(self, request: RoleRequest, path: Path) -> Resources:
        defaults = self.defaults
        gpus = request.gpus or _NO_GPUS
        if defaults.max_gpus is not None and gpus.count > defaults.max_gpus:
            self.above((*path, "gpus"), gpus.count, str(defaults.max_gpus))
        cpus = request.cpus
        if cpus is None:
            cpus = defaults.cpus(gpus)
        elif defaults.max_cpus is not None and cpus > defaults.max_cpus:
            self.above((*path, "cpus"), cpus, f"{defaults.max_cpus:g}")
        memory, shm = request.memory, request.shm
        if memory is None:
            memory = defaults.memory(cpus, shm)
        if defaults.max_memory is not None and memory > defaults.max_memory:
            key = "shm" if request.memory is None else "memory"
            self.above((*path, key), format_size(memory), format_size(defaults.max_memory))
        if shm is None:
            shm = defaults.shm(memory)
        elif shm > memory:
            self.add(
                (*path, "shm"),
                format_size(shm),
                Text(
                    f"exceeds memory ({format_size(memory)}), of which it is a part; ask for more "
                    "memory or less shm",
                    f"超过内存（{format_size(memory)}），而共享内存是其中一部分；"
                    "请增加 memory 或减小 shm",
                ),
            )
        return Resources(gpus, cpus, memory, shm)
