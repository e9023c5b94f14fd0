"""Turns a launch into the spawner's message and the text of a dry run."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from danlu.engines.api import MIRRORS, HostMount, Identity, Launch, Plan, Refused, TaskLaunch
from danlu.engines.local import gpu_nodes, names
from danlu.engines.local.check import Abilities
from danlu.engines.local.config import LocalConfig
from danlu.engines.local.container.plan import check, contain
from danlu.engines.local.container.runtimes import Runtime
from danlu.engines.local.keeper.folders import RUN
from danlu.engines.local.logs import log_path
from danlu.engines.local.steps import with_steps
from danlu.engines.local.tools import OWN_MOUNTS, ToolsFolder, tools_env, with_tools
from danlu.engines.peers import peer_variables
from danlu.spec.job import RunAs
from danlu.spec.placement import Placement

MARKER = "DANLU_TASK"
_PASSED_ON = ("LANG", "LANGUAGE", "TZ")


@dataclass(frozen=True, slots=True)
class PlanContext:
    """What a plan depends on besides the launch."""

    config: LocalConfig
    abilities: Abilities
    addresses: Mapping[str, str]  # node -> address
    first_gpu: Mapping[str, int]  # node -> offset of its GPUs among the real ones
    tag: str  # distinguishes this server's tasks from another's on the same machine
    gpus: tuple[str, ...] = ()  # the real ones, by the container runtime's names
    runtime: Runtime | None = None
    runtime_missing: str = ""  # why there is none
    pids: int = 0  # limit of processes and threads per task
    gpu_nodes: tuple[str, ...] = ()  # device node of each real GPU
    tools: ToolsFolder | None = None


def make_plan(launch: Launch, context: PlanContext) -> Plan:
    launch, tasks = messages(launch, context)
    places = launch.places or ()
    texts = [
        _text(task, message, place)
        for task, message, place in zip(launch.tasks, tasks, places, strict=True)
    ]
    gang = {
        "job": launch.job_id,
        "epoch": launch.epoch,
        "installation": launch.installation,
        "tasks": [
            _placement(place) | _in_container(message)
            for place, message in zip(places, tasks, strict=True)
        ],
    }
    body = {
        "attempt": launch.attempt_id,
        "epoch": launch.epoch,
        "gang": json.dumps(gang),
        "tasks": tasks,
    }
    payload = json.dumps(body).encode()
    text = "\n".join(texts)
    return Plan(text, payload, hashlib.sha256(payload).hexdigest())


def messages(launch: Launch, context: PlanContext) -> tuple[Launch, list[dict[str, Any]]]:
    """The launch with everything the platform adds to it, and what is said about each task."""
    launch = with_tools(with_steps(launch), context.tools, context.abilities.namespaces)
    _check(launch, context)
    peers = peer_variables(launch, context.addresses)
    tasks = []
    for task, place, variables in zip(launch.tasks, launch.places or (), peers, strict=True):
        message = _task(launch, task, place, variables, _seen_from(task, context))
        contain(message, launch, task, place, context)
        tasks.append(message)
    return launch, tasks


def _placement(place: Placement) -> dict[str, Any]:
    return {
        "node": place.node,
        "ports": place.ports,
        "gpus": place.gpus,
        "shared": place.share > 0,
    }


def marker(launch: Launch, task: int, tag: str) -> str:
    """Put into the environment, to find a task's processes again."""
    owner = f":{launch.installation}" if launch.installation else ""
    return f"{launch.attempt_id}/{task}@{tag}{owner}"


