"""Quotas of users and groups: GPUs in total and by model, CPUs and memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from danlu.sched.api import (
    WHOLE,
    Basis,
    Cause,
    CauseKind,
    NodeState,
    Quota,
    Quotas,
    Running,
    Snapshot,
    TaskShape,
    Waiting,
)
from danlu.sched.place.free import Need, millicpus, same
from danlu.spec.placement import Placement


@dataclass(slots=True)
class Held:
    """Current usage of a user or group."""

    gpus: int = 0
    millicpus: int = 0
    memory: int = 0
    models: dict[str, int] = field(default_factory=dict)

    def add(
        self, shapes: Sequence[TaskShape], models: Sequence[Sequence[str]], sign: int = 1
    ) -> None:
        """`models`: of each GPU that each task got."""
        for shape, got in zip(shapes, models, strict=True):
            self.gpus += sign * shape.amount
            self.millicpus += sign * millicpus(shape.cpus)
            self.memory += sign * shape.memory
            for model in got:
                self.models[model] = self.models.get(model, 0) + sign * (shape.share or WHOLE)

    def copy(self) -> Held:
        return Held(self.gpus, self.millicpus, self.memory, dict(self.models))

    def of_model(self, model: str) -> int:
        return sum(amount for gpu, amount in self.models.items() if same(model, gpu))


class Tally:
    """Current usage, updated as jobs start in a pass. Empty without quotas."""

    def __init__(self, quotas: Quotas, nodes: Sequence[NodeState], running: Iterable[Running]):
        self.quotas = quotas if quotas.caps else Quotas()
        self.users: dict[str, Held] = {}
        self.groups: dict[str, Held] = {}
        self._models: dict[str, dict[int, str]] | None = None
        self._nodes = nodes
        if self.quotas:
            for job in running:
                self._add(job.owner, job.group, job.shapes, job.places)

    @classmethod
    def of(cls, snapshot: Snapshot) -> Tally:
        return cls(snapshot.quotas, snapshot.nodes, chain(snapshot.running, snapshot.admitted))

    def copy(self) -> Tally:
        twin = Tally.__new__(Tally)
        twin.quotas, twin._models, twin._nodes = self.quotas, self._models, self._nodes
        twin.users = {name: held.copy() for name, held in self.users.items()}
        twin.groups = {name: held.copy() for name, held in self.groups.items()}
        return twin

    def started(self, job: Waiting | Running, places: Sequence[Placement]) -> None:
        if self.quotas:
            self._add(job.owner, job.group, job.shapes, places)

    def ended(self, job: Running) -> None:
        if self.quotas:
            self._add(job.owner, job.group, job.shapes, job.places, -1)

    def over(self, job: Waiting) -> list[Cause]:
        """All quotas this job would exceed."""
        causes = []
        for kind, name, quota, held in self._quotas_of(job):
            for what, limit, used, need in _figures(job.shapes, quota, held):
                if used + need > limit:
                    causes.append(_cause(kind, name, what, limit, used, need))
        return causes

    def within(self, job: Waiting) -> bool:
        if not self.quotas:
            return True
        return not any(
            used + need > limit
            for _, _, quota, held in self._quotas_of(job)
            for _, limit, used, need in _figures(job.shapes, quota, held)
        )

    def barred(self, job: Waiting | Running, models: Iterable[str]) -> frozenset[str]:
        """Models of which it may not have as much as it wants, where it leaves the model open."""
        if not self.quotas:
            return frozenset()
        amount = sum(shape.amount for shape in job.shapes)
        return frozenset(
            model
            for _, _, quota, held in self._quotas_of(job)
            for asked, limit in quota.models.items()
            for model in models
            if same(asked, model) and held.of_model(asked) + amount > limit
        )

    def over_models(self, job: Waiting) -> list[Cause]:
        """The quotas behind `barred`."""
        amount = sum(shape.amount for shape in job.shapes)
        return [
            _cause(kind, name, model, limit, held.of_model(model), amount)
            for kind, name, quota, held in self._quotas_of(job)
            for model, limit in quota.models.items()
            if held.of_model(model) + amount > limit
        ]

    def _quotas_of(self, job: Waiting | Running) -> Iterator[tuple[CauseKind, str, Quota, Held]]:
        quotas = self.quotas
        user = quotas.users.get(job.owner, quotas.user)
        if user is not None:
            yield CauseKind.QUOTA_USER, job.owner, user, self.users.get(job.owner) or Held()
        if job.group is not None:
            group = quotas.groups.get(job.group, quotas.group)
            if group is not None:
                yield CauseKind.QUOTA_GROUP, job.group, group, self.groups.get(job.group) or Held()

    def _add(
        self,
        owner: str,
        group: str | None,
        shapes: Sequence[TaskShape],
        places: Sequence[Placement],
        sign: int = 1,
    ) -> None:
        # If the node is unknown, the requested model counts.
        models = [self.models_at(place) for place in places] or [_named(s) for s in shapes]
        self.users.setdefault(owner, Held()).add(shapes, models, sign)
        if group is not None:
            self.groups.setdefault(group, Held()).add(shapes, models, sign)

    def models_at(self, place: Placement) -> list[str]:
        if not place.gpus:
            return []
        if self._models is None:
            self._models = {
                node.name: {gpu.index: gpu.model for gpu in node.gpus} for node in self._nodes
            }
        known = self._models.get(place.node, {})
        return [known.get(index, "") for index in place.gpus]


def _named(shape: TaskShape) -> list[str]:
    return [shape.model] * (shape.gpus or bool(shape.share)) if shape.model else []


_Figure = tuple[str, float, float, float]  # what, limit, used, needed


def _figures(shapes: Sequence[TaskShape], quota: Quota, held: Held) -> Iterator[_Figure]:
    gpus = sum(shape.amount for shape in shapes)
    if quota.gpus is not None and gpus:
        yield "gpus", quota.gpus, held.gpus, gpus
    if quota.cpus is not None:
        need = sum(millicpus(shape.cpus) for shape in shapes)
        yield "cpus", millicpus(quota.cpus), held.millicpus, need
    if quota.memory is not None:
        yield "memory", quota.memory, held.memory, sum(shape.memory for shape in shapes)
    for model, limit in quota.models.items():
        # Only what can be nothing else: a job that leaves the model open goes to another one.
        need = sum(shape.amount for shape in shapes if _must_be(shape, model))
        if need:
            yield model, limit, held.of_model(model), need


def _must_be(shape: TaskShape, model: str) -> bool:
    wanted = Need(shape)
    if wanted.any_model or not shape.amount:
        return False
    names = {shape.model} if shape.model is not None else set(shape.models)
    return all(name is not None and (same(model, name) or same(name, model)) for name in names)


def _cause(kind: CauseKind, name: str, what: str, limit: float, used: float, need: float) -> Cause:
    scale = 1 if what == "memory" else 1000
    numbers: dict[str, int | float | str] = {
        "who": name,
        "what": what if what in ("gpus", "cpus", "memory") else "model",
        "limit": limit / scale,
        "used": used / scale,
        "need": need / scale,
    }
    if numbers["what"] == "model":
        numbers["model"] = what
    return Cause(kind, Basis.VERIFIED, numbers)
