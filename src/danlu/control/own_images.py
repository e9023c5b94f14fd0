"""Images of the platform's own registry: who may run them, and how they get to a node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from danlu.access.principal import Principal
from danlu.engines.api import Launch, PullAccess
from danlu.spec.errors import Finding
from danlu.spec.job import JobSpec
from danlu.spec.text import Text


class OwnImages(Protocol):
    def repository(self, image: str) -> str | None:
        """`alice/x` of `HOST/alice/x:1` if the host is ours; None: another registry's."""

    async def may_run(self, user: str, repository: str) -> bool:
        """Whether this person may pull it now, whatever is on the nodes already."""

    async def full_name(self, image: str) -> str | None:
        """With our host, if it is written without one and begins with an owner of ours."""

    async def is_there(self, image: str) -> bool:
        """Whether the registry has it. `image`: a full name."""

    def here(self, image: str) -> str:
        """The image's name on the server's own machine."""

    async def access(self, user: str, repository: str) -> PullAccess | None:
        """To pull it on the server's own machine, on behalf of this person. None: it is off."""


async def findings(own: OwnImages | None, who: Principal, images: Iterable[str]) -> list[Finding]:
    """What a job may not run."""
    if own is None:
        return []
    found = []
    for image in images:
        repository = own.repository(image)
        if repository is None or await own.may_run(who.name, repository):
            continue
        found.append(
            Finding(
                ("image",),
                image,
                Text(
                    "is not available to you: it belongs to someone else and is not shared with "
                    "you, or there is no such repository (danlu registry list shows yours)",
                    "你无权使用：它属于他人且没有共享给你，或者名称不是仓库中的镜像"
                    "（danlu registry list 列出你可用的）",
                ),
            )
        )
    return found


async def with_full_names(
    own: OwnImages | None, who: Principal, spec: JobSpec
) -> tuple[JobSpec, list[Finding]]:
    """`alice/torch:3` means Docker Hub's to a container runtime; here it is alice's, if there is
    an alice. Also returns those that are not in the registry.
    """
    short = {role.image for role in spec.roles if role.image is not None}
    names: dict[str, str] = {}
    for image in sorted(short) if own is not None else ():
        assert own is not None
        full = await own.full_name(image)
        if full is None:
            continue
        repository = own.repository(full)
        # Whether another's exists is nobody's business; `findings` refuses it.
        allowed = repository is not None and await own.may_run(who.name, repository)
        if allowed and not await own.is_there(full):
            return spec, [_not_there(image)]
        names[image] = full
    if not names:
        return spec, []
    roles = tuple(
        replace(role, image=names.get(role.image, role.image)) if role.image else role
        for role in spec.roles
    )
    return replace(spec, roles=roles), []


def _not_there(image: str) -> Finding:
    first = image.partition("/")[0]
    return Finding(
        ("image",),
        image,
        Text(
            f"is not in the platform's registry, where names beginning with {first}/ are looked "
            "up (danlu image list shows what is there). For the image on Docker Hub, write "
            f"docker.io/{image}",
            f"不在平台的镜像仓库中，以 {first}/ 开头的名称都属于它（danlu image list 可查看）。"
            f"如需 Docker Hub 上的镜像，请写 docker.io/{image}",
        ),
    )


def as_named_here(own: OwnImages | None, launch: Launch) -> Launch:
    """For an engine on the server's machine, which has pulled them under that name."""
    if own is None or not any(task.image for task in launch.tasks):
        return launch
    tasks = tuple(
        replace(task, image=own.here(task.image))
        if task.image and own.repository(task.image) is not None
        else task
        for task in launch.tasks
    )
    return replace(launch, tasks=tasks)


def refusal(image: str) -> str:
    return f"{image}: it belongs to someone else and is no longer shared with you"
