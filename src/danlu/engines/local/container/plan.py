"""What a keeper needs to know to run a task in a container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from danlu.engines.api import Launch, Place, Refused, TaskLaunch, Unreachable
from danlu.engines.local.container import refs, shape
from danlu.engines.local.container.daemon import ATTEMPT, LABEL

if TYPE_CHECKING:
    from danlu.engines.local.plan import Ground

_MACHINES_OWN = frozenset({"PATH", "SHELL", "LANG", "LANGUAGE"})
"""Variables that describe the machine; the image has its own."""


def container_name(attempt_id: str, task: int) -> str:
    return f"danlu-{attempt_id}-{task}"


def check(launch: Launch, ground: Ground) -> None:
    """Raises Refused."""
    with_image = [task for task in launch.tasks if task.image is not None]
    if not with_image:
        return
    if ground.runtime is None:
        text = f"image {with_image[0].image!r} cannot run here. {ground.runtime_missing}"
        if ground.config.containers.runtime == "off":
            raise Refused(text)
        raise Unreachable(text)  # a runtime that was there may come back
    for task in with_image:
        try:
            refs.parse(task.image or "")
        except refs.BadName as error:
            raise Refused(f"{task.image} {error}") from error
    if ground.abilities.namespaces_how == "user" and len(with_image) != len(launch.tasks):
        raise Refused(
            "without root, either all roles of a job have an image or none; give the others one"
        )
    for place in launch.places or ():
        if place.gpus.indexes and _real(place, ground) and not ground.runtime.gpus:
            raise Refused(
                f"{ground.runtime.kind} cannot hand cards to containers; install "
                "nvidia-container-toolkit on this machine"
            )


def contain(
    message: dict[str, Any], launch: Launch, task: TaskLaunch, place: Place, ground: Ground
) -> None:
    """Adds to a task's message what makes it run in a container."""
    runtime = ground.runtime
    if task.image is None or runtime is None:
        return
    cards = _real(place, ground)
    name = container_name(launch.attempt_id, task.index)
    wish = shape.Wish(
        name,
        task.resources,
        task.mounts,
        cards,
        {
            LABEL: ground.tag,
            ATTEMPT: launch.attempt_id,
            "danlu.job": launch.job_id,
            "danlu.user": launch.identity.user,
        },
        shape.holder_path(ground.config.data),
    )
    given = {*task.env, *task.secrets}
    for env in message["processes"]:
        for variable in list(env):
            own = variable in _MACHINES_OWN or variable.startswith("LC_")
            if own and variable not in given:
                del env[variable]
        if cards:
            # A container sees no other cards, and counts its own from 0.
            env["CUDA_VISIBLE_DEVICES"] = ",".join(str(n) for n in range(len(cards)))
    own_mounts = {mount.target for mount in task.mounts}
    message["mounts"] = [mount for mount in message["mounts"] if mount["target"] in own_mounts]
    message["drop"] = True
    identity = launch.identity
    message["container"] = {
        "kind": runtime.kind,
        "socket": runtime.socket,
        "name": wish.name,
        "images": refs.names_of(task.image, runtime.kind, ground.config.containers.registries),
        "create": shape.body(wish, runtime),
        "user": _plain(identity.user),
        "groups": [(_plain(name), number) for name, number in identity.names],
    }


def _real(place: Place, ground: Ground) -> tuple[str, ...]:
    """The task's cards where they are real ones, not only declared."""
    first = ground.first_card.get(place.node)
    if first is None:
        return ()
    return tuple(ground.cards[first + index] for index in place.gpus.indexes)


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
