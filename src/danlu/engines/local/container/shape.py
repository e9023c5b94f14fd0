"""The request that creates a container, for Docker and for Podman."""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from danlu.engines.api import HostMount
from danlu.engines.local.container import holder
from danlu.engines.local.container.runtimes import Runtime
from danlu.engines.local.keeper.folders import RUN, RUN_SIZE
from danlu.spec.job import Resources

_PERIOD = 100_000
_LEAST_MEMORY = 6 << 20  # Docker's minimum
_KILL = 9
_RUN_OPTIONS = ["rw", "nosuid", "nodev", "mode=0755", f"size={RUN_SIZE}"]


@dataclass(frozen=True, slots=True)
class Wish:
    """A container, independent of the runtime."""

    name: str
    resources: Resources
    mounts: tuple[HostMount, ...]
    gpus: tuple[str, ...]  # indexes of real GPUs
    labels: Mapping[str, str]
    holder: str  # the holder's path on the machine
    pids: int = 0  # limit of processes and threads; 0: unlimited


def body(wish: Wish, runtime: Runtime) -> dict[str, Any]:
    """Everything but the image name: the runtime may have it under several."""
    return _podman(wish, runtime) if runtime.kind == "podman" else _docker(wish, runtime)


def _docker(wish: Wish, runtime: Runtime) -> dict[str, Any]:
    host: dict[str, Any] = {
        "NetworkMode": "host",
        "IpcMode": "private",
        # Not AutoRemove: with live-restore, a restarted dockerd would end the container.
        "LogConfig": {"Type": "none"},
        "Mounts": [
            {
                "Type": "bind",
                "Source": mount.source,
                "Target": mount.target,
                "ReadOnly": mount.read_only,
                "BindOptions": {"Propagation": "rprivate"},
            }
            for mount in _mounts(wish)
        ],
        "Tmpfs": {RUN: f"mode=0755,size={RUN_SIZE}"},  # its keeper hands it over
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges", "label=disable"],
        "Init": False,
        "ShmSize": wish.resources.shm,
        "Ulimits": [
            {"Name": name, "Soft": most, "Hard": most} for name, most in _ulimits().items()
        ],
    }
    if not runtime.rootless:
        host["UsernsMode"] = "host"  # same file owners inside and outside
    if "memory" in runtime.limits:
        host["Memory"] = host["MemorySwap"] = _memory(wish)
    if "cpu" in runtime.limits and wish.resources.cpus:
        host["CpuPeriod"], host["CpuQuota"] = _PERIOD, _quota(wish)
        host["CpuShares"] = _shares(wish)
    if "pids" in runtime.limits and wish.pids:
        host["PidsLimit"] = wish.pids
    if wish.gpus and runtime.gpus == "nvidia":
        ids = list(wish.gpus)
        host["DeviceRequests"] = [{"DeviceIDs": ids, "Capabilities": [["gpu"]]}]
    elif wish.gpus and runtime.gpus == "cdi":
        ids = [f"nvidia.com/gpu={gpu}" for gpu in wish.gpus]
        host["DeviceRequests"] = [{"Driver": "cdi", "DeviceIDs": ids}]
    return {
        "Entrypoint": [holder.INSIDE, wish.name],
        "Cmd": [],
        "User": "0:0",
        "WorkingDir": "/",
        "Env": [f"{name}={value}" for name, value in _env(wish).items()],
        "Labels": dict(wish.labels),
        "StopSignal": str(_KILL),  # the holder ignores everything else
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": host,
    }


def _podman(wish: Wish, runtime: Runtime) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    if "memory" in runtime.limits:
        limits["memory"] = {"limit": _memory(wish), "swap": _memory(wish)}
    if "cpu" in runtime.limits and wish.resources.cpus:
        limits["cpu"] = {"period": _PERIOD, "quota": _quota(wish), "shares": _shares(wish)}
    if "pids" in runtime.limits and wish.pids:
        limits["pids"] = {"limit": wish.pids}
    made: dict[str, Any] = {
        "entrypoint": [holder.INSIDE, wish.name],
        "command": [],
        "user": "0:0",
        "work_dir": "/",
        "env": _env(wish),
        "labels": dict(wish.labels),
        "stop_signal": _KILL,
        "remove": False,  # it may be saved as an image after its command has ended
        "netns": {"nsmode": "host"},
        "ipcns": {"nsmode": "private"},
        "log_configuration": {"driver": "none"},
        "mounts": [
            {
                "type": "bind",
                "source": mount.source,
                "destination": mount.target,
                "options": ["rbind", "rprivate", "ro" if mount.read_only else "rw"],
            }
            for mount in _mounts(wish)
        ]
        + [{"type": "tmpfs", "destination": RUN, "options": _RUN_OPTIONS}],
        "shm_size": wish.resources.shm,
        "cap_drop": ["all"],
        "no_new_privileges": True,
        "selinux_opts": ["disable"],
        "systemd": "false",
        "init": False,
        "r_limits": [
            {"type": name, "soft": most, "hard": most} for name, most in _ulimits().items()
        ],
    }
    if limits:
        made["resource_limits"] = limits
    if wish.gpus:
        made["devices"] = [{"path": f"nvidia.com/gpu={gpu}"} for gpu in wish.gpus]
    return made


def _mounts(wish: Wish) -> tuple[HostMount, ...]:
    return (*wish.mounts, HostMount("holder", wish.holder, holder.INSIDE, read_only=True))


def _env(wish: Wish) -> dict[str, str]:
    """For the holder only. NVIDIA's images request all GPUs; the task gets only its own."""
    return {"NVIDIA_VISIBLE_DEVICES": ",".join(wish.gpus) or "void"}


def _memory(wish: Wish) -> int:
    return max(wish.resources.memory, _LEAST_MEMORY)


def _quota(wish: Wish) -> int:
    return max(1000, int(wish.resources.cpus * _PERIOD))


def _shares(wish: Wish) -> int:
    return min(262144, max(2, int(wish.resources.cpus * 1024)))


def _ulimits() -> dict[str, int]:
    """Low limits for the holder, as raising them may fail; tasks have the server's limits."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    return {"nofile": _at_most(files, 1024), "nproc": _at_most(processes, 4096)}


def _at_most(limit: int, most: int) -> int:
    return most if limit == resource.RLIM_INFINITY else min(limit, most)


def holder_path(data: str | os.PathLike[str]) -> str:
    return f"{os.fspath(data)}/holder"
