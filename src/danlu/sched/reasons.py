"""Types of explanations: causes, numbers, holders, estimates and suggestions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from danlu.spec.placement import Placement

if TYPE_CHECKING:
    from danlu.sched.api import Waiting

Numbers = Mapping[str, int | float | str]


class CauseKind(StrEnum):
    # unrelated to resources
    HELD = "held"
    EDITING = "editing"
    DEPENDENCY = "dependency"
    RETRY_PAUSE = "retry_pause"
    ARRAY_LIMIT = "array_limit"
    QUOTA_USER = "quota_user"
    QUOTA_GROUP = "quota_group"
    KIND_LIMITED = "kind_limited"  # this kind of job may not use the requested models
    # never, however long it waits
    TOO_LARGE = "too_large"
    MODEL_ABSENT = "model_absent"
    LABEL_ABSENT = "label_absent"
    VOLUME_ABSENT = "volume_absent"
    NODES_NAMED = "nodes_named"  # no usable node among those it selects
    # not now
    NODE_DOWN = "node_down"
    NODE_DRAINED = "node_drained"
    CLUSTER_FULL = "cluster_full"
    NO_ROOM = "no_room"
    BEHIND = "behind"
    RESERVED = "reserved"  # it would fit, but only in resources reserved for an earlier job
    GUARANTEE = "guarantee"  # it would fit, but only on GPUs guaranteed to another group
    NOT_PREEMPTED = "not_preempted"  # jobs it could claim GPUs from are protected
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
class NodeVerdict:
    """Whether one task of the job fits on a node, and why."""

    node: str
    free_gpus: int
    need_gpus: int
    free_cpus: float
    free_memory: int
    fits: bool
    lacks: tuple[str, ...] = ()  # up, drained, queue, named, labels, volumes, model, GPUs, ...
    holders: tuple[str, ...] = ()  # references of the jobs that hold its GPUs


@dataclass(frozen=True, slots=True)
class Holder:
    """A running job that holds resources the waiting one needs."""

    ref: str
    owner: str
    node: str
    gpus: tuple[int, ...]
    since: float
    latest_end: float | None = None
    expected_end: float | None = None
    outside: bool = False  # no job of ours; `ref` is made of its user and the engine's name for it


class EtaBasis(StrEnum):
    NOW = "now"
    LIMITS = "limits"  # time limits of the jobs before it
    HISTORY = "history"  # run times of earlier jobs
    ENGINE = "engine"  # the engine, which places it, says so
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Eta:
    """The estimated start. Without one, `why` and `after` say why."""

    p50: float | None
    p90: float | None
    basis: EtaBasis
    after: str | None = None  # reference of the job whose end frees the resources
    samples: int = 0  # number of finished jobs (or trials) it is based on
    why: str | None = None  # no_limit, never, blocked, quota, engine, engine_*


class SuggestionKind(StrEnum):
    SPLIT = "split"  # the same number of GPUs over several nodes
    FEWER_GPUS = "fewer_gpus"
    ANY_MODEL = "any_model"
    OTHER_MODEL = "other_model"
    LESS_CPU_MEMORY = "less_cpu_memory"
    OTHER_QUEUE = "other_queue"
    SHORTER = "shorter"  # a time limit short enough to fit before the reservation
    DROP_PLACE = "drop_place"  # without labels and named nodes
    WAIT_FOR = "wait_for"  # after the job that holds the GPUs


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
    why: Cause | None = None  # NO_CHANGE: what still blocks it
    job: Waiting | None = None  # as it was tried
    change: Mapping[str, Any] = field(default_factory=dict)  # the keys of `edit` that do this


@dataclass(frozen=True, slots=True)
class Explanation:
    job_id: str
    causes: tuple[Cause, ...]
    nodes: tuple[NodeVerdict, ...]
    position: int  # 1 is next; 0: in the queue of an engine, which knows
    starts_now: bool = False
    places: tuple[Placement, ...] = ()
    more_nodes: int = 0  # nodes left out of `nodes` because they have less free
    holders: tuple[Holder, ...] = ()
    clear: tuple[str, ...] = ()  # what does not block it
    suggestions: tuple[Suggestion, ...] = ()
    eta: Eta | None = None
