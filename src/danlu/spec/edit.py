"""Changes to a job that has not started: the resources it asks for, its place and its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from danlu.spec.complete import complete
from danlu.spec.completion import SINGLE_ROLE
from danlu.spec.defaults import Defaults
from danlu.spec.errors import Finding, Path, spec_error
from danlu.spec.job import JobSpec
from danlu.spec.native import to_native
from danlu.spec.text import Text
from danlu.spec.units import exact_size, parse_size

Values = dict[str, Any]
ROLE_KEYS = ("gpus", "cpus", "memory", "count")
JOB_KEYS = ("queue", "priority", "time_limit", "idle_limit", "nodes", "preemptible")


def edited(spec: JobSpec, changes: Mapping[str, Any], defaults: Defaults) -> JobSpec:
    """The job with these keys of a native file changed; null resets a key to its default.

    With fewer or more GPUs, CPUs and memory change in proportion unless they are given too. Raises
    `SpecError` with all errors.
    """
    findings = _unknown(spec, changes)
    if findings:
        raise spec_error(findings)
    values = to_native(spec)
    single = _is_single(spec)
    asked: Mapping[str, Any] = changes.get("roles") or {}
    if single:
        asked = {SINGLE_ROLE: {key: changes[key] for key in ROLE_KEYS if key in changes}}
    for name, role in asked.items():
        _change_role(values if single else values["roles"][name], role)
    values |= {key: changes[key] for key in JOB_KEYS if key in changes}
    found = complete({key: value for key, value in values.items() if value is not None}, defaults)
    return replace(
        spec,
        roles=found.roles,
        queue=found.queue,
        priority=found.priority,
        time_limit=found.time_limit,
        idle_limit=found.idle_limit if "idle_limit" in changes else spec.idle_limit,
        nodes=found.nodes,
        preemptible=found.preemptible,
    )


def differences(before: JobSpec, after: JobSpec) -> dict[str, list[Any]]:
    """Key -> old and new value; keys of a role are written `role.key`."""
    old, new = _flat(before), _flat(after)
    keys = (key for key in dict.fromkeys((*old, *new)) if old.get(key) != new.get(key))
    return {key: [old.get(key), new.get(key)] for key in keys}


def _flat(spec: JobSpec) -> Values:
    native = to_native(spec)
    roles: Mapping[str, Values] = native.get("roles") or {"": native}
    flat = {key: native.get(key) for key in JOB_KEYS}
    for name, role in roles.items():
        prefix = f"{name}." if name else ""
        flat |= {prefix + key: role.get(key) for key in ROLE_KEYS}
    return flat


def _is_single(spec: JobSpec) -> bool:
    return len(spec.roles) == 1 and spec.roles[0].name == SINGLE_ROLE


def _change_role(values: Values, changes: Mapping[str, Any]) -> None:
    before = _count(values.get("gpus"))
    values |= changes
    after = _count(values.get("gpus"))
    if before and after and before != after:
        part = after / before
        if "cpus" not in changes:
            values["cpus"] = max(0.1, round(float(values["cpus"]) * part, 3))
        if "memory" not in changes:
            values["memory"] = _scaled(values["memory"], part)
    if "memory" in changes or before != after:
        values.pop("shm", None)  # its default follows from the memory
    for key in [key for key, value in values.items() if value is None]:
        del values[key]


def _scaled(memory: Any, part: float) -> str | int:
    return exact_size(int(parse_size(memory) * part))


def _count(gpus: Any) -> float:
    """The number of GPUs of a task, or 0 if there are none or the value is malformed."""
    if isinstance(gpus, dict):
        indexes = gpus.get("indexes")
        named = len(indexes) if isinstance(indexes, list) else None
        gpus = named or gpus.get("count") or gpus.get("fraction")
    if isinstance(gpus, str):
        gpus = gpus.partition(":")[0]
    try:
        return float(gpus or 0)
    except (TypeError, ValueError):
        return 0.0


def _unknown(spec: JobSpec, changes: Mapping[str, Any]) -> list[Finding]:
    single = _is_single(spec)
    keys = (*JOB_KEYS, *ROLE_KEYS) if single else (*JOB_KEYS, "roles")
    findings = [_not_editable((key,), changes[key], keys) for key in changes if key not in keys]
    roles = changes.get("roles")
    if single or roles is None:
        return findings
    if not isinstance(roles, dict):
        return [*findings, _no_mapping(("roles",), roles)]
    names = [role.name for role in spec.roles]
    for name, role in roles.items():
        if name not in names:
            listed = ", ".join(names)
            message = Text(f"is not a role of the job: {listed}", f"不是此任务的角色：{listed}")
            findings.append(Finding(("roles",), name, message))
        elif not isinstance(role, dict):
            findings.append(_no_mapping(("roles", name), role))
        else:
            findings += [
                _not_editable(("roles", name, key), role[key], ROLE_KEYS)
                for key in role
                if key not in ROLE_KEYS
            ]
    return findings


def _not_editable(path: Path, value: Any, keys: tuple[str, ...]) -> Finding:
    listed = ", ".join(keys)
    return Finding(
        path,
        value,
        Text(
            f"cannot be changed in a waiting job; what can: {listed}. `danlu clone` submits a "
            "changed copy",
            f"不能在等待的任务中修改；可修改：{listed}。`danlu clone` 可提交修改后的副本",
        ),
    )


def _no_mapping(path: Path, value: Any) -> Finding:
    return Finding(path, value, Text("must be a mapping", "请写成映射"))
