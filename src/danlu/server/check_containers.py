"""The part of `danlu check` about containers and registries."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator

from danlu.engines.local.config import ContainerConfig
from danlu.engines.local.container.runtimes import Runtime, Search
from danlu.spec.text import Text

Line = tuple[str, str, Text]  # what, verdict, why


def containers(search: Search, config: ContainerConfig, real_gpus: bool) -> Iterator[Line]:
    runtime = search.runtime
    if runtime is None:
        yield "containers", "no", search.missing
        return
    name = f"{runtime.kind} {runtime.version}"
    yield (
        "containers",
        "yes",
        Text(
            f"{name} answers at {runtime.socket}: jobs can use images",
            f"{name} 在 {runtime.socket} 响应：任务可以使用镜像",
        ),
    )
    yield from _restarts(runtime)
    yield from _limits(runtime)
    if real_gpus:
        yield _gpus(runtime)
    yield from _plain_http(runtime, config)
    yield from _passwords(config)


def _restarts(runtime: Runtime) -> Iterator[Line]:
    if runtime.kind != "docker":
        return
    if runtime.live_restore:
        yield (
            "live-restore",
            "yes",
            Text(
                "Containers keep running when Docker is restarted or upgraded",
                "重启或升级 Docker 时容器继续运行",
            ),
        )
        return
    yield (
        "live-restore",
        "partly",
        Text(
            "Off: restarting Docker ends its containers, and Danlu runs their jobs again from the "
            'start. Set "live-restore": true in /etc/docker/daemon.json, then systemctl reload '
            "docker",
            "未开启：重启 Docker 会结束容器，Danlu 会从头重新运行这些任务。在 "
            '/etc/docker/daemon.json 中写入 "live-restore": true，然后 systemctl reload docker',
        ),
    )


def _limits(runtime: Runtime) -> Iterator[Line]:
    lacking = sorted({"memory", "cpu", "pids"} - runtime.limits)
    if lacking:
        names = ", ".join(lacking)
        yield (
            "limits",
            "partly",
            Text(
                f"Container limits not available: {names}. Without root they need cgroup v2 and "
                "systemd delegation (Delegate=cpu memory pids)",
                f"无法限制容器的：{names}。没有 root 时需要 cgroup v2 和 systemd 委派"
                "（Delegate=cpu memory pids）",
            ),
        )


def _gpus(runtime: Runtime) -> Line:
    if runtime.gpus:
        how = {"nvidia": "NVIDIA's runtime", "cdi": "CDI"}[runtime.gpus]
        zh = {"nvidia": "NVIDIA 运行时", "cdi": "CDI"}[runtime.gpus]
        return (
            "gpus",
            "yes",
            Text(f"Containers get their GPUs through {how}", f"容器通过 {zh} 获得显卡"),
        )
    setup = "nvidia-ctk runtime configure --runtime=docker"
    if runtime.kind == "podman":
        setup = "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
    return (
        "gpus",
        "no",
        Text(
            f"Containers get no GPUs: install nvidia-container-toolkit, then {setup}",
            f"容器无法使用显卡：请安装 nvidia-container-toolkit，然后执行 {setup}",
        ),
    )


def _plain_http(runtime: Runtime, config: ContainerConfig) -> Iterator[Line]:
    """Podman is told with each pull; Docker only uses its own configuration."""
    if runtime.kind != "docker":
        return
    for registry in config.registries:
        host = registry.host
        if registry.plain_http and host not in runtime.plain_http and not _is_here(host):
            yield (
                f"registry {host}",
                "no",
                Text(
                    f'Docker does not use plain HTTP for it: add "{host}" to insecure-registries '
                    "in /etc/docker/daemon.json, then systemctl reload docker",
                    "Docker 不会用 HTTP 访问它：在 /etc/docker/daemon.json 的 insecure-registries "
                    f'中加入 "{host}"，'
                    "然后 systemctl reload docker",
                ),
            )


def _passwords(config: ContainerConfig) -> Iterator[Line]:
    for registry in config.registries:
        file = registry.password_file
        if file and not os.access(file, os.R_OK):
            yield (
                f"registry {registry.host}",
                "no",
                Text(
                    f"Its password_file {file} cannot be read", f"无法读取它的 password_file {file}"
                ),
            )


def _is_here(host: str) -> bool:
    """Docker accepts plain HTTP from this machine itself."""
    try:
        return ipaddress.ip_address(host.rpartition(":")[0] or host).is_loopback
    except ValueError:
        return host.partition(":")[0] == "localhost"
