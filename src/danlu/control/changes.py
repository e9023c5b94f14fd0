"""The change behind a suggestion, in the keys that `edit` accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from danlu.sched.api import TaskShape, Waiting
from danlu.spec.completion import SINGLE_ROLE
from danlu.spec.job import JobSpec
from danlu.spec.units import exact_duration, exact_size

Values = dict[str, Any]


def change_of(spec: JobSpec, before: Waiting, after: Waiting) -> Values:
    """The keys of `edit` that turn one into the other."""
    values: Values = {}
    if after.queue != before.queue:
        values["queue"] = after.queue
    if after.time_limit is not None and after.time_limit != before.time_limit:
        values["time_limit"] = exact_duration(after.time_limit)
    if _place(after.shapes[0]) != _place(before.shapes[0]):
        values["nodes"] = None
    if len(spec.roles) == 1 and spec.roles[0].name == SINGLE_ROLE:
        values |= _role(before.shapes[0], after.shapes[0])
        if len(after.shapes) != len(before.shapes):
            values["count"] = len(after.shapes)
        return values
    roles: Mapping[str, Values] = {
        role.name: _role(before.shapes[at], after.shapes[at])
        for role, at in zip(spec.roles, _firsts(spec), strict=True)
    }
    changed = {name: role for name, role in roles.items() if role}
    return {**values, "roles": changed} if changed else values


def _firsts(spec: JobSpec) -> list[int]:
    """The number of the first task of each role."""
    firsts, at = [], 0
    for role in spec.roles:
        firsts.append(at)
        at += role.count
    return firsts


def _place(shape: TaskShape) -> tuple[frozenset[str], ...]:
    return shape.labels, shape.include, shape.exclude


def _role(before: TaskShape, after: TaskShape) -> Values:
    values: Values = {}
    if _asked(after) != _asked(before):
        values["gpus"] = _gpus(after)
    if after.cpus != before.cpus or "gpus" in values:
        values["cpus"] = int(after.cpus) if float(after.cpus).is_integer() else after.cpus
    if after.memory != before.memory or "gpus" in values:
        values["memory"] = exact_size(after.memory)
    return values


def _asked(shape: TaskShape) -> tuple[object, ...]:
    return shape.gpus, shape.share, shape.model, shape.indexes


def _gpus(shape: TaskShape) -> int | float | Values:
    model = {} if shape.model is None else {"model": shape.model}
    if shape.indexes:
        return {"indexes": list(shape.indexes), **model}
    if shape.share:
        part = shape.share / 1000
        return {"fraction": part, **model} if model else part
    return {"count": shape.gpus, **model} if model else shape.gpus