def _check(launch: Launch, context: PlanContext) -> None:
    if launch.places is None:
        raise Refused("the local engine needs a placement for every task")
    if len(launch.places) != len(launch.tasks):
        raise Refused("every task needs exactly one placement")
    if "/" in launch.attempt_id or launch.attempt_id.startswith("."):
        raise Refused(f"invalid attempt id: {launch.attempt_id!r}")
    for place in launch.places:
        if place.node not in context.addresses:
            known = ", ".join(sorted(context.addresses))
            raise Refused(f"no such node: {place.node!r}; known nodes: {known}")
    for task in launch.tasks:
        if any("\0" in word for word in task.command.words) or not task.command.words:
            raise Refused("the command is empty or contains a zero byte")
    check(launch, context)
    uid = launch.identity.uid
    if uid is not None and uid != os.geteuid() and not context.abilities.identities:
        raise Refused(
            f"tasks of {launch.identity.user} must run as uid {uid}, but the server is not root"
        )


def _in_container(message: dict[str, Any]) -> dict[str, str]:
    return {"container": message["container"]["name"]} if "container" in message else {}


def _seen_from(task: TaskLaunch, context: PlanContext) -> PlanContext:
    """In a container volumes are always at their target, even without namespaces outside."""
    if task.image is None:
        return context
    return replace(context, abilities=replace(context.abilities, namespaces=True))


def _task(
    launch: Launch,
    task: TaskLaunch,
    place: Placement,
    peers: list[dict[str, str]],
    context: PlanContext,
) -> dict[str, Any]:
    boxed = context.abilities.namespaces
    identity = launch.identity
    base = _base_env(launch, task, context)
    gpus = _gpus(place, context)
    cap = task.log_cap
    if context.config.log_cap is not None:
        cap = min(cap, context.config.log_cap)
    streams = ("out", "err") if task.split_output and task.stdin != "tty" else ("out",)
    data = context.config.data
    logs = f"{data}/logs"
    return {
        "index": task.index,
        "node": place.node,
        "run_as": task.command.run_as.value,
        "words": list(task.command.words),
        "processes": [
            base
            | own
            | _without_zero(task.env)
            | _without_zero(task.secrets)
            | {
                MARKER: marker(launch, task.index, context.tag),
                "DANLU_RUN": RUN,  # a keeper without namespaces makes another
                **tools_env(task, boxed),
                "CUDA_VISIBLE_DEVICES": gpus,
                "NVIDIA_VISIBLE_DEVICES": gpus or "void",
            }
            for own in peers
        ],
        "workdir": _workdir(task, base["HOME"], boxed, str(data)),
        "mounts": [
            {
                "name": mount.name,
                "source": mount.source,
                "target": mount.target,
                "read_only": mount.read_only,
            }
            for mount in (*task.mounts, *(names.mounts_of(data, identity) if boxed else ()))
        ],
        "devices": _devices(place, context),
        "pids": most_processes(task, context),
        "shm": task.resources.shm,
        "memory": task.resources.memory,
        "cpus": task.resources.cpus,
        "stdin": task.stdin.value,
        "logs": [
            log_path(logs, launch.job_id, launch.attempt_id, task.index, stream)
            for stream in streams
        ],
        "log_cap": cap,
        "drop": boxed or os.geteuid() == 0,
        "offline": task.offline,
        **_identity(identity),
    }


def most_processes(task: TaskLaunch, context: PlanContext) -> int:
    """0: no limit."""
    limits = [limit for limit in (task.processes_limit, context.pids) if limit]
    return min(limits, default=0)


def _identity(identity: Identity) -> dict[str, Any]:
    gid = identity.gid if identity.gid is not None else identity.uid
    return {
        "uid": identity.uid,
        "gid": gid,
        "groups": list(identity.groups),
        "umask": identity.umask,
    }


def _without_zero(env: Mapping[str, str]) -> dict[str, str]:
    for name, value in env.items():
        if "\0" in name or "=" in name or not name or "\0" in value:
            raise Refused(f"variable {name!r} cannot be set: zero bytes and '=' are not allowed")
    return dict(env)


def _gpus(place: Placement, context: PlanContext) -> str:
    if context.abilities.namespaces and _own_nodes(place, context):
        # It sees only its own GPUs, numbered from 0.
        return ",".join(str(number) for number in range(len(place.gpus)))
    first = context.first_gpu.get(place.node, 0)
    return ",".join(str(first + index) for index in place.gpus)


