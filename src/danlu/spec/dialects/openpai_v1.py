"""OpenPAI v1: JSON jobs, as accepted by older OpenPAI portals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from danlu.spec.complete import Submission
from danlu.spec.defaults import Defaults
from danlu.spec.dialects import openpai, openpai_volumes
from danlu.spec.dialects.draft import Draft, Note
from danlu.spec.dialects.keys import Keys, as_mapping
from danlu.spec.dialects.language import Converted, Dialect, Options, Site
from danlu.spec.dialects.source import draft_of, read_json
from danlu.spec.errors import NO_VALUE, Path, wrong
from danlu.spec.fields import integer
from danlu.spec.forms import read_env
from danlu.spec.text import Text

_JOB_NAME = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)
_ROLE_NAME = re.compile(r"[A-Za-z0-9._~-]+", re.ASCII)
_DEBUG = "debug"
_FOLDERS = {
    "dataDir": "PAI_DATA_DIR",
    "outputDir": "PAI_OUTPUT_DIR",
    "codeDir": "PAI_CODE_DIR",
}
_completed = integer(1, 100_000)


def read(text: str, options: Options, site: Site, defaults: Defaults) -> Converted:
    jobs: list[Submission] = []
    notes: list[Note] = []
    for raw in read_json(text):
        draft = draft_of(raw)
        _Job(draft, raw.values, site).build()
        jobs.append(draft.finish(options.values, options.offers, defaults))
        notes.extend(draft.notes)
    return Converted(Dialect.OPENPAI_V1, tuple(jobs), tuple(notes))


class _Job:
    def __init__(self, draft: Draft, values: Mapping[str, Any], site: Site) -> None:
        self.draft = draft
        self.keys = Keys(draft, values)
        self.site = site
        self.env: dict[str, str] = {}
        self.mounts: dict[str, dict[str, Any]] = {}
        self.model: str | None = None

    def build(self) -> None:
        draft, keys = self.draft, self.keys
        draft.put(("variables",), "openpai", ())
        self._name()
        if keys.required("image", Text("write the container image", "请写容器镜像")):
            image = keys.line("image")
            if image is not None:
                draft.put(("image",), image.strip(), ("image",))
        self._folders()
        self._environment()
        self._gpu_type()
        cluster = keys.text("virtualCluster")
        if cluster and cluster.strip():
            draft.put(("queue",), cluster.strip(), ("virtualCluster",))
        openpai.retries(draft, keys.read("retryCount", openpai.RETRIES), ("retryCount",))
        keys.note(
            "killAllOnCompletedTaskNumber",
            Text(
                "is obsolete and has no effect; use minSucceededTaskCount of a role",
                "已废弃，不起作用；请用角色的 minSucceededTaskCount",
            ),
        )
        self._extras()
        for mount in openpai_volumes.read(draft, self.site, keys.items("volumes"), ("volumes",)):
            self.mounts[mount["path"]] = mount
        self._roles()
        if self.env:
            draft.put(("env",), self.env, ("jobEnvs",))
        if self.mounts:
            draft.put(("mounts",), list(self.mounts.values()), ())
        keys.note_rest()

    def _name(self) -> None:
        draft, keys = self.draft, self.keys
        if not keys.required("jobName", Text("give the job a name", "请给任务起名")):
            return
        name = keys.text("jobName")
        if name is None:
            return
        if not _JOB_NAME.fullmatch(name):
            draft.refuse(
                ("jobName",),
                name,
                Text(
                    "is not a valid job name; use letters, digits, '.', '_' and '-'",
                    "不是任务名；请用字母、数字、'.'、'_'、'-'",
                ),
            )
            return
        draft.name(name, ("jobName",))

    def _folders(self) -> None:
        draft = self.draft
        for key, variable in _FOLDERS.items():
            text = (self.keys.text(key) or "").strip()
            if not text:
                continue
            if openpai.is_hdfs(text):
                openpai.refuse_hdfs(draft, (key,), text)
                continue
            path, mount = openpai.folder(draft, self.site, text, (key,))
            if mount is not None:
                self.mounts[mount["path"]] = mount
            self.env[variable] = path
            draft.came_from(("env", variable), (key,))
            draft.note(
                (key,),
                Text(
                    f"is passed to the tasks as {variable}; nothing is copied",
                    f"作为 {variable} 交给任务；不复制文件",
                ),
            )
        auth = (self.keys.text("authFile") or "").strip()
        if auth and openpai.is_hdfs(auth):
            openpai.refuse_hdfs(draft, ("authFile",), auth)
        elif auth:
            draft.note(
                ("authFile",),
                Text(
                    "is not read; registries and their credentials are configured by the admin",
                    "不读取；镜像仓库及其登录由管理员统一设置",
                ),
            )

    def _environment(self) -> None:
        given = self.keys.read("jobEnvs", as_mapping)
        if given is None:
            return
        values = {name: "" if value is None else value for name, value in given.items()}
        env = self.draft.read(read_env, values, ("jobEnvs",))
        for name, value in (env or {}).items():
            self.env[name] = value
            self.draft.came_from(("env", name), ("jobEnvs", name))

    def _gpu_type(self) -> None:
        draft = self.draft
        text = (self.keys.text("gpuType") or "").strip()
        if not text:
            return
        if text.lower() == _DEBUG:
            draft.put(("kind",), "environment", ("gpuType",))
            draft.note(
                ("gpuType",),
                Text(
                    "debug: any GPU is used, and the job can be entered while it runs: danlu ssh "
                    "JOB",
                    "debug：任意型号的卡；运行时可以进入任务：danlu ssh 任务",
                ),
            )
            return
        self.model = draft.read(openpai.read_model, text, ("gpuType",))

    def _extras(self) -> None:
        extras = self.keys.read("extras", as_mapping)
        for key in extras or {}:
            self.draft.note(("extras", key), Text("has no effect here", "在这里不起作用"))

    def _roles(self) -> None:
        draft = self.draft
        roles = self.keys.raw("taskRoles")
        if not isinstance(roles, list) or not roles:
            draft.refuse(
                ("taskRoles",),
                NO_VALUE if roles is None else roles,
                Text(
                    "has no roles; write a list with at least one",
                    "没有角色；请写至少含一个角色的列表",
                ),
            )
            return
        draft.came_from(("roles",), ("taskRoles",))
        names: dict[str, str] = {}
        any_gpus = False
        for index, values in enumerate(roles):
            path: Path = ("taskRoles", index)
            if not isinstance(values, Mapping):
                draft.refuse(path, values, Text("is not a role", "不是角色"))
                continue
            role = _Role(draft, Keys(draft, values, path), self.model)
            name = role.build(names)
            if name is not None:
                names[name.lower()] = name
            any_gpus = any_gpus or role.gpus > 0
        if self.model and not any_gpus:
            draft.note(
                ("gpuType",),
                Text("has no effect, since no role asks for a GPU", "没有角色申请卡，不起作用"),
            )


class _Role:
    def __init__(self, draft: Draft, keys: Keys, model: str | None) -> None:
        self.draft = draft
        self.keys = keys
        self.model = model
        self.gpus = 0

    def build(self, taken: Mapping[str, str]) -> str | None:
        draft, keys, path = self.draft, self.keys, self.keys.path
        name = self._name(taken)
        # A role with an invalid name is still read, so that its other errors are reported.
        role: Path = ("roles", name or "r")
        count = keys.read("taskNumber", openpai.COUNT)
        if count is not None and count != 1:
            draft.put((*role, "count"), count, (*path, "taskNumber"))
        draft.put((*role, "cpus"), keys.read("cpuNumber", openpai.CPUS) or 1, (*path, "cpuNumber"))
        self._memory(role)
        self.gpus = keys.read("gpuNumber", openpai.GPUS) or 0
        openpai.gpus(draft, role, self.gpus, self.model, ((*path, "gpuNumber"), ("gpuType",)))
        self._ports(role)
        if keys.required("command", Text("write what to run", "请写要运行的命令")):
            command = keys.text("command")
            if command is not None:
                draft.put((*role, "command"), command, (*path, "command"))
        self._completion(role)
        keys.note_rest()
        return name

    def _name(self, taken: Mapping[str, str]) -> str | None:
        draft, keys, path = self.draft, self.keys, self.keys.path
        if not keys.required("name", Text("give the role a name", "请给角色起名")):
            return None
        name = keys.text("name")
        if name is None or not _ROLE_NAME.fullmatch(name):
            if name is not None:
                draft.refuse(
                    (*path, "name"),
                    name,
                    Text(
                        "is not a valid role name; use letters, digits, '.', '_' and '~'",
                        "不是角色名；请用字母、数字、'.'、'_'、'~'",
                    ),
                )
            return None
        plain = draft.role_name(name, (*path, "name"))
        if plain.lower() in taken:
            draft.refuse(
                (*path, "name"), name, Text("is also the name of another role", "与另一角色重名")
            )
            return None
        draft.came_from(("roles", plain), (*path, "name"))
        return plain

    def _memory(self, role: Path) -> None:
        draft, keys, path = self.draft, self.keys, self.keys.path
        memory = keys.read("memoryMB", openpai.MEGABYTES) or 100
        shm = keys.read("shmMB", openpai.SHARED)
        draft.put((*role, "memory"), f"{memory}M", (*path, "memoryMB"))
        if shm is not None and shm > memory:
            draft.refuse(
                (*path, "shmMB"),
                shm,
                Text(
                    f"exceeds memoryMB ({memory}), of which it is a part",
                    f"超过 memoryMB（{memory}），而共享内存是其中一部分",
                ),
            )
            return
        draft.put((*role, "shm"), f"{shm or min(64, memory)}M", (*path, "shmMB"))

    def _ports(self, role: Path) -> None:
        draft, path = self.draft, (*self.keys.path, "portList")
        ports = openpai.Ports(draft)
        for index, values in enumerate(self.keys.items("portList")):
            place = (*path, index)
            if not isinstance(values, Mapping):
                draft.refuse(place, values, Text("is not a port", "不是端口"))
                continue
            port = Keys(draft, values, place)
            label = (
                port.text("label")
                if port.required("label", Text("give it a name", "请命名"))
                else None
            )
            begin = port.read("beginAt", integer(0, 65_535))
            count = port.read("portNumber", openpai.AMOUNT_OF_PORTS)
            if begin:
                draft.note(
                    (*place, "beginAt"),
                    Text(
                        "port numbers are leased, so that jobs never clash; the task finds them "
                        "in its PAI_*_PORT variables",
                        "端口号由平台分配，避免冲突；任务从 PAI_*_PORT 变量得知",
                    ),
                )
            port.note_rest()
            if label and count != 0:
                ports.add(label, count or 1, (*place, "label"))
        draft.put((*role, "ports"), ports.with_always(), path)

    def _completion(self, role: Path) -> None:
        failed = self._count("minFailedTaskCount", 1)
        succeeded = self._count("minSucceededTaskCount", 0)
        path = self.keys.path
        openpai.completion(
            self.draft,
            role,
            (failed, (*path, "minFailedTaskCount")),
            (succeeded, (*path, "minSucceededTaskCount")),
        )

    def _count(self, key: str, absent: int) -> int:
        """null has a meaning: tasks never fail the job, or all must complete."""
        if key not in self.keys.values:
            return absent
        if self.keys.raw(key) is None:
            return 0
        return self.keys.read(key, _at_least_one) or absent


def _at_least_one(value: object) -> int:
    try:
        return _completed(value)
    except ValueError:
        raise wrong(
            value,
            Text("must be null or an integer of at least 1", "应为 null 或不小于 1 的整数"),
        ) from None
