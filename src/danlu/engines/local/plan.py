"""From a launch to the message the spawner gets, and to the text a dry run prints."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from danlu.engines.api import HostMount, Identity, Launch, Place, Plan, Refused, TaskLaunch
from danlu.engines.local import names
from danlu.engines.local.check import Abilities
from danlu.engines.local.config import LocalConfig
from danlu.engines.local.container.plan import check, contain
from danlu.engines.local.container.runtimes import Runtime
from danlu.engines.local.logs import log_path
from danlu.engines.peers import peer_variables
from danlu.spec.job import RunAs

MARKER = "DANLU_TASK"
_PASSED_ON = ("LANG", "LANGUAGE", "TZ")


@dataclass(frozen=True, slots=True)
class Ground:
    """What a plan depends on besides the launch."""

    config: LocalConfig
    abilities: Abilities
    addresses: Mapping[str, str]  # node -> address
    first_card: Mapping[str, int]  # node -> where its cards begin among the real ones
    tag: str  # tells this server's tasks from another's on the same machine
    cards: tuple[str, ...] = ()  # the real ones, as a container runtime calls them
    runtime: Runtime | None = None
    runtime_missing: str = ""  # why there is none


def make_plan(launch: Launch, ground: Ground) -> Plan:
    _check(launch, ground)
    places = {place.task: place for place in launch.places or ()}
    peers = peer_variables(launch, ground.addresses)
    tasks, texts = [], []
    for task, variables in zip(launch.tasks, peers, strict=True):
        place = places[task.index]
        message = _task(launch, task, place, variables, _seen_from(task, ground))
        contain(message, launch, task, place, ground)
        tasks.append(message)
        texts.append(_text(task, message, place))
    gang = {
        "job": launch.job_id,
        "epoch": launch.epoch,
        "tasks": [
            {"node": places[task.index].node, "ports": places[task.index].ports}
            | _in_container(message)
            for task, message in zip(launch.tasks, tasks, strict=True)
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


def _check(launch: Launch, ground: Ground) -> None:
    if launch.places is None:
        raise Refused("the local engine needs to be told the places of all tasks")
    if {place.task for place in launch.places} != {task.index for task in launch.tasks}:
        raise Refused("every task needs exactly one place")
    if "/" in launch.attempt_id or launch.attempt_id.startswith("."):
        raise Refused(f"not an attempt's id: {launch.attempt_id!r}")
    for place in launch.places:
        if place.node not in ground.addresses:
            known = ", ".join(sorted(ground.addresses))
            raise Refused(f"there is no node {place.node!r} here; known: {known}")
    for task in launch.tasks:
        if any("\0" in word for word in task.command.words) or not task.command.words:
            raise Refused("the command is empty or contains a zero byte")
    check(launch, ground)
    uid = launch.identity.uid
    if uid is not None and uid != os.geteuid() and not ground.abilities.identities:
        raise Refused(
            f"tasks of {launch.identity.user} should run as uid {uid}, but the server is not root"
        )


def _in_container(message: dict[str, Any]) -> dict[str, str]:
    return {"container": message["container"]["name"]} if "container" in message else {}


def _seen_from(task: TaskLaunch, ground: Ground) -> Ground:
    """In a container every volume is at its path, whatever the machine allows outside."""
    if task.image is None:
        return ground
    return replace(ground, abilities=replace(ground.abilities, namespaces=True))


def _task(
    launch: Launch,
    task: TaskLaunch,
    place: Place,
    peers: list[dict[str, str]],
    ground: Ground,
) -> dict[str, Any]:
    boxed = ground.abilities.namespaces
    identity = launch.identity
    base = _base_env(launch, task, ground)
    cards = _cards(place, ground)
    cap = task.log_cap
    if ground.config.log_cap is not None:
        cap = min(cap, ground.config.log_cap)
    streams = ("out", "err") if task.split_output and task.stdin != "tty" else ("out",)
    data = ground.config.data
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
                MARKER: f"{launch.attempt_id}/{task.index}@{ground.tag}",
                "CUDA_VISIBLE_DEVICES": cards,
                "NVIDIA_VISIBLE_DEVICES": cards or "void",
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
        **_identity(identity),
    }


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


def _cards(place: Place, ground: Ground) -> str:
    first = ground.first_card.get(place.node, 0)
    return ",".join(str(first + index) for index in place.gpus.indexes)


def _base_env(launch: Launch, task: TaskLaunch, ground: Ground) -> dict[str, str]:
    env = {
        "PATH": ground.config.path or os.environ.get("PATH", os.defpath),
        "USER": launch.identity.user,
        "LOGNAME": launch.identity.user,
        "SHELL": "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh",
        "HOME": _home(task, ground),
    }
    for name, value in os.environ.items():
        if name in _PASSED_ON or name.startswith("LC_"):
            env[name] = value
    if task.stdin == "tty":
        env["TERM"] = "xterm-256color"
    for mount in task.mounts:
        where = mount.target if ground.abilities.namespaces else mount.source
        if mount.target == "/userhome":
            env["DANLU_USERHOME"] = where
        elif mount.target == "/gdata":
            env["DANLU_GDATA"] = where
        else:
            env[f"DANLU_VOLUME_{_variable(mount.name)}"] = where
    if not ground.abilities.namespaces and launch.identity.uid is None:
        folder = f"{ground.config.data}/run/{launch.attempt_id}/{task.index}.volumes"
        env["DANLU_VOLUMES"] = folder
    return env


def _variable(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name).upper()


def _home(task: TaskLaunch, ground: Ground) -> str:
    for mount in task.mounts:
        if mount.target == "/userhome":
            return mount.target if ground.abilities.namespaces else mount.source
    return "/tmp"  # noqa: S108 - a task without a home of its own


def _workdir(task: TaskLaunch, home: str, boxed: bool, data: str) -> str:
    """Where the task starts; a volume may be named by either of its two paths."""
    if task.workdir is None:
        return home
    path = os.path.normpath(task.workdir)
    if not path.startswith("/"):
        path = os.path.normpath(f"{home}/{path}")
    for mount in sorted(task.mounts, key=lambda mount: -len(mount.source)):
        if boxed and _below(path, mount.source) and _below(mount.source, data):
            return mount.target + path[len(mount.source) :]  # the source itself is hidden
        if not boxed and _below(path, mount.target):
            return mount.source + path[len(mount.target) :]
    return path


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _text(task: TaskLaunch, message: dict[str, Any], place: Place) -> str:
    words = task.command.words
    shown = words[0] if task.command.run_as is RunAs.SHELL else shlex.join(words)
    lines = [
        f"task {task.index} ({task.role} {task.role_index}) on node {place.node}",
        f"  command: {shown}",
        *([f"  image:   {task.image}"] if task.image is not None else []),
        f"  folder:  {message['workdir']}",
        f"  cards:   {message['processes'][0]['CUDA_VISIBLE_DEVICES'] or 'none'}",
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
