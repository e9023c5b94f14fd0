"""A job that has not ended, as the control loop holds it in memory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from danlu.control.life import WITH_ENGINE, Stage, check
from danlu.engines.api import Phase, Seen
from danlu.files.datasets import Datasets
from danlu.sched.api import ANY, Cause, TaskShape, Waiting
from danlu.spec.job import ANY_NODE, JobSpec, NodeChoice, Role
from danlu.spec.states import Reason, State
from danlu.spec.text import EMPTY, Text
from danlu.store.rows import AttemptRow, EventRow, JobRow

MOST_AVOIDED = 8


@dataclass(slots=True, eq=False)
class LiveJob:
    row: JobRow
    spec: JobSpec
    shapes: tuple[TaskShape, ...]
    waiting: Waiting | None = None  # set while it is in the queue
    attempt: AttemptRow | None = None
    seen: Seen | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)
    driver: asyncio.Task[None] | None = None
    stage: Stage = Stage.PLACED  # of the attempt
    unknown_since: float | None = None  # the engine does not report its attempt
    handle_kept: bool = False  # on disk, so that a restarted server finds it
    pending_noted: bool = False  # the event is on disk
    doing: Text = EMPTY  # progress of a slow step, such as an image pull
    unwritten: list[EventRow] = field(default_factory=list)  # written with its next commit
    ending: bool = False  # its last commit is in progress
    limit_timer: asyncio.TimerHandle | None = None
    editing: bool = False  # a change is being written; it does not start meanwhile
    last: AttemptRow | None = None  # the attempt that ended before it was requeued
    avoided: set[str] = field(default_factory=set)  # nodes that could not pull its image
    preempted: int = 0  # how often it was preempted
    avoid: tuple[str, ...] = ()  # nodes on which it was lost, the last ones
    carried: str = ""  # its working folder below the home, made from a bundle
    overtaken: int = 0  # number of events about later jobs that started first

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def queued_since(self) -> float | None:
        """When it was requeued; run time does not count as waiting."""
        return None if self.last is None else self.last.ended_at

    def remember(self, attempt: AttemptRow) -> None:
        """Keeps an attempt after which the job was requeued."""
        self.last = attempt
        self.preempted += attempt.reason is Reason.PREEMPTED
        if attempt.reason is Reason.LOST:
            self.avoid = tuple(dict.fromkeys((*self.avoid, *_lost_on(attempt))))[-MOST_AVOIDED:]

    @property
    def with_engine(self) -> bool:
        """Whether the engine has its attempt, and so determines its state."""
        return self.stage in WITH_ENGINE

    @property
    def pending(self) -> bool:
        """Whether its attempt waits in the engine's own queue."""
        waits = self.stage is Stage.PENDING or self.row.state is State.QUEUED
        return self.attempt is not None and waits

    def move(self, stage: Stage) -> None:
        check(self.stage, stage)
        self.stage = stage

    def take_unwritten(self) -> list[EventRow]:
        events, self.unwritten = self.unwritten, []
        return events


def _lost_on(attempt: AttemptRow) -> list[str]:
    lost = {task["task"] for task in attempt.tasks if task.get("phase") == Phase.LOST}
    return [place.node for at, place in enumerate(attempt.places) if at in lost and place.node]


def activate(
    row: JobRow,
    spec: JobSpec,
    limited: frozenset[str] = ANY,
    kin: LiveJob | None = None,
    data: Datasets | None = None,
) -> LiveJob:
    """`kin`: another element of the same array, with which it shares what it can."""
    # The loop only needs the decoded spec; the original text stays in the database.
    row.spec = {}
    return LiveJob(row, spec, shapes_of(spec, limited, data) if kin is None else kin.shapes)


def shapes_of(
    spec: JobSpec, limited: frozenset[str] = ANY, data: Datasets | None = None
) -> tuple[TaskShape, ...]:
    """`limited`: volumes that exist only on some nodes. `data`: where datasets are."""
    if spec.login:  # bounded by itself, and never in anybody's way
        return (TaskShape(cpus=0.0, memory=0),)
    nodes = spec.nodes
    shapes = [shape_of(role, limited, nodes) for role in spec.roles]
    if spec.datasets and data is not None:
        volumes, near = limited & data.needed(spec), data.near(spec)
        shapes = [replace(each, volumes=each.volumes | volumes, near=near) for each in shapes]
    return tuple(
        shape
        for role, each in zip(spec.roles, shapes, strict=True)
        for shape in [each] * role.count
    )


def shape_of(role: Role, limited: frozenset[str] = ANY, nodes: NodeChoice = ANY_NODE) -> TaskShape:
    need = role.resources
    share = round(need.gpus.fraction * 1000) if need.gpus.fraction else 0
    return TaskShape(
        cpus=need.cpus,
        memory=need.memory,
        gpus=0 if share else need.gpus.count,
        share=share,
        model=need.gpus.model,
        indexes=need.gpus.indexes,
        volumes=limited and limited.intersection(mount.volume for mount in role.mounts),
        labels=frozenset(nodes.labels) if nodes.labels else ANY,
        include=frozenset(nodes.only) if nodes.only else ANY,
        exclude=frozenset(nodes.exclude) if nodes.exclude else ANY,
    )


def waiting_of(
    row: JobRow,
    spec: JobSpec,
    shapes: tuple[TaskShape, ...],
    blocked: Cause | None = None,
    expected: float | None = None,
    since: float | None = None,
) -> Waiting:
    """The job as the scheduler sees it in the queue."""
    return Waiting(
        row.id,
        row.ref,
        row.owner,
        row.seq,
        row.priority,
        shapes,
        blocked,
        row.array_id,
        spec.array.limit if spec.array else None,
        row.group,
        row.queue,
        row.kind,
        row.name,
        row.submitted_at,
        spec.time_limit,
        expected,
        spec.preemptible,
        since,
    )
