"""One task role of an OpenPAI v2 job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from danlu.spec.dialects import openpai
from danlu.spec.dialects.keys import Keys, as_text_list
from danlu.spec.dialects.openpai_plugins import Plugins
from danlu.spec.dialects.openpai_text import References, secret_of
from danlu.spec.errors import NO_VALUE, Path
from danlu.spec.fields import integer
from danlu.spec.text import Text

if TYPE_CHECKING:
    from danlu.spec.dialects.openpai_v2 import Job

_ROLE_KEYS = (
    "instances",
    "completion",
    "taskRetryCount",
    "dockerImage",
    "data",
    "output",
    "script",
    "prerequisites",
    "extraContainerOptions",
    "resourcePerInstance",
    "commands",
    "entrypoint",
)
_completed = integer(-1, 100_000)
_retries = integer(0, 1_000_000)


class Role:
    def __init__(self, job: Job, name: str, values: Mapping[str, Any]) -> None:
        self.job = job
        self.draft = job.draft
        self.path: Path = ("taskRoles", name)
        self.keys = Keys(job.draft, values, self.path)
        self.name = name

    def build(self, plugins: Plugins, deployment: Any) -> None:
        draft, keys, path = self.draft, self.keys, self.path
        role: Path = ("roles", draft.role_name(self.name, path))
        draft.came_from(role, path)
        count = keys.read("instances", openpai.COUNT) or 1
        if count != 1:
            draft.put((*role, "count"), count, (*path, "instances"))
        self._completion(role, count)
        self._task_retries()
        self._image(role)
        around = plugins.around[self.name]
        self._resources(role, around.ports)
        self._mounts(role, around.volumes)
        self._commands(role, plugins, deployment)
        keys.raw("prerequisites")
        keys.refuse_rest(_ROLE_KEYS)

    def _completion(self, role: Path, count: int) -> None:
        path = (*self.path, "completion")
        keys = Keys(self.draft, self.keys.mapping("completion"), path)
        failed_key, succeeded_key = (self._either(keys, end) for end in ("Failed", "Succeeded"))
        failed = keys.read(failed_key, _completed)
        succeeded = keys.read(succeeded_key, _completed)
        keys.refuse_rest(("minFailedInstances", "minSucceededInstances"))
        openpai.completion(
            self.draft,
            role,
            (1 if failed is None else max(0, failed), (*path, failed_key)),
            (self._needed(succeeded, count), (*path, succeeded_key)),
        )

    def _either(self, keys: Keys, end: str) -> str:
        """The first version of this language counted tasks, like its predecessor."""
        new, old = f"min{end}Instances", f"min{end}TaskCount"
        if not keys.has(old) or keys.has(new):
            return new
        self.draft.note(
            (*keys.path, old), Text(f"is an older name for {new}", f"是 {new} 的旧名称")
        )
        return old

    def _needed(self, given: int | None, count: int) -> int:
        """A role that has succeeded as a whole completes the job; with one role that is implied."""
        needed = count if given is None else max(0, given)
        return 0 if needed == count and self.job.roles == 1 else needed

    def _task_retries(self) -> None:
        count = self.keys.read("taskRetryCount", _retries)
        if not count:
            return
        key = (*self.path, "taskRetryCount")
        if self.job.extras.gang:
            self.draft.refuse(
                key,
                count,
                Text(
                    "needs extras.gangAllocation: false; for a gang, use jobRetryCount to run the "
                    "whole job again",
                    "需要 extras.gangAllocation: false；整体调度时请用 jobRetryCount 重新运行整个"
                    "任务",
                ),
            )
            return
        self.job.task_retries = max(self.job.task_retries, count)
        self.draft.note(
            key,
            Text(
                "a failed task is retried together with all others: it becomes the job's retries",
                "失败的任务会和其余任务一起重试：改为整个任务的重试次数",
            ),
        )

    def _image(self, role: Path) -> None:
        keys, key = self.keys, (*self.path, "dockerImage")
        if not keys.required(
            "dockerImage",
            Text("name a prerequisite of type dockerimage", "请写 dockerimage 类型的前置项"),
        ):
            return
        name = keys.text("dockerImage")
        image = self.job.prerequisites.image(name, key) if name is not None else None
        if image is not None:
            self.draft.put((*role, "image"), image, key)

    def _resources(self, role: Path, more_ports: list[str]) -> None:
        draft, path = self.draft, (*self.path, "resourcePerInstance")
        options = Keys(
            draft,
            self.keys.mapping("extraContainerOptions"),
            (*self.path, "extraContainerOptions"),
        )
        shm = options.read("shmMB", openpai.SHARED)
        options.note(
            "infiniband",
            Text("tasks use the node's network directly", "任务直接使用节点的网络"),
        )
        options.refuse_rest(("shmMB", "infiniband"))
        if not self.keys.required(
            "resourcePerInstance", Text("set cpu, memoryMB and gpu", "请写资源")
        ):
            return
        keys = Keys(draft, self.keys.mapping("resourcePerInstance"), path)
        memory = 0
        if keys.required("cpu", Text("write a number", "请写数字")):
            draft.put((*role, "cpus"), keys.read("cpu", openpai.CPUS), (*path, "cpu"))
        if keys.required("memoryMB", Text("write a number", "请写数字")):
            memory = keys.read("memoryMB", openpai.MEGABYTES) or 0
            draft.put((*role, "memory"), f"{max(memory, 4)}M", (*path, "memoryMB"))
        if keys.required("gpu", Text("write 0 for none", "没有则写 0")):
            gpus = keys.read("gpu", openpai.GPUS) or 0
            model = self.job.extras.models.get(self.name)
            openpai.gpus(draft, role, gpus, model, ((*path, "gpu"), ("extras",)))
        draft.put((*role, "shm"), f"{shm or min(512, memory or 512)}M", (*options.path, "shmMB"))
        self._ports(role, keys, more_ports)
        keys.refuse_rest(("cpu", "memoryMB", "gpu", "ports"))

    def _ports(self, role: Path, keys: Keys, more: list[str]) -> None:
        ports = openpai.Ports(self.draft)
        path = (*keys.path, "ports")
        for label, count in keys.mapping("ports").items():
            amount = self.draft.read(openpai.AMOUNT_OF_PORTS, count, (*path, label))
            if amount:
                ports.add(label, amount, (*path, label))
            elif amount == 0:
                self.draft.note((*path, label), Text("no port is asked for", "没有申请端口"))
        for label in more:
            ports.add(label, 1, path)
        self.draft.put((*role, "ports"), ports.with_always(), path)

    def _mounts(self, role: Path, volumes: list[str]) -> None:
        mounts = {mount["path"]: mount for mount in self.job.extras.mounts}
        for name in volumes:
            mounts.setdefault(f"/mnt/{name}", {"volume": name, "path": f"/mnt/{name}"})
        if mounts:
            self.draft.put((*role, "mounts"), list(mounts.values()), ("extras",))

    def _commands(self, role: Path, plugins: Plugins, deployment: Any) -> None:
        draft, keys = self.draft, self.keys
        own = {
            kind: keys.text(kind) or ""
            for kind in ("script", "output", "data")
            if keys.values.get(kind) is not None
        }
        for kind, name in own.items():
            self.job.prerequisites.check(kind, name, (*self.path, kind))
        if not keys.required("commands", Text("write what to run", "请写要运行的命令")):
            keys.raw("entrypoint")
            return
        commands = keys.read("commands", as_text_list)
        if commands is None:
            return
        around = Keys(
            draft,
            deployment if isinstance(deployment, Mapping) else {},
            ("deployments", self.name),
        )
        lines = [
            *(around.read("preCommands", as_text_list) or []),
            *commands,
            *(around.read("postCommands", as_text_list) or []),
        ]
        references = References(
            self.job.parameters, self.job.secrets, self.job.prerequisites.things, own
        )
        text = references.render(plugins.around[self.name].wrap("\n".join(lines)))
        draft.put((*role, "command"), text, (*self.path, "commands"))
        self._secrets(role, references)
        for name in dict.fromkeys(references.unknown):
            draft.note(
                (*self.path, "commands"),
                Text(
                    f"<% ${name} %> does not refer to anything in this file and is kept as it is",
                    f"<% ${name} %> 在文件中没有对应内容，保持原样",
                ),
            )

    def _secrets(self, role: Path, references: References) -> None:
        """Secrets in the file become the user's stored secrets; the job only refers to them."""
        draft = self.draft
        chosen: dict[str, str] = {}
        for variable, key in references.used_secrets.items():
            value = secret_of(self.job.secrets, key)
            if not value:
                draft.refuse(("secrets", *key.split(".")), NO_VALUE, Text("is empty", "为空"))
                continue
            stem = re.sub(r"[^A-Za-z0-9_.-]", "_", f"{draft.get(('name',)) or 'job'}.{key}")
            name = f"pai.{stem}"[:64]
            if name not in self.job.kept_secrets:
                draft.note(
                    ("secrets", *key.split(".")),
                    Text(
                        f"is stored as your secret {name} and passed to the task as {variable}; a "
                        "converted file does not contain it: store it with danlu secret set",
                        f"保存为你的密钥 {name}，以变量 {variable} 交给任务；"
                        "转换后的文件不含其值：用 danlu secret set 保存",
                    ),
                )
            self.job.kept_secrets[name] = value
            chosen[variable] = name
        if chosen:
            draft.put((*role, "secrets"), chosen, ("secrets",))
