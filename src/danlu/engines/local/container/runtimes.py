"""Which container runtime there is, and what it can do. Found by asking it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from danlu.engines.local.config import ContainerConfig
from danlu.engines.local.container import holder
from danlu.engines.local.container.daemon import Daemon
from danlu.engines.local.container.wire import Away, Failed

_LOOK_PATIENCE = 5.0  # seconds
_ALL_LIMITS = frozenset({"memory", "cpu"})
_CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi")

Pair = tuple[str, str]  # en, zh


@dataclass(frozen=True, slots=True)
class Runtime:
    """A runtime that answers and can be used."""

    kind: str  # docker, podman
    socket: str
    version: str = ""
    rootless: bool = False
    live_restore: bool = True  # containers outlive the daemon
    limits: frozenset[str] = _ALL_LIMITS  # what can be limited
    plain_http: tuple[str, ...] = ()  # registries the daemon talks plain HTTP to
    gpus: str = ""  # how a container gets cards: nvidia, cdi; none: it gets none


@dataclass(frozen=True, slots=True)
class Search:
    """What was found, and why the others will not do."""

    runtime: Runtime | None
    en: str = ""
    zh: str = ""


def find(config: ContainerConfig) -> Search:
    if config.runtime == "off":
        return Search(None, *_OFF)
    machine = os.uname().machine
    if not holder.supported(machine):
        en = f"Containers are not supported on {machine} machines"
        return Search(None, en, f"暂不支持在 {machine} 机器上运行容器")
    trouble: Pair | None = None
    for kind, path in _candidates(config):
        found = _try(kind, path)
        if isinstance(found, Runtime):
            if config.runtime in ("auto", found.kind):
                return Search(found)
            found = (
                f"{path} is {found.kind}'s, and engine.containers says {config.runtime}",
                f"{path} 属于 {found.kind}，而 engine.containers 要求 {config.runtime}",
            )
        trouble = trouble or found
    return Search(None, *(trouble or _advice(config.runtime)))


_OFF = (
    'The admin switched containers off (engine.containers = "off"). Leave image out: the task then '
    "sees the machine's own programs",
    '管理员关闭了容器（engine.containers = "off"）。去掉 image 即可使用机器自带的程序',
)


def _candidates(config: ContainerConfig) -> Iterator[tuple[str, str]]:
    if config.socket:
        yield "", config.socket
        return
    user = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    root = os.geteuid() == 0
    places = {
        "docker": [] if root else [f"{user}/docker.sock"],
        "podman": ["/run/podman/podman.sock"] if root else [f"{user}/podman/podman.sock"],
    }
    places["docker"].append("/var/run/docker.sock")
    for kind in ("docker", "podman") if root else ("podman", "docker"):
        if config.runtime in ("auto", kind):
            for path in places[kind]:
                if os.path.exists(path):
                    yield kind, path


def _try(kind: str, path: str) -> Runtime | Pair:
    """The runtime behind a socket, or why it will not do."""
    daemon = Daemon(kind, path, _LOOK_PATIENCE)
    try:
        kind, version = daemon.ping()
        info = daemon.info() if kind == "docker" else {}
    except (Away, Failed) as error:
        what = kind or "container runtime"
        return (
            f"The {what} at {path} does not answer ({error}); start its service",
            f"{path} 处的 {kind or '容器运行时'} 没有响应（{error}）；请启动它的服务",
        )
    finally:
        daemon.close()
    if kind == "podman":
        rootless = os.geteuid() != 0  # others' sockets are not ours to open
        limits = _delegated() if rootless else _ALL_LIMITS
        return Runtime(kind, path, version, rootless, True, limits, (), _gpus(kind, info))
    rootless = "name=rootless" in " ".join(info.get("SecurityOptions") or ())
    if os.geteuid() != 0 and not rootless:
        return _not_ours(path)
    return Runtime(
        kind,
        path,
        version,
        rootless,
        bool(info.get("LiveRestoreEnabled")),
        _limits(info, rootless),
        _plain_http(info),
        _gpus(kind, info),
    )


def _not_ours(path: str) -> Pair:
    return (
        f"Docker at {path} runs as root and this server does not, so it cannot enter its "
        "containers. Run the server as root, or install podman and start its service for your "
        "user (systemctl --user enable --now podman.socket)",
        f"{path} 处的 Docker 以 root 运行，而本服务器不是，无法进入它的容器。请用 root 运行服务器，"
        "或安装 podman 并为当前用户启动服务（systemctl --user enable --now podman.socket）",
    )


def _limits(info: dict[str, Any], rootless: bool) -> frozenset[str]:
    if rootless and str(info.get("CgroupVersion")) == "1":
        return frozenset()
    found = {"memory": info.get("MemoryLimit"), "cpu": info.get("CpuCfsQuota")}
    return frozenset(name for name, there in found.items() if there)


def _delegated() -> frozenset[str]:
    """What systemd lets this user limit; nothing where cgroups are of the first version."""
    uid = os.getuid()
    try:
        with open(
            f"/sys/fs/cgroup/user.slice/user-{uid}.slice/user@{uid}.service/cgroup.controllers",
            encoding="ascii",
        ) as file:
            return _ALL_LIMITS & frozenset(file.read().split())
    except OSError:
        return frozenset()


def _plain_http(info: dict[str, Any]) -> tuple[str, ...]:
    indexes = (info.get("RegistryConfig") or {}).get("IndexConfigs") or {}
    return tuple(sorted(name for name, entry in indexes.items() if not entry.get("Secure", True)))


def _gpus(kind: str, info: dict[str, Any]) -> str:
    """How cards are handed over. Docker's own way first: it needs nothing but NVIDIA's tools."""
    if kind == "docker" and ("nvidia" in (info.get("Runtimes") or {}) or _hook()):
        return "nvidia"
    for folder in _CDI_FOLDERS:
        if os.path.isdir(folder) and any("nvidia" in name for name in os.listdir(folder)):
            return "cdi"
    return ""


def _hook() -> bool:
    return shutil.which("nvidia-container-runtime-hook") is not None


def _advice(wanted: str) -> Pair:
    leave_en = "; or leave image out: the task then sees the machine's own programs"
    leave_zh = "；或去掉 image，使用机器自带的程序"
    kinds = ("docker", "podman") if os.geteuid() == 0 else ("podman",)
    kinds = kinds if wanted == "auto" else (wanted,)
    for kind in kinds:
        if shutil.which("dockerd" if kind == "docker" else kind) is not None:
            start = f"systemctl {'' if os.geteuid() == 0 else '--user '}enable --now {_UNITS[kind]}"
            return (
                f"{kind} is installed, but nobody answers: {start}" + leave_en,
                f"已安装 {kind}，但服务没有响应：{start}" + leave_zh,
            )
    packages = [f"apt-get install {_PACKAGES[kind]}" for kind in kinds]
    en, zh = " or ".join(packages), " 或 ".join(packages)
    return f"No container runtime: {en}" + leave_en, f"没有容器运行时：{zh}" + leave_zh


_UNITS = {"docker": "docker", "podman": "podman.socket"}
_PACKAGES = {"docker": "docker.io", "podman": "podman"}
