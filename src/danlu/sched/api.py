"""The values a decision is made of. Nothing here reads a clock, a file or a database.

Cards are counted in thousandths wherever shares of a card can occur, so that they add up exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from danlu.sched.reasons import (
    Basis,
    Cause,
    CauseKind,
    Effect,
    Eta,
    EtaBasis,
    Explanation,
    Holder,
    NodeVerdict,
    Suggestion,
    SuggestionKind,
    TaskPlace,
)

__all__ = [
    "ANY",
    "DEFAULT_QUEUE",
    "WHOLE",
    "Basis",
    "CardState",
    "Cause",
    "CauseKind",
    "Decision",
    "Effect",
    "Eta",
    "EtaBasis",
    "Explanation",
    "Holder",
    "Kept",
    "Mix",
    "Move",
    "NodeState",
    "NodeVerdict",
    "Policy",
    "Preempt",
    "QueuePolicy",
    "Quota",
    "Quotas",
    "Reservation",
    "Running",
    "Snapshot",
    "Start",
    "Suggestion",
    "SuggestionKind",
    "TaskPlace",
    "TaskShape",
    "Waiting",
]

WHOLE = 1000
"""A whole card, in thousandths."""

DEFAULT_QUEUE = "default"
ANY: frozenset[str] = frozenset()


# -- what there is ------------------------------------------------------------------------------


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
    drained: bool = False  # answers, but an admin took it out: what runs there goes on
    labels: frozenset[str] = ANY
    volumes: frozenset[str] = ANY  # of those that exist on some nodes only
    rank: int = 0  # the admin's order of servers, smallest first
    # What was counted of this very value, so that thousands of nodes are not counted every pass.
    memo: object = field(default=None, init=False, repr=False, compare=False)


# -- what is asked for --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TaskShape:
    """What one task needs on one node. `share` is set instead of `cards` for part of one card."""

    cpus: float
    memory: int
    cards: int = 0
    share: int = 0
    model: str | None = None
    models: frozenset[str] = ANY  # any one of these will do; beside `model`, both must hold
    indexes: tuple[int, ...] = ()  # these very cards; then `cards` is their number
    labels: frozenset[str] = ANY  # the node has all of them
    volumes: frozenset[str] = ANY  # limited volumes that must exist on the node
    include: frozenset[str] = ANY  # nodes that may be used; empty: all
    exclude: frozenset[str] = ANY  # nodes that may not

    @property
    def amount(self) -> int:
        """Thousandths of cards."""
        return self.share or self.cards * WHOLE


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
    group: str | None = None
    queue: str = DEFAULT_QUEUE
    kind: str = "train"
    name: str = ""
    submitted: float = 0.0
    time_limit: float | None = None  # of one attempt, in seconds
    expected: float | None = None  # how long it will probably run, where that is known
    preemptible: bool = False

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
    shapes: tuple[TaskShape, ...] = ()
    places: tuple[TaskPlace, ...] = ()  # in the order of `shapes`
    group: str | None = None
    queue: str = DEFAULT_QUEUE
    kind: str = "train"
    name: str = ""
    priority: int = 0
    expected_end: float | None = None  # the likely end; not later than `latest_end`
    preemptible: bool = False
    movable: bool = False


# -- how much, and by which rules ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Quota:
    """What somebody may hold at once. None: no cap."""

    cards: int | None = None  # thousandths, of all models together
    models: Mapping[str, int] = field(default_factory=dict)  # model -> thousandths
    cpus: float | None = None
    memory: int | None = None
    guaranteed: int = 0  # thousandths that are theirs: lent while idle, and come back

    @property
    def caps(self) -> bool:
        return bool(self.models) or (self.cards, self.cpus, self.memory) != (None, None, None)


@dataclass(frozen=True, slots=True)
class Quotas:
    users: Mapping[str, Quota] = field(default_factory=dict)
    groups: Mapping[str, Quota] = field(default_factory=dict)
    user: Quota | None = None  # for users without one of their own
    group: Quota | None = None

    def __bool__(self) -> bool:
        return bool(self.users or self.groups or self.user or self.group)

    @property
    def caps(self) -> bool:
        """Whether anybody may have only so much; guarantees alone keep nobody back."""
        all_of_them = (*self.users.values(), *self.groups.values(), self.user, self.group)
        return any(quota is not None and quota.caps for quota in all_of_them)


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """One queue: a named share of the nodes, and the rules the admin picked for it."""

    order: str = "fifo"  # fifo, fair, short-first
    place: str = "tight"  # tight, spread, server, card, person
    nodes: frozenset[str] | None = None  # None: all nodes
    backfill: bool = True
    max_wait: float | None = None  # ageing: having waited this long, a job goes before the order
    half_life: float = 7 * 86_400.0  # of past use, in fair share
    lend: bool = True  # idle guaranteed cards are lent
    reclaim: bool = False  # lent cards come back by ending preemptible work
    consolidate: bool = False
    settings: Mapping[str, float] = field(default_factory=dict)  # finer numbers of an order


@dataclass(frozen=True, slots=True)
class Policy:
    """`name` is the order of every queue that `queues` does not list."""

    name: str = "fifo"
    place: str = "tight"
    backfill: bool = True
    queues: Mapping[str, QueuePolicy] = field(default_factory=dict)
    kinds: Mapping[str, frozenset[str]] = field(default_factory=dict)  # kind -> models it may use

    def queue(self, name: str) -> QueuePolicy:
        found = self.queues.get(name)
        return found or QueuePolicy(self.name, self.place, backfill=self.backfill)


@dataclass(frozen=True, slots=True)
class Mix:
    """What people asked for lately: a shape and how often. The best packing depends on it."""

    counts: Mapping[TaskShape, int] = field(default_factory=dict)
    memo: object = field(default=None, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole truth at one instant. `waiting` is in order: priority, then first come."""

    now: float
    nodes: Sequence[NodeState]
    waiting: Sequence[Waiting]
    running: Sequence[Running] = ()
    array_active: Mapping[str, int] = field(default_factory=dict)
    quotas: Quotas = field(default_factory=Quotas)
    used: Mapping[str, float] = field(default_factory=dict)  # user -> decayed card-seconds
    group_used: Mapping[str, float] = field(default_factory=dict)
    mix: Mix | None = None
    memory: Mapping[str, object] = field(default_factory=dict)  # queue -> what the last pass kept
    history: object = None  # sched.history.History: run times of jobs that ended


# -- what is decided ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start:
    job_id: str
    places: tuple[TaskPlace, ...]  # in the order of the job's shapes
    overtook: tuple[str, ...] = ()  # earlier jobs it goes before without delaying them
    until: float | None = None  # with `overtook`: by when it ends


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room kept for an earlier job from `at` on; what ends before may use it."""

    job_id: str
    at: float
    places: tuple[TaskPlace, ...]


@dataclass(frozen=True, slots=True)
class Preempt:
    job_id: str  # the running job that is ended and queued again
    by: str  # for whom


@dataclass(frozen=True, slots=True)
class Move:
    job_id: str
    places: tuple[TaskPlace, ...]  # where it goes
    by: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A job that would fit now, but stays back for others. `cause` says why."""

    job_id: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class Decision:
    starts: tuple[Start, ...]
    head: str | None = None  # the first job that found no room; those behind it wait for it
    heads: Mapping[str, str] = field(default_factory=dict)  # queue -> its head
    reservations: tuple[Reservation, ...] = ()
    preempts: tuple[Preempt, ...] = ()
    moves: tuple[Move, ...] = ()
    kept: tuple[Kept, ...] = ()
    memory: Mapping[str, object] = field(default_factory=dict)  # for the next snapshot
