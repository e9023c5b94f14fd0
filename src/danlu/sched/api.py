"""The values a decision is made of. Nothing here reads a clock, a file or a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

WHOLE = 1000
"""A whole card, in thousandths: shares of a card add up exactly."""


@dataclass(frozen=True, slots=True)
class CardState:
    index: int
    model: str
    free: int = WHOLE  # thousandths that nobody holds
    healthy: bool = True


@dataclass(frozen=True, slots=True)
class NodeState:
    name: str
    cpus: float
    memory: int
    cpus_free: float
    memory_free: int
    cards: tuple[CardState, ...] = ()
    up: bool = True


@dataclass(frozen=True, slots=True)
class TaskShape:
    """What one task needs on one node. `share` is set instead of `cards` for part of one card."""

    cpus: float
    memory: int
    cards: int = 0
    share: int = 0
    model: str | None = None


class CauseKind(StrEnum):
    HELD = "held"
    DEPENDENCY = "dependency"
    RETRY_PAUSE = "retry_pause"
    ARRAY_LIMIT = "array_limit"
    TOO_LARGE = "too_large"
    MODEL_ABSENT = "model_absent"
    NODE_DOWN = "node_down"
    NO_ROOM = "no_room"
    BEHIND = "behind"
    STARTING = "starting"


class Basis(StrEnum):
    VERIFIED = "verified"
    ENGINE = "engine"
    ESTIMATE = "estimate"
    FACT = "fact"


@dataclass(frozen=True, slots=True)
class Cause:
    kind: CauseKind
    basis: Basis = Basis.FACT
    numbers: Mapping[str, int | float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued job. `blocked` says that something other than room keeps it back."""

    job_id: str
    ref: str
    owner: str
    seq: int
    priority: int
    shapes: tuple[TaskShape, ...]  # one per task of the gang
    blocked: Cause | None = None
    array: str | None = None
    array_limit: int | None = None

    @property
    def order(self) -> tuple[int, int]:
        return (-self.priority, self.seq)


@dataclass(frozen=True, slots=True)
class Running:
    job_id: str
    ref: str
    owner: str
    since: float
    latest_end: float | None  # None: no time limit
    cards: Mapping[str, tuple[int, ...]]  # node -> card indexes


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole truth at one instant. `waiting` is in order: priority, then first come."""

    now: float
    nodes: Sequence[NodeState]
    waiting: Sequence[Waiting]
    running: Sequence[Running] = ()
    array_active: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskPlace:
    node: str
    cards: tuple[int, ...] = ()
    share: int = 0


@dataclass(frozen=True, slots=True)
class Start:
    job_id: str
    places: tuple[TaskPlace, ...]  # in the order of the job's shapes


@dataclass(frozen=True, slots=True)
class Policy:
    name: str = "fifo"


@dataclass(frozen=True, slots=True)
class Decision:
    starts: tuple[Start, ...]
    head: str | None = None  # the first job that found no room; those behind it wait for it


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """Why one node does or does not hold one task of the job."""

    node: str
    free_cards: int
    need_cards: int
    free_cpus: float
    free_memory: int
    fits: bool
    lacks: tuple[str, ...] = ()  # cards, model, cpus, memory, up
    holders: tuple[str, ...] = ()  # references of the jobs that hold its cards


@dataclass(frozen=True, slots=True)
class Explanation:
    job_id: str
    causes: tuple[Cause, ...]
    nodes: tuple[NodeVerdict, ...]
    position: int  # 1 is next
    starts_now: bool = False
    places: tuple[TaskPlace, ...] = ()
