"""Serializes a snapshot and its policy, so that a scheduling bug can be reported as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from math import inf, isinf
from typing import Any, get_type_hints

from danlu.sched import api, reasons
from danlu.sched.api import Policy, Snapshot
from danlu.sched.estimate.history import History
from danlu.sched.memory import Arrivals, Entry, Memory
from danlu.spec.placement import Placement

VERSION = 1
_KIND = "~"
_CLASSES: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        api.GpuState,
        api.NodeState,
        api.TaskShape,
        api.Waiting,
        api.Running,
        api.Quota,
        api.Quotas,
        api.QueuePolicy,
        api.Policy,
        api.Mix,
        api.Claim,
        api.Snapshot,
        reasons.Cause,
        Placement,
        Entry,
        Arrivals,
        Memory,
        History,
    )
}
_CLASSES["TaskPlace"] = Placement  # as files of earlier versions call it


class Unreadable(ValueError):
    """Not a valid dump; the message says why."""


def dump(snapshot: Snapshot, policy: Policy) -> dict[str, Any]:
    """JSON values. They show who requested what, but no commands or secrets."""
    return {
        "danlu": "snapshot",
        "version": VERSION,
        "snapshot": _put(snapshot),
        "policy": _put(policy),
    }


def load(values: object) -> tuple[Snapshot, Policy]:
    if not isinstance(values, Mapping) or values.get("danlu") != "snapshot":
        raise Unreadable('there is no "danlu": "snapshot" in it')
    if values.get("version") != VERSION:
        raise Unreadable(f"its version is {values.get('version')!r}, this Danlu reads {VERSION}")
    try:
        snapshot, policy = _get(values["snapshot"]), _get(values["policy"])
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise Unreadable(str(error) or type(error).__name__) from None
    if not isinstance(snapshot, Snapshot) or not isinstance(policy, Policy):
        raise Unreadable("it does not hold a snapshot and a policy")
    return snapshot, policy


def _put(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {_KIND: "inf", "sign": 1 if value > 0 else -1} if isinf(value) else value
    if is_dataclass(value):
        found: dict[str, Any] = {_KIND: type(value).__name__}
        for field in fields(value):
            content = getattr(value, field.name)
            if field.init and not _is_default(field, content):
                found[field.name] = _put(content)
        return found
    if isinstance(value, frozenset | set):
        return {_KIND: "set", "items": sorted(map(_put, value))}
    if isinstance(value, Mapping):
        return {_KIND: "map", "items": [[_put(key), _put(each)] for key, each in value.items()]}
    if isinstance(value, Sequence):
        return [_put(each) for each in value]
    raise TypeError(f"a {type(value).__name__} cannot be written down")


def _is_default(field: Field[Any], content: Any) -> bool:
    default = field.default
    if default is MISSING:
        if field.default_factory is MISSING:
            return False
        default = field.default_factory()
    if isinstance(default, tuple) and isinstance(content, list):
        content = tuple(content)
    return bool(content == default)


def _get(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_get(each) for each in value)
    if not isinstance(value, Mapping):
        return value
    kind = value.get(_KIND)
    if kind == "inf":
        return inf * value["sign"]
    if kind == "set":
        return frozenset(_get(each) for each in value["items"])
    if kind == "map":
        return {_get(key): _get(each) for key, each in value["items"]}
    cls = _CLASSES.get(str(kind))
    if cls is None:
        raise ValueError(f"it holds an unknown {kind!r}")
    enums = _enums(cls)
    given = {name: _get(each) for name, each in value.items() if name != _KIND}
    return cls(**{name: enums[name](v) if name in enums else v for name, v in given.items()})


@cache
def _enums(cls: Any) -> dict[str, type[Enum]]:
    # By all names there are: some modules import theirs for checking only.
    hints = get_type_hints(cls, localns={**vars(reasons), **vars(api)})
    return {n: h for n, h in hints.items() if isinstance(h, type) and issubclass(h, Enum)}