def _devices(place: Placement, context: PlanContext) -> list[str]:
    """The device nodes of the task's own GPUs, or of all if those are unknown."""
    if not place.gpus:
        return []
    own = _own_nodes(place, context)
    return [*gpu_nodes.shared(), *(own or gpu_nodes.every())]


def _own_nodes(place: Placement, context: PlanContext) -> tuple[str, ...]:
    first = context.first_gpu.get(place.node)
    if first is None or not context.gpu_nodes:
        return ()
    return tuple(context.gpu_nodes[first + index] for index in place.gpus)


def _base_env(launch: Launch, task: TaskLaunch, context: PlanContext) -> dict[str, str]:
    env = {
        "PATH": context.config.path,
        "USER": launch.identity.user,
        "LOGNAME": launch.identity.user,
        "SHELL": "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh",
        "HOME": _home(task, context),
    }
    for name, value in os.environ.items():
        if name in _PASSED_ON or name.startswith("LC_"):
            env[name] = value
    if task.stdin == "tty":
        env["TERM"] = "xterm-256color"
    for mount in task.mounts:
        if mount.name in OWN_MOUNTS:
            continue
        where = mount.target if context.abilities.namespaces else mount.source
        if mount.name == MIRRORS:
            if os.path.isdir(mount.source):
                env["XDG_CONFIG_DIRS"] = f"{where}:/etc/xdg"
            continue
        if mount.target == "/userhome":
            env["DANLU_USERHOME"] = where
        elif mount.target == "/gdata":
            env["DANLU_GDATA"] = where
        else:
            env[f"DANLU_VOLUME_{_variable(mount.name)}"] = where
    if not context.abilities.namespaces and launch.identity.uid is None:
        folder = f"{context.config.data}/run/{launch.attempt_id}/{task.index}.volumes"
        env["DANLU_VOLUMES"] = folder
    return env


def _variable(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name).upper()


def _home(task: TaskLaunch, context: PlanContext) -> str:
    for mount in task.mounts:
        if mount.target == "/userhome":
            return mount.target if context.abilities.namespaces else mount.source
    return "/tmp"  # noqa: S108 - a task without a home


def _workdir(task: TaskLaunch, home: str, boxed: bool, data: str) -> str:
    """The working directory; a path in a volume may be given as its source or its target."""
    if task.workdir is None:
        return home
    path = os.path.normpath(task.workdir)
    if not path.startswith("/"):
        path = os.path.normpath(f"{home}/{path}")
    for mount in sorted(task.mounts, key=lambda mount: -len(mount.source)):
        if boxed and _below(path, mount.source) and _below(mount.source, data):
            return mount.target + path[len(mount.source) :]  # the source is hidden
        if not boxed and _below(path, mount.target):
            return mount.source + path[len(mount.target) :]
    return path


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _text(task: TaskLaunch, message: dict[str, Any], place: Placement) -> str:
    words = task.command.words
    shown = words[0] if task.command.run_as is RunAs.SHELL else shlex.join(words)
    lines = [
        f"task {task.index} ({task.role} {task.role_index}) on node {place.node}",
        f"  command: {shown}",
        *([f"  image:   {task.image}"] if task.image is not None else []),
        f"  folder:  {message['workdir']}",
        f"  GPUs:   {message['processes'][0]['CUDA_VISIBLE_DEVICES'] or 'none'}",
        f"  limits:  {task.resources.cpus:g} CPUs, {task.resources.memory} bytes of memory",
    ]
    lines += [f"  volume:  {_mount_text(mount)}" for mount in task.mounts]
    for number, env in enumerate(message["processes"]):
        lines.append(f"  process {number}:")
        for name in sorted(env):
            lines.append(f"    {name}={'***' if name in task.secrets else env[name]}")
    return "\n".join(lines)


def _mount_text(mount: HostMount) -> str:
    return f"{mount.source} at {mount.target}" + (" (read-only)" if mount.read_only else "")
