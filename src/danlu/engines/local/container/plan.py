"""What a keeper needs to know to run a task in a container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from danlu.engines.api import Launch, Refused, TaskLaunch, Unreachable
from danlu.engines.local.container import refs, shape
from danlu.engines.local.container.daemon import ATTEMPT, LABEL
from danlu.engines.local.tools import PROGRAMS, REMOTE_SSH
from danlu.spec.placement import Placement

if TYPE_CHECKING:
    from danlu.engines.local.plan import PlanContext

_MACHINES_OWN = frozenset({"PATH", "SHELL", "LANG", "LANGUAGE"})
"""Variables that describe the machine; images have their own."""


def container_name(attempt_id: str, task: int) -> str:
    return f"danlu-{attempt_id}-{task}"


def check(launch: Launch, context: PlanContext) -> None:
    """Raises Refused."""
    with_image = [task for task in launch.tasks if task.image is not None]
    if not with_image:
        return
    if context.runtime is None:
        text = f"image {with_image[0].image!r} cannot run here. {context.runtime_missing}"
        if context.config.containers.runtime == "off":
            raise Refused(text)
        raise Unreachable(text)  # the runtime may come back
    for task in with_image:
        try:
            refs.parse(task.image or "")
        except refs.BadName as error:
            raise Refused(f"{task.image} {error}") from error
    if context.abilities.namespaces_how == "user" and len(with_image) != len(launch.tasks):
        raise Refused(
            "without root, either all roles of a job have an image or none; add one to the others"
        )
    for place in launch.places or ():
        if place.gpus and _real(place, context) and not context.runtime.gpus:
            raise Refused(
                f"{context.runtime.kind} cannot give GPUs to containers; install "
                "nvidia-container-toolkit on this machine"
            )


def contain(
    message: dict[str, Any],
    launch: Launch,
    task: TaskLaunch,
    place: Placement,
    context: PlanContext,
) -> None:
    """Makes a task's message run it in a container."""
    runtime = context.runtime
    if task.image is None or runtime is None:
        return
    gpus = _real(place, context)
    name = container_name(launch.attempt_id, task.index)
    wish = shape.Wish(
        name,
        task.resources,
        task.mounts,
        gpus,
        {
            LABEL: context.tag,
            ATTEMPT: launch.attempt_id,
            "danlu.job": launch.job_id,
            "danlu.user": launch.identity.user,
        },
        shape.holder_path(context.config.data),
        message["pids"],
    )
    given = {*task.env, *task.secrets}
    for env in message["processes"]:
        for variable in list(env):
            own = variable in _MACHINES_OWN or variable.startswith("LC_")
            if own and variable not in given:
                del env[variable]
        if gpus:
            # A container sees only its own GPUs, numbered from 0.
            env["CUDA_VISIBLE_DEVICES"] = ",".join(str(n) for n in range(len(gpus)))
    own_mounts = {mount.target for mount in task.mounts}
    message["mounts"] = [mount for mount in message["mounts"] if mount["target"] in own_mounts]
    message["drop"] = True
    identity = launch.identity
    message["container"] = {
        "kind": runtime.kind,
        "socket": runtime.socket,
        "name": wish.name,
        "images": refs.names_of(task.image, runtime.kind, context.config.containers.registries),
        "create": shape.body(wish, runtime),
        "gpus": bool(gpus),
        "checked": f"{context.config.data}/checked-images",
        "path": PROGRAMS if task.tools else "",
        "old_libc": REMOTE_SSH if task.tools else {},
        "user": _plain(identity.user),
        "groups": [(_plain(name), number) for name, number in identity.names],
    }


def _real(place: Placement, context: PlanContext) -> tuple[str, ...]:
    """The task's GPUs if they are real, not only declared."""
    first = context.first_gpu.get(place.node)
    if first is None:
        return ()
    return tuple(context.gpus[first + index] for index in place.gpus)


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
