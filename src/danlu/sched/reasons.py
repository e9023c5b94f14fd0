"""The values an explanation is made of: causes, numbers, holders, estimates, suggestions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Numbers = Mapping[str, int | float | str]


class CauseKind(StrEnum):
    # nothing to do with room
    HELD = "held"
    DEPENDENCY = "dependency"
    RETRY_PAUSE = "retry_pause"
    ARRAY_LIMIT = "array_limit"
    QUOTA_USER = "quota_user"
    QUOTA_GROUP = "quota_group"
    KIND_LIMITED = "kind_limited"  # this kind of work may not use the models it asks for
    # never, however long it waits
    TOO_LARGE = "too_large"
    MODEL_ABSENT = "model_absent"
    LABEL_ABSENT = "label_absent"
    VOLUME_ABSENT = "volume_absent"
    NODES_NAMED = "nodes_named"  # the nodes it names or leaves over do not do
    # not now
    NODE_DOWN = "node_down"
    NODE_DRAINED = "node_drained"
    CLUSTER_FULL = "cluster_full"
    NO_ROOM = "no_room"
    BEHIND = "behind"
    RESERVED = "reserved"  # it would fit, but in room that is kept for an earlier job
    GUARANTEE = "guarantee"  # it would fit, but in cards that are another group's by right
    ENGINE = "engine"
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
    numbers: Numbers = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskPlace:
    node: str
    cards: tuple[int, ...] = ()
    share: int = 0


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """Why one node does or does not hold one task of the job."""

    node: str
    free_cards: int
    need_cards: int
    free_cpus: float
    free_memory: int
    fits: bool
    lacks: tuple[str, ...] = ()  # up, drained, queue, named, labels, volumes, model, cards, ...
    holders: tuple[str, ...] = ()  # references of the jobs that hold its cards


@dataclass(frozen=True, slots=True)
class Holder:
    """A running job that holds what the waiting one needs."""

    ref: str
    owner: str
    node: str
    cards: tuple[int, ...]
    since: float
    latest_end: float | None = None
    expected_end: float | None = None


class EtaBasis(StrEnum):
    NOW = "now"
    LIMITS = "limits"  # time limits of the jobs before it
    HISTORY = "history"  # run times of earlier jobs
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Eta:
    """When it should start. Without times, `why` and `ref` say what makes it unknowable."""

    p50: float | None
    p90: float | None
    basis: EtaBasis
    after: str | None = None  # reference of the job whose end opens the room
    after_owner: str | None = None
    samples: int = 0  # how many finished jobs (or trials) it rests on
    why: str | None = None  # no_limit, never, blocked, quota


class SuggestionKind(StrEnum):
    SPLIT = "split"  # the same cards over several nodes
    FEWER_CARDS = "fewer_cards"
    ANY_MODEL = "any_model"
    OTHER_MODEL = "other_model"
    LESS_CPU_MEMORY = "less_cpu_memory"
    OTHER_QUEUE = "other_queue"
    SHORTER = "shorter"  # a time limit short enough to fit before the reservation
    SHARE = "share"  # part of a card
    DROP_PLACE = "drop_place"  # without labels and named nodes
    WAIT_FOR = "wait_for"  # after the job that holds the cards


class Effect(StrEnum):
    STARTS_NOW = "starts_now"
    EARLIER = "earlier"
    NO_CHANGE = "no_change"


@dataclass(frozen=True, slots=True)
class Suggestion:
    kind: SuggestionKind
    effect: Effect
    numbers: Numbers = field(default_factory=dict)
    basis: Basis = Basis.VERIFIED
    at: float | None = None  # when it would start
    nodes: tuple[str, ...] = ()
    why: Cause | None = None  # NO_CHANGE: what is in the way then


@dataclass(frozen=True, slots=True)
class Explanation:
    job_id: str
    causes: tuple[Cause, ...]
    nodes: tuple[NodeVerdict, ...]
    position: int  # 1 is next
    starts_now: bool = False
    places: tuple[TaskPlace, ...] = ()
    more_nodes: int = 0  # nodes that are not in `nodes` because they have less
    holders: tuple[Holder, ...] = ()
    clear: tuple[str, ...] = ()  # what is not in the way
    suggestions: tuple[Suggestion, ...] = ()
    eta: Eta | None = None
