"""Turns a launch into a batch script and what its tasks read on their nodes.

The tasks are those of the local engine, without a view of their own; nodes and ports are marks
that each task replaces once Slurm has placed the gang.
"""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import re
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from danlu.engines.api import Launch, Plan, Refused, TaskLaunch
from danlu.engines.local.check import Abilities
from danlu.engines.local.config import LocalConfig
from danlu.engines.local.container.runtimes import Runtime
from danlu.engines.local.plan import PlanContext, messages
from danlu.engines.local.steps import MOUNT as STEPS
from danlu.engines.local.tools import OWN_MOUNTS, ToolsFolder
from danlu.engines.peers import ports_needed
from danlu.engines.slurm import quick, script
from danlu.engines.slurm.config import SlurmConfig
from danlu.engines.slurm.fitting import misfit
from danlu.engines.slurm.node import places
from danlu.engines.slurm.script import NO_CLUSTER, Cluster
from danlu.engines.slurm.users import User
from danlu.spec.job import Resources
from danlu.spec.placement import Placement
from danlu.spec.text import Text

NO_IMAGES = Text(
    'the admin has turned images off on this Slurm (containers = "off")',
    '管理员已在此 Slurm 上关闭镜像（containers = "off"）',
)

_ATTEMPT = re.compile(r"[A-Za-z0-9_-]{1,128}")
_INSTALLATION = re.compile(r"[A-Za-z0-9_-]{0,128}")
_SHOWN = re.compile(r"danlu-(host|name)-(\d+)\.invalid|91(\d{5})(\d{3})")
_KILL_WAIT = 20.0  # seconds, less than Slurm's usual 30


@dataclass(frozen=True, slots=True)
class Context:
    config: SlurmConfig
    agent: str
    cluster: Cluster = NO_CLUSTER
    untracked: bool = True  # Slurm does not find processes that have left their parents


def plan(launch: Launch, context: Context) -> Plan:
    _check(launch, context)
    user = User.of(launch.identity)
    home = Path(f"{context.config.shared}/{user.folder}")
    folder = f"{home}/run/{launch.attempt_id}"
    tasks, shown = _tasks(launch, user, home, context)
    short = _quick(launch, tasks, folder, context)
    text = script.write(
        launch, folder, context.agent, context.config, context.cluster, is_quick=short is not None
    )
    body = {
        "script": text,
        "tasks": tasks,
        "quick": short,
        "secrets": [dict(task.secrets) for task in launch.tasks],
    }
    payload = json.dumps(body).encode()
    return Plan(text + "\n" + shown, payload, hashlib.sha256(payload).hexdigest())


def _quick(
    launch: Launch, tasks: list[dict[str, Any]], folder: str, context: Context
) -> dict[str, Any] | None:
    """What the shell needs to start the task itself. None: it cannot."""
    config, task = context.config, tasks[0]
    if (
        not config.quick
        or len(tasks) > 1
        or not quick.is_simple(task, bool(launch.tasks[0].secrets))
    ):
        return None
    keeper = script.keeper(context.agent, config)
    if context.untracked:
        task["mark"] = quick.mark(launch.attempt_id)
    text = quick.text(task, folder, context.agent, keeper)
    return {"text": text, "layout": quick.layout(task, folder)}


