"""`environment` and `bind_mounts` of a Determined file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.keys import Keys
from danlu.spec.dialects.language import Site
from danlu.spec.errors import Path
from danlu.spec.fields import read_absolute, read_line, read_text
from danlu.spec.forms import read_env
from danlu.spec.text import EMPTY, Text

_OWN_TMP = Text(
    "; every task has its own /tmp without a mount", "；每个任务都有自己的 /tmp，无需挂载"
)

_NOTED: dict[str, Text] = {
    "force_pull_image": Text(
        "whether images are pulled again is a setting of the platform",
        "是否重新拉取镜像由平台设置",
    ),
    "registry_auth": Text(
        "is not used; registries and their credentials are configured by the admin",
        "不使用；镜像仓库及其登录由管理员统一设置",
    ),
    "proxy_ports": Text(
        "ports of tasks are reached through the platform",
        "从外部访问任务端口请走平台的入口",
    ),
    "ports": Text(
        "port numbers are leased; see `ports` in the native job",
        "端口号由平台分配；见原生任务的 ports",
    ),
    "add_capabilities": Text("no capabilities are granted", "不授予额外的能力"),
    "drop_capabilities": Text("tasks have no capabilities to drop", "任务本来就没有可去掉的能力"),
    "pod_spec": Text("applies to Kubernetes only", "只用于 Kubernetes"),
    "slurm": Text("nothing is submitted to another scheduler", "不会提交到别的调度器"),
    "pbs": Text("nothing is submitted to another scheduler", "不会提交到别的调度器"),
}
WORK_DIR = "/run/determined/workdir"
_IMAGE_KINDS = ("cpu", "cuda", "rocm", "gpu")
_PROPAGATIONS = ("rprivate", "private", "rshared", "shared", "rslave", "slave")


class Environment:
    def __init__(self, draft: Draft, top: Keys, site: Site, slots: int) -> None:
        self._draft = draft
        self._top = top
        self._site = site
        self._order = ("cuda", "gpu", "rocm", "cpu") if slots else ("cpu", "cuda", "gpu", "rocm")

    def build(self) -> None:
        keys = Keys(self._draft, self._top.mapping("environment"), ("environment",))
        self._image(keys)
        self._variables(keys)
        self._mounts()
        for name, message in _NOTED.items():
            keys.note(name, message)
        keys.refuse_rest(("image", "environment_variables", *_NOTED))

    def _image(self, keys: Keys) -> None:
        value = keys.raw("image")
        if value is None:
            self._draft.note(
                ("environment", "image"),
                Text(
                    "is not set, and there is no default image here: the task runs with what the "
                    "machine has installed. Name the image with your packages, such as "
                    "pytorch/pytorch:latest",
                    "没有写，这里也没有默认镜像：任务使用机器上已安装的软件。"
                    "请写含有所需软件的镜像，例如 pytorch/pytorch:latest",
                ),
            )
            return
        key: Path = ("environment", "image")
        chosen = self._chosen(value, key)
        image = None if chosen is None else self._draft.read(read_line, chosen[0], chosen[1])
        if image is not None and chosen is not None:
            self._draft.put(("image",), image.strip(), chosen[1])

    def _chosen(self, value: Any, key: Path) -> tuple[Any, Path] | None:
        """The entry for the kind of node the task runs on, if there are several."""
        if not isinstance(value, Mapping):
            return value, key
        for kind in value:
            if kind not in _IMAGE_KINDS:
                every = ", ".join(_IMAGE_KINDS)
                self._draft.refuse(
                    (*key, kind), kind, Text(f"is not one of: {every}", f"应为：{every}")
                )
        for kind in self._order:
            if value.get(kind) is not None:
                return value[kind], (*key, kind)
        return None

    def _variables(self, keys: Keys) -> None:
        value = keys.raw("environment_variables")
        key: Path = ("environment", "environment_variables")
        if value is None:
            return
        if isinstance(value, Mapping):
            found = self._chosen(value, key)
            if found is None:
                return
            value, key = found
        if not isinstance(value, list):
            self._draft.refuse(
                key, value, Text('is not a list of "NAME=value"', "不是 NAME=value 的列表")
            )
            return
        env: dict[str, str] = {}
        for index, item in enumerate(value):
            text = self._draft.read(read_text, item, (*key, index))
            if text is not None:
                name, equals, content = text.partition("=")
                if equals:
                    env[name.strip()] = content
                else:
                    self._draft.note(
                        (*key, index),
                        Text(
                            f"{name[:80]} has no value here; danlu submit --env {name[:80]} passes "
                            "the caller's",
                            f"{name[:80]} 没有值；danlu submit --env {name[:80]} 可带上调用者的值",
                        ),
                    )
        checked = self._draft.read(read_env, env, key)
        if checked:
            self._draft.put(("env",), checked, key)

    def _mounts(self) -> None:
        draft = self._draft
        mounts: list[dict[str, Any]] = []
        for index, written in enumerate(self._top.items("bind_mounts")):
            path: Path = ("bind_mounts", index)
            values = written
            if isinstance(written, str) and written.count(":") == 1:
                host, _, inside = written.partition(":")  # as --volume writes it
                values = {"host_path": host, "container_path": inside}
            if not isinstance(values, Mapping):
                draft.refuse(path, values, Text("is not a mount", "不是挂载"))
                continue
            mount = self._mount(Keys(draft, values, path))
            if mount is not None:
                mounts.append(mount)
        if mounts:
            draft.put(("mounts",), mounts, ("bind_mounts",))

    def _mount(self, keys: Keys) -> dict[str, Any] | None:
        draft, path = self._draft, keys.path
        needed = [
            keys.required(key, Text("write a path", "请写路径"))
            for key in ("host_path", "container_path")
        ]
        host = keys.read("host_path", read_absolute)
        target = keys.line("container_path")
        read_only = keys.flag("read_only")
        propagation = keys.text("propagation")
        if propagation is not None and propagation not in _PROPAGATIONS:
            draft.refuse((*path, "propagation"), propagation, Text("is unknown", "未知"))
        elif propagation not in (None, "rprivate"):
            draft.note(
                (*path, "propagation"), Text("mounts are private here", "这里的挂载是私有的")
            )
        keys.refuse_rest(("host_path", "container_path", "read_only", "propagation"))
        if not all(needed) or host is None or target is None:
            return None
        inside = _absolute(target)
        if host.rstrip("/") == "/tmp" and (inside.rstrip("/") + "/").startswith("/tmp/"):  # noqa: S108
            draft.note(
                path,
                Text(
                    "every task has its own temporary /tmp; nothing is mounted",
                    "每个任务都有自己的 /tmp，随任务结束而清除；不挂载",
                ),
            )
            return None
        return self._volume(host, inside, bool(read_only), path)

    def _volume(self, host: str, target: str, read_only: bool, path: Path) -> dict[str, Any] | None:
        draft = self._draft
        guess = self._site.guess(host)
        if guess is not None:
            draft.note((*path, "host_path"), guess[1])
            return {"volume": guess[0], "path": target, "read_only": read_only}
        found = self._site.volume_of(host)
        if found is None:
            known = ", ".join(volume.source for volume in self._site.volumes) or "none"
            passing = f"{host}/".startswith("/tmp/")  # noqa: S108
            draft.refuse(
                (*path, "host_path"),
                host,
                Text(
                    "is a folder of the machine; only folders the admin has made a volume can be"
                    f" mounted. Known here: {known}",
                    f"是机器上的目录；只挂载管理员登记为存储卷的目录；这里已知：{known}",
                )
                + (_OWN_TMP if passing else EMPTY),
            )
            return None
        volume, rest = found
        draft.note(
            (*path, "host_path"),
            Text(f"is in the volume {volume.name}", f"在存储卷 {volume.name} 中"),
        )
        mount = {"volume": volume.name, "path": target, "read_only": read_only}
        return {**mount, "folder": rest.strip("/")} if rest.strip("/") else mount


def _absolute(target: str) -> str:
    """Relative paths start at the folder where Determined starts its tasks."""
    return target if target.startswith("/") else f"{WORK_DIR}/{target}"
