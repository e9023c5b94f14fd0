"""A job that has not ended, as the control loop holds it in memory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from danlu.engines.api import Seen
from danlu.sched.api import ANY, TaskPlace, TaskShape, Waiting
from danlu.spec.job import ANY_NODE, JobSpec, NodeChoice, Role
from danlu.store.rows import AttemptRow, EventRow, JobRow


@dataclass(slots=True, eq=False)
class Active:
    row: JobRow
    spec: JobSpec
    shapes: tuple[TaskShape, ...]
    waiting: Waiting | None = None  # set while it stands in the queue
    attempt: AttemptRow | None = None
    seen: Seen | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)
    driver: asyncio.Task[None] | None = None
    launched: bool = False
    doing: tuple[str, str] = ("", "")  # what is done for it now, where that may take long
    unwritten: list[EventRow] = field(default_factory=list)  # go into its next commit
    ending: bool = False  # its last commit is on the way
    limit_timer: asyncio.TimerHandle | None = None
    overtaken: int = 0  # how often its timeline was told of a later job that went first

    @property
    def id(self) -> str:
        return self.row.id

    def take_unwritten(self) -> list[EventRow]:
        events, self.unwritten = self.unwritten, []
        return events


def activate(row: JobRow, spec: JobSpec, limited: frozenset[str] = ANY) -> Active:
    # The decoded spec is all the loop needs; the text stays in the database.
    row.spec = {}
    return Active(row, spec, shapes_of(spec, limited))


def shapes_of(spec: JobSpec, limited: frozenset[str] = ANY) -> tuple[TaskShape, ...]:
    """`limited`: volumes that exist on some nodes only."""
    nodes = spec.nodes
    return tuple(
        shape for role in spec.roles for shape in [shape_of(role, limited, nodes)] * role.count
    )


def shape_of(role: Role, limited: frozenset[str] = ANY, nodes: NodeChoice = ANY_NODE) -> TaskShape:
    need = role.resources
    share = round(need.gpus.fraction * 1000) if need.gpus.fraction else 0
    return TaskShape(
        cpus=need.cpus,
        memory=need.memory,
        cards=0 if share else need.gpus.count,
        share=share,
        model=need.gpus.model,
        indexes=need.gpus.indexes,
        volumes=limited and limited.intersection(mount.volume for mount in role.mounts),
        labels=frozenset(nodes.labels) if nodes.labels else ANY,
        include=frozenset(nodes.only) if nodes.only else ANY,
        exclude=frozenset(nodes.exclude) if nodes.exclude else ANY,
    )


def places_of(attempt: AttemptRow) -> tuple[TaskPlace, ...]:
    return tuple(
        TaskPlace(p["node"], tuple(p["cards"]), int(p.get("share", 0))) for p in attempt.places
    )
