"""Limits that apply before placement: models per kind of job, quotas and array limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from danlu.sched.api import (
    Basis,
    Cause,
    CauseKind,
    Policy,
    Running,
    Snapshot,
    TaskShape,
    Waiting,
)
from danlu.sched.place.free import Free, Need, same
from danlu.sched.quota import Tally
from danlu.spec.placement import Placement

Shapes = tuple[TaskShape, ...]


class Limits:
    """Updated as jobs start in a pass."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        self.tally = Tally.of(snapshot)
        self.arrays = dict(snapshot.array_active)
        self._policy = policy
        self._snapshot = snapshot
        self._models: frozenset[str] | None = None
        self._narrowed: dict[tuple[Shapes, frozenset[str]], Shapes | None] = {}
        self._promised: set[str] = set()  # counted, though they have not started yet

    def copy(self) -> Limits:
        twin = Limits.__new__(Limits)
        twin.tally, twin.arrays = self.tally.copy(), dict(self.arrays)
        twin._policy, twin._snapshot = self._policy, self._snapshot
        twin._models, twin._narrowed = self._models, self._narrowed
        twin._promised = set(self._promised)
        return twin

    def allows(self, job: Waiting) -> bool:
        return (
            job.blocked is None
            and not array_is_full(job, self.arrays)
            and self.tally.within(job)
            and self.shapes(job) is not None
        )

    def shapes(self, job: Waiting | Running) -> Shapes | None:
        """Its shapes, narrowed to the models it may have now; None: there is none."""
        if not self.tally.quotas and job.kind not in self._policy.kinds:
            return job.shapes
        return self._narrow(job, self._kind_models(job) - self.tally.barred(job, self.models))

    def by_kind(self, job: Waiting) -> Shapes | None:
        """Its shapes, narrowed to the models its kind of work may ever use."""
        if job.kind not in self._policy.kinds:
            return job.shapes
        return self._narrow(job, self._kind_models(job))

    def _narrow(self, job: Waiting | Running, allowed: frozenset[str]) -> Shapes | None:
        if allowed == self.models or not any(shape.amount for shape in job.shapes):
            return job.shapes
        key = (job.shapes, allowed)
        if key not in self._narrowed:
            self._narrowed[key] = _narrow(job.shapes, allowed)
        return self._narrowed[key]

    def started(self, job: Waiting, places: Sequence[Placement]) -> None:
        self.tally.started(job, places)
        if job.array is not None:
            self.arrays[job.array] = self.arrays.get(job.array, 0) + 1

    def promised(self, job: Waiting, places: Sequence[Placement]) -> None:
        """Room is being made for it: nobody takes its part of a quota or array meanwhile."""
        self.started(job, places)
        self._promised.add(job.job_id)

    # -- moves ------------------------------------------------------------------------------------

    def shapes_to_move(self, job: Running) -> Shapes | None:
        """As `shapes`, for a job that would leave its place: what it holds now does not count."""
        if not self.tally.quotas and job.kind not in self._policy.kinds:
            return job.shapes
        without = self.copy()
        without.left(job)
        return without.shapes(job)

    def may_go(self, job: Running, places: Sequence[Placement]) -> bool:
        return self.has_models(job, places)

    def left(self, job: Running) -> None:
        self.tally.ended(job)

    def arrived(self, job: Running, places: Sequence[Placement]) -> None:
        self.tally.started(job, places)

    def moved(self, job: Running, places: Sequence[Placement]) -> None:
        self.left(job)
        self.arrived(job, places)

    def has_models(self, job: Waiting | Running, places: Sequence[Placement]) -> bool:
        """Whether it may have the models of just these GPUs now."""
        if not self.tally.quotas and job.kind not in self._policy.kinds:
            return True
        shapes = self.shapes(job)
        return shapes is not None and all(
            Need(shape).accepts(model)
            for shape, place in zip(shapes, places, strict=True)
            for model in self.tally.models_at(place)
        )

    # -- reasons ----------------------------------------------------------------------------------

    def causes(self, job: Waiting) -> list[Cause]:
        """Everything that blocks it besides resources."""
        causes: list[Cause] = [] if job.blocked is None else [job.blocked]
        if job.job_id in self._promised:
            return causes
        if array_is_full(job, self.arrays):
            causes.append(Cause(CauseKind.ARRAY_LIMIT, numbers={"limit": job.array_limit or 0}))
        causes.extend(self.tally.over(job))
        if self.by_kind(job) is None:
            causes.append(
                Cause(
                    CauseKind.KIND_LIMITED,
                    Basis.VERIFIED,
                    {
                        "kind": job.kind,
                        "models": ", ".join(sorted(self._policy.kinds[job.kind])),
                        "model": next((s.model for s in job.shapes if s.model), "") or "",
                    },
                )
            )
        return causes

    @property
    def models(self) -> frozenset[str]:
        if self._models is None:
            alike = {free.models for free in Free.of_all(self._snapshot.nodes, empty=False)}
            self._models = frozenset(model for models in alike for model in models)
        return self._models

    def _kind_models(self, job: Waiting | Running) -> frozenset[str]:
        listed = self._policy.kinds.get(job.kind)
        if listed is None:
            return self.models
        return frozenset(m for m in self.models if any(same(name, m) for name in listed))


def array_is_full(job: Waiting, active: dict[str, int]) -> bool:
    if job.array is None or job.array_limit is None:
        return False
    return active.get(job.array, 0) >= job.array_limit


def _narrow(shapes: Shapes, allowed: frozenset[str]) -> Shapes | None:
    narrowed = []
    for shape in shapes:
        if not shape.amount:
            narrowed.append(shape)
            continue
        models = frozenset(model for model in allowed if Need(shape).accepts(model))
        if not models:
            return None
        narrowed.append(replace(shape, models=models))
    return tuple(narrowed)
