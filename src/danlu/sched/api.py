"""Input and output types of the scheduler, which is pure: no clock, files or database.

GPUs are counted in thousandths wherever fractions can occur, so that they add up exactly.
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
)
from danlu.spec.placement import Placement

__all__ = [
    "ANY",
    "DEFAULT_QUEUE",
    "LOWER_PRIORITY",
    "NEVER",
    "PREEMPT",
    "WHOLE",
    "Admit",
    "Basis",
    "Cause",
    "CauseKind",
    "Claim",
    "Decision",
    "Effect",
    "Eta",
    "EtaBasis",
    "Explanation",
    "GpuState",
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
    "TaskShape",
    "Waiting",
]

WHOLE = 1000
"""A whole GPU, in thousandths."""

DEFAULT_QUEUE = "default"
NEVER, LOWER_PRIORITY = "never", "lower-priority"
PREEMPT = (NEVER, LOWER_PRIORITY)
ANY: frozenset[str] = frozenset()


# -- what there is ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GpuState:
    index: int
    model: str
    free: int = WHOLE  # free thousandths
    healthy: bool = True


@dataclass(frozen=True, slots=True)
class NodeState:
    name: str
    cpus: float
    memory: int
    cpus_free: float
    memory_free: int
    gpus: tuple[GpuState, ...] = ()
    up: bool = True
    drained: bool = False  # drained by an admin; running jobs continue
    labels: frozenset[str] = ANY
    volumes: frozenset[str] = ANY  # of the volumes that exist only on some nodes
    rank: int = 0  # the admin's order of servers, smallest first
    drain_reason: str = ""  # the admin's reason
    # Cached sums, so that thousands of nodes are not counted in every pass.
    memo: object = field(default=None, init=False, repr=False, compare=False)


# -- what is asked for --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TaskShape:
    """What one task needs on one node. `share` replaces `gpus` for a fraction of one GPU."""

    cpus: float
    memory: int
    gpus: int = 0
    share: int = 0
    model: str | None = None
    models: frozenset[str] = ANY  # any of these; combined with `model`, both must match
    indexes: tuple[int, ...] = ()  # exactly these GPUs; `gpus` is their number
    labels: frozenset[str] = ANY  # the node must have all of them
    volumes: frozenset[str] = ANY  # limited volumes that must exist on the node
    include: frozenset[str] = ANY  # allowed nodes; empty: all
    exclude: frozenset[str] = ANY  # excluded nodes
    near: frozenset[str] = ANY  # nodes to try first: they have what it reads

    @property
    def amount(self) -> int:
        """Thousandths of GPUs."""
        return self.share or self.gpus * WHOLE


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued job. `blocked`: something other than resources keeps it from starting."""

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
    expected: float | None = None  # expected run time, if known
    preemptible: bool = False
    since: float | None = None  # requeued at this time; run time does not count as waiting

    @property
    def waits_since(self) -> float:
        return self.submitted if self.since is None else self.since

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
    gpus: Mapping[str, tuple[int, ...]]  # node -> GPU indexes
    shapes: tuple[TaskShape, ...] = ()
    places: tuple[Placement, ...] = ()  # in the order of `shapes`
    group: str | None = None
    queue: str = DEFAULT_QUEUE
    kind: str = "train"
    name: str = ""
    priority: int = 0
    expected_end: float | None = None  # the likely end; not later than `latest_end`
    preemptible: bool = False
    movable: bool = False
    preempted: int = 0  # how often it was preempted before
    ending: bool = False  # being preempted; its resources are reserved
    outside: bool = False  # no job of ours


# -- how much, and by which rules ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Quota:
    """How much a user or group may hold at once. None: unlimited."""

    gpus: int | None = None  # thousandths, over all models
    models: Mapping[str, int] = field(default_factory=dict)  # model -> thousandths
    cpus: float | None = None
    memory: int | None = None
    guaranteed: int = 0  # thousandths guaranteed to them, lent to others while idle

    @property
    def caps(self) -> bool:
        return bool(self.models) or (self.gpus, self.cpus, self.memory) != (None, None, None)


