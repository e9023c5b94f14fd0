"""`environment` and `bind_mounts` of a Determined file: image, variables, folders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.keys import Keys
from danlu.spec.dialects.language import Site
from danlu.spec.errors import Path
from danlu.spec.fields import read_absolute, read_line, read_text
from danlu.spec.forms import read_env

_NOTED: dict[str, tuple[str, str]] = {
    "force_pull_image": (
        "whether an image is pulled again is the platform's setting",
        "是否重新拉取镜像由平台设置",
    ),
    "registry_auth": (
        "is not used; registries and their logins are set up once by the admin",
        "不使用；镜像仓库及其登录由管理员统一设置",
    ),
    "proxy_ports": (
        "task ports are reached from outside through the platform's own doors",
        "从外部访问任务端口请走平台的入口",
    ),
    "ports": (
        "port numbers are leased here; see `ports` of the native job",
        "端口号由平台分配；见原生任务的 ports",
    ),
    "add_capabilities": ("no capabilities are granted", "不授予额外的能力"),
    "drop_capabilities": ("tasks have none to drop", "任务本来就没有可去掉的能力"),
    "pod_spec": ("is for Kubernetes only", "只用于 Kubernetes"),
    "slurm": ("nothing is submitted to another scheduler", "不会提交到别的调度器"),
    "pbs": ("nothing is submitted to another scheduler", "不会提交到别的调度器"),
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
        for name, (en, zh) in _NOTED.items():
            keys.note(name, en, zh)
        keys.refuse_rest(("image", "environment_variables", *_NOTED))

    def _image(self, keys: Keys) -> None:
        value = keys.raw("image")
        if value is None:
            return
        key: Path = ("environment", "image")
        chosen = self._chosen(value, key)
        image = None if chosen is None else self._draft.read(read_line, chosen[0], chosen[1])
        if image is not None and chosen is not None:
            self._draft.put(("image",), image.strip(), chosen[1])

    def _chosen(self, value: Any, key: Path) -> tuple[Any, Path] | None:
        """The entry for what the task runs on, where there is one for each kind of node."""
        if not isinstance(value, Mapping):
            return value, key
        for kind in value:
            if kind not in _IMAGE_KINDS:
                every = ", ".join(_IMAGE_KINDS)
                self._draft.refuse((*key, kind), kind, f"is not one of: {every}", f"应为：{every}")
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
                key, value, 'is not a list of "NAME=value"', "不是 NAME=value 的列表"
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
                        f"{name[:80]} has no value here; danlu submit --env {name[:80]} gives it"
                        " the caller's",
                        f"{name[:80]} 没有值；danlu submit --env {name[:80]} 可带上调用者的值",
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
                draft.refuse(path, values, "is not a mount", "不是挂载")
                continue
            mount = self._mount(Keys(draft, values, path))
            if mount is not None:
                mounts.append(mount)
        if mounts:
            draft.put(("mounts",), mounts, ("bind_mounts",))

    def _mount(self, keys: Keys) -> dict[str, Any] | None:
        draft, path = self._draft, keys.path
        needed = [
            keys.required(key, "write a path", "请写路径")
            for key in ("host_path", "container_path")
        ]
        host = keys.read("host_path", read_absolute)
        target = keys.line("container_path")
        read_only = keys.flag("read_only")
        propagation = keys.text("propagation")
        if propagation is not None and propagation not in _PROPAGATIONS:
            draft.refuse((*path, "propagation"), propagation, "is not known", "未知")
        elif propagation not in (None, "rprivate"):
            draft.note((*path, "propagation"), "mounts are private here", "这里的挂载是私有的")
        keys.refuse_rest(("host_path", "container_path", "read_only", "propagation"))
        if not all(needed) or host is None or target is None:
            return None
        inside = _absolute(target)
        if host.rstrip("/") == "/tmp" and (inside.rstrip("/") + "/").startswith("/tmp/"):  # noqa: S108
            draft.note(
                path,
                "every task has a /tmp of its own, which ends with it; nothing is mounted",
                "每个任务都有自己的 /tmp，随任务结束而清除；不挂载",
            )
            return None
        return self._volume(host, inside, bool(read_only), path)

    def _volume(self, host: str, target: str, read_only: bool, path: Path) -> dict[str, Any] | None:
        draft = self._draft
        guess = self._site.guess(host)
        if guess is not None:
            draft.note((*path, "host_path"), *guess[1:])
            return {"volume": guess[0], "path": target, "read_only": read_only}
        found = self._site.volume_of(host)
        if found is None:
            known = ", ".join(volume.source for volume in self._site.volumes) or "none"
            passing = f"{host}/".startswith("/tmp/")  # noqa: S108
            own_en = "; every task has a /tmp of its own, without a mount" if passing else ""
            own_zh = "；每个任务都有自己的 /tmp，无需挂载" if passing else ""
            draft.refuse(
                (*path, "host_path"),
                host,
                "is a folder of the machine, and only folders that the admin catalogued as a"
                f" volume are mounted; known here: {known}{own_en}",
                f"是机器上的目录；只挂载管理员登记为存储卷的目录；这里已知：{known}{own_zh}",
            )
            return None
        volume, rest = found
        draft.note(
            (*path, "host_path"),
            f"is in the volume {volume.name}",
            f"在存储卷 {volume.name} 中",
        )
        mount = {"volume": volume.name, "path": target, "read_only": read_only}
        return {**mount, "folder": rest.strip("/")} if rest.strip("/") else mount


def _absolute(target: str) -> str:
    """Relative paths are below the folder where Determined starts its tasks."""
    return target if target.startswith("/") else f"{WORK_DIR}/{target}"
