"""Finds the container runtime and what it can do, by asking it."""

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
from danlu.spec.text import EMPTY, Text

_LOOK_PATIENCE = 5.0  # seconds
_ALL_LIMITS = frozenset({"memory", "cpu", "pids"})
_CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi")


@dataclass(frozen=True, slots=True)
class Runtime:
    """A usable runtime."""

    kind: str  # docker, podman
    socket: str
    version: str = ""
    rootless: bool = False
    live_restore: bool = True  # containers outlive the daemon
    limits: frozenset[str] = _ALL_LIMITS  # what can be limited
    plain_http: tuple[str, ...] = ()  # registries the daemon uses plain HTTP for
    gpus: str = ""  # how containers get GPUs: nvidia, cdi; empty: they cannot


@dataclass(frozen=True, slots=True)
class Search:
    runtime: Runtime | None
    missing: Text = EMPTY  # why there is none


def find(config: ContainerConfig) -> Search:
    if config.runtime == "off":
        return Search(None, _OFF)
    machine = os.uname().machine
    if not holder.supported(machine):
        return Search(
            None,
            Text(
                f"Containers are not supported on {machine} machines",
                f"暂不支持在 {machine} 机器上运行容器",
            ),
        )
    trouble: Text | None = None
    for kind, path in _candidates(config):
        found = _try(kind, path)
        if isinstance(found, Runtime):
            if config.runtime in ("auto", found.kind):
                return Search(found)
            found = Text(
                f"{path} belongs to {found.kind}, but engine.containers says {config.runtime}",
                f"{path} 属于 {found.kind}，而 engine.containers 要求 {config.runtime}",
            )
        trouble = trouble or found
    return Search(None, trouble or _advice(config.runtime))


_OFF = Text(
    'The admin has turned containers off (engine.containers = "off"). Remove image to use the '
    "machine's own programs",
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


def _try(kind: str, path: str) -> Runtime | Text:
    """The runtime behind a socket, or why it cannot be used."""
    daemon = Daemon(kind, path, _LOOK_PATIENCE)
    try:
        kind, version = daemon.ping()
        info = daemon.info() if kind == "docker" else {}
    except (Away, Failed) as error:
        what = kind or "container runtime"
        return Text(
            f"The {what} at {path} does not respond ({error}); start its service",
            f"{path} 处的 {kind or '容器运行时'} 没有响应（{error}）；请启动它的服务",
        )
    finally:
        daemon.close()
    if kind == "podman":
        rootless = os.geteuid() != 0  # other users' sockets cannot be opened
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


def _not_ours(path: str) -> Text:
    return Text(
        f"Docker at {path} runs as root and this server does not, so it cannot enter its "
        "containers. Run the server as root, or install podman and start its service for your "
        "user (systemctl --user enable --now podman.socket)",
        f"{path} 处的 Docker 以 root 运行，而本服务器不是，无法进入它的容器。请用 root 运行服务器，"
        "或安装 podman 并为当前用户启动服务（systemctl --user enable --now podman.socket）",
    )


def _limits(info: dict[str, Any], rootless: bool) -> frozenset[str]:
    if rootless and str(info.get("CgroupVersion")) == "1":
        return frozenset()
    found = {
        "memory": info.get("MemoryLimit"),
        "cpu": info.get("CpuCfsQuota"),
        "pids": info.get("PidsLimit"),
    }
    return frozenset(name for name, there in found.items() if there)


def _delegated() -> frozenset[str]:
    """Controllers systemd delegates to this user; none with cgroup v1."""
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
    """How containers get GPUs. NVIDIA's runtime first: it needs no CDI setup."""
    if kind == "docker" and ("nvidia" in (info.get("Runtimes") or {}) or _hook()):
        return "nvidia"
    for folder in _CDI_FOLDERS:
        if os.path.isdir(folder) and any("nvidia" in name for name in os.listdir(folder)):
            return "cdi"
    return ""


def _hook() -> bool:
    return shutil.which("nvidia-container-runtime-hook") is not None


def _advice(wanted: str) -> Text:
    without = Text(
        "; or remove image to use the machine's own programs", "；或去掉 image，使用机器自带的程序"
    )
    kinds = ("docker", "podman") if os.geteuid() == 0 else ("podman",)
    kinds = kinds if wanted == "auto" else (wanted,)
    for kind in kinds:
        if shutil.which("dockerd" if kind == "docker" else kind) is not None:
            start = f"systemctl {'' if os.geteuid() == 0 else '--user '}enable --now {_UNITS[kind]}"
            problem = Text(
                f"{kind} is installed but does not respond: {start}",
                f"已安装 {kind}，但服务没有响应：{start}",
            )
            return problem + without
    packages = [f"apt-get install {_PACKAGES[kind]}" for kind in kinds]
    install = Text(
        f"No container runtime: {' or '.join(packages)}",
        f"没有容器运行时：{' 或 '.join(packages)}",
    )
    return install + without


_UNITS = {"docker": "docker", "podman": "podman.socket"}
_PACKAGES = {"docker": "docker.io", "podman": "podman"}