def _is_account(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _check(launch: Launch, context: Context) -> None:
    for mount in (mount for task in launch.tasks if task.image for mount in task.mounts):
        if set(mount.source + mount.target) & set(",:"):
            raise Refused(f"{mount.source} cannot be given to a container: it has a comma or colon")
    if launch.places is not None:
        names = ", ".join(place.node for place in launch.places)
        raise Refused(f"Slurm chooses the nodes of a job itself; it was given: {names}")
    if not _ATTEMPT.fullmatch(launch.attempt_id):
        raise Refused(f"invalid attempt id: {launch.attempt_id!r}")
    if not _INSTALLATION.fullmatch(launch.installation):
        raise Refused(f"invalid installation id: {launch.installation!r}")
    needs = [(same, len(list(tasks))) for same, tasks in groupby(launch.tasks, _needs)]
    wrong = misfit(launch.terms.queue, needs, context.config, context.cluster)
    if wrong is not None:
        raise Refused(f"{wrong.key} {wrong.value} {wrong.message.en}")
    uid = launch.identity.uid
    if uid is not None and not _is_account(uid):
        # Slurm takes such a job and never starts it.
        raise Refused(
            f"there is no account for {launch.identity.user} (uid {uid}) on the Slurm machines; "
            "an admin has to create it on all of them, and set its uid with danlu user set NAME "
            "--uid N"
        )
    if uid is not None and uid != os.geteuid() and os.geteuid() != 0:
        raise Refused(
            f"jobs of {launch.identity.user} must be submitted as uid {uid}, but the server is "
            "not root"
        )


def _needs(task: TaskLaunch) -> Resources:
    return task.resources


def _tasks(
    launch: Launch, user: User, home: Path, context: Context
) -> tuple[list[dict[str, Any]], str]:
    """What each task reads on its node, without secrets; and the text of a dry run."""
    gang = len(launch.tasks)
    marked = replace(
        launch,
        tasks=tuple(replace(task, secrets={}) for task in launch.tasks),
        places=tuple(_marks(task, gang) for task in launch.tasks),
    )
    config = context.config
    around = PlanContext(
        LocalConfig(home, path=config.path, log_cap=config.log_cap),
        Abilities(identities=True),
        {places.name_mark(i): places.host_mark(i) for i in range(gang)},
        {},
        "slurm",
        # Which runtime it is, its node finds out; plans differ in nothing but names of images.
        runtime=None if config.runtime == "off" else Runtime("podman", ""),
        runtime_missing=NO_IMAGES.en,
        tools=ToolsFolder(config.shared),
    )
    _, found = messages(marked, around)
    tasks = [
        _on_node(values, task, gang, user, context)
        for values, task in zip(found, launch.tasks, strict=True)
    ]
    shown = [_text(task, values) for task, values in zip(launch.tasks, tasks, strict=True)]
    return tasks, "\n".join(shown) + "\n"


def _marks(task: TaskLaunch, gang: int) -> Placement:
    count = ports_needed(task, gang)
    ports = tuple(places.port_mark(task.index, place) for place in range(count))
    return Placement(places.name_mark(task.index), ports=ports)


def _on_node(
    values: dict[str, Any], task: TaskLaunch, gang: int, user: User, context: Context
) -> dict[str, Any]:
    """It is the user's process already, and its GPUs are those Slurm shows it."""
    steps = f"{context.agent}/danlu/steps"
    inside = f"{context.agent}/danlu/inside"
    values = json.loads(
        json.dumps(values).replace(STEPS.source, steps).replace(_inside_source(), inside)
    )
    container = values.pop("container", None)
    if container is not None:
        values["image_run"] = {
            "kind": context.config.runtime,
            "program": context.config.container_program,
            "images": container["images"],
            "user": user.name,
            "secret_names": sorted(task.secrets),
        }
    has_home = any(mount.target == "/userhome" for mount in task.mounts)
    for env in values["processes"]:
        for name in ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"):
            if name not in task.env:
                env.pop(name, None)
        if not has_home:
            env["HOME"] = user.home
    if not has_home and task.workdir is None:
        values["workdir"] = user.home
    return values | {
        "uid": None,
        "gid": None,
        "groups": [],
        "drop": False,
        "devices": [],
        "pids": 0,
        "gang": gang,
        "port_count": ports_needed(task, gang),
        "port_range": list(context.config.ports),
        "addresses": dict(context.cluster.addresses or {}) if gang > 1 else {},
        "own_home": user.home,
        "kill_wait": _KILL_WAIT,
    }


def _inside_source() -> str:
    return os.path.join(os.path.dirname(os.path.dirname(STEPS.source)), "danlu", "inside")


def _text(task: TaskLaunch, values: dict[str, Any]) -> str:
    """What the task gets besides the script, as comments below it."""
    lines = [
        f"# task {task.index} ({task.role} {task.role_index})",
        f"#   command: {json.dumps(list(task.command.words), ensure_ascii=False)}",
        f"#   folder:  {values['workdir']}",
        *([f"#   image:   {task.image}"] if task.image is not None else []),
    ]
    own = (*OWN_MOUNTS, STEPS.name)
    lines += [
        f"#   volume:  {mount['source']}" for mount in values["mounts"] if mount["name"] not in own
    ]
    for number, env in enumerate(values["processes"]):
        lines.append(f"#   process {number}:")
        shown = env | dict.fromkeys(task.secrets, "***")
        lines += [f"#     {name}={_one_line(shown[name])}" for name in sorted(shown)]
    return "\n".join(lines)


def _one_line(value: str) -> str:
    plain = _SHOWN.sub(_mark_text, value)
    return plain if plain.isprintable() else json.dumps(plain, ensure_ascii=False)


def _mark_text(mark: re.Match[str]) -> str:
    if mark[1]:
        return f"<node of task {mark[2]}>"
    return f"<port {int(mark[4]) + 1} of task {int(mark[3])}>"