@dataclass(frozen=True, slots=True)
class Quotas:
    users: Mapping[str, Quota] = field(default_factory=dict)
    groups: Mapping[str, Quota] = field(default_factory=dict)
    user: Quota | None = None  # for users without a quota of their own
    group: Quota | None = None

    def __bool__(self) -> bool:
        return bool(self.users or self.groups or self.user or self.group)

    @property
    def caps(self) -> bool:
        """Whether there are any limits; guarantees alone do not count."""
        all_of_them = (*self.users.values(), *self.groups.values(), self.user, self.group)
        return any(quota is not None and quota.caps for quota in all_of_them)


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """A queue: a named set of nodes with its scheduling rules.

    Queues that share nodes are scheduled together: in order of arrival, unless the admin sets
    their `priority` or `weight`.
    """

    order: str = "fifo"  # fifo, fair, short-first
    place: str = "learned"  # learned, tight, spread, server, gpu, person
    nodes: frozenset[str] | None = None  # None: all nodes
    kinds: frozenset[str] = ANY  # of jobs that it takes; empty: all
    backfill: bool = True
    max_wait: float | None = None  # ageing: a job that waited this long goes first
    half_life: float = 7 * 86_400.0  # of past usage, for fair share
    lend: bool = True  # idle guaranteed GPUs are lent
    reclaim: bool = False  # lent GPUs are reclaimed by preemption
    consolidate: bool = False
    preempt: str = NEVER  # LOWER_PRIORITY: higher priorities preempt its preemptible jobs
    priority: int = 0  # on shared nodes, the queue with the higher priority goes first
    weight: float | None = None  # its share of shared nodes, relative to other queues
    settings: Mapping[str, float] = field(default_factory=dict)  # parameters of an order
    engine: str = ""  # runs its jobs; empty: the first engine
    # Facts about that engine, filled in when the rules are applied.
    admit: bool = False  # it places jobs itself; Danlu only applies limits
    closed: Cause | None = None  # why nothing of this queue can start now


@dataclass(frozen=True, slots=True)
class Policy:
    """`name` is the order of every queue that `queues` does not list."""

    name: str = "fifo"
    place: str = "learned"
    backfill: bool = True
    queues: Mapping[str, QueuePolicy] = field(default_factory=dict)
    kinds: Mapping[str, frozenset[str]] = field(default_factory=dict)  # kind -> models it may use

    def queue(self, name: str) -> QueuePolicy:
        found = self.queues.get(name)
        return found or QueuePolicy(self.name, self.place, backfill=self.backfill)


@dataclass(frozen=True, slots=True)
class Mix:
    """Recently requested shapes and their frequency, which determine the best packing."""

    counts: Mapping[TaskShape, int] = field(default_factory=dict)
    memo: object = field(default=None, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Claim:
    """A waiting job for which others are being preempted or moved, and where it will start."""

    job_id: str
    places: tuple[Placement, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The complete state at one moment. `waiting` is ordered by priority, then arrival."""

    now: float
    nodes: Sequence[NodeState]
    waiting: Sequence[Waiting]
    running: Sequence[Running] = ()
    admitted: Sequence[Running] = ()  # count against quotas, but are not placed here
    array_active: Mapping[str, int] = field(default_factory=dict)
    quotas: Quotas = field(default_factory=Quotas)
    used: Mapping[str, float] = field(default_factory=dict)  # user -> decayed GPU-seconds
    group_used: Mapping[str, float] = field(default_factory=dict)
    mix: Mix | None = None
    memory: Mapping[str, object] = field(default_factory=dict)  # queue -> state from the last pass
    claims: Sequence[Claim] = ()  # preemptions and moves under way, in order
    history: object = None  # sched.history.History: run times of jobs that ended


# -- what is decided ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start:
    job_id: str
    places: tuple[Placement, ...]  # in the order of the job's shapes
    overtook: tuple[str, ...] = ()  # earlier jobs it starts before, without delaying them
    until: float | None = None  # with `overtook`: when it ends at the latest


@dataclass(frozen=True, slots=True)
class Admit:
    """It may start; its engine decides where and when."""

    job_id: str


@dataclass(frozen=True, slots=True)
class Reservation:
    """Resources reserved for an earlier job from `at` on; jobs that end before may use them."""

    job_id: str
    at: float
    places: tuple[Placement, ...]


@dataclass(frozen=True, slots=True)
class Preempt:
    job_id: str  # the running job to requeue
    by: str  # the job it is preempted for


@dataclass(frozen=True, slots=True)
class Move:
    job_id: str
    places: tuple[Placement, ...]  # where it goes
    by: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A job that would fit now but has to wait for others; `cause` says why."""

    job_id: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class Decision:
    starts: tuple[Start, ...]
    head: str | None = None  # the first job that does not fit; later ones wait for it
    heads: Mapping[str, str] = field(default_factory=dict)  # queue -> its head
    reservations: tuple[Reservation, ...] = ()
    preempts: tuple[Preempt, ...] = ()
    moves: tuple[Move, ...] = ()
    kept: tuple[Kept, ...] = ()
    memory: Mapping[str, object] = field(default_factory=dict)  # for the next snapshot
    claims: tuple[Claim, ...] = ()  # likewise
    admits: tuple[Admit, ...] = ()
