"""What the control loop knows of images: who may use them, and where they could not be pulled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace

from danlu.access.principal import Principal
from danlu.control.live_job import LiveJob
from danlu.spec.states import Reason, Retry, meaning
from danlu.spec.text import Text

MayUse = Callable[[Principal, str], Awaitable[Text | None]]
"""Why a person may not use an image; None: they may."""


@dataclass(frozen=True, slots=True)
class ImageTrouble:
    """Why a node could not pull an image, and when."""

    text: Text
    at: float


ImageTroubles = dict[tuple[str, str], ImageTrouble]


def try_elsewhere(job: LiveJob, node: str, reason: Reason, nodes: Collection[str]) -> None:
    """The next attempt goes to another node, if the fault may be this node's alone.

    `nodes`: all there are. When none is left, every one is tried again.
    """
    if not node or meaning(reason).retry is not Retry.PLATFORM:
        return
    job.avoided = {*job.avoided, node}
    if not set(nodes) - job.avoided:
        job.avoided = set()
    job.shapes = tuple(
        replace(shape, exclude=frozenset(plain | job.avoided))
        for shape, plain in zip(job.shapes, _asked(job), strict=True)
    )


def _asked(job: LiveJob) -> list[set[str]]:
    """The nodes that the job itself does not want."""
    return [set(job.spec.nodes.exclude) for _ in job.shapes]
