"""Writes a `JobSpec` as a native job file, the way a person would.

Resources are written in full, so that the file means the same under other defaults; unless the file
is to be changed, where what follows from the GPUs should follow the change.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from danlu.spec.completion import GRACE, QUEUE, SINGLE_ROLE
from danlu.spec.defaults import Defaults
from danlu.spec.job import (
    After,
    Bundle,
    GpuRequest,
    JobSpec,
    Kind,
    Processes,
    Resources,
    Role,
    RunAs,
    Sampling,
    Search,
    Stdin,
    Variables,
)
from danlu.spec.refs import format_array
from danlu.spec.units import exact_duration, exact_size

Values = dict[str, Any]


def to_native(spec: JobSpec, leave_out: Defaults | None = None) -> Values:
    """The values of a native job. `leave_out`: without the resources these defaults would give."""
    values: Values = {"name": spec.name}
    if spec.kind is not Kind.TRAIN:
        values["kind"] = spec.kind.value
    if len(spec.roles) == 1 and spec.roles[0].name == SINGLE_ROLE:
        values |= _role(spec.roles[0], leave_out)
    else:
        values["roles"] = {role.name: _role(role, leave_out) for role in spec.roles}
    values["queue"] = None if spec.queue == _usual_queue(spec, leave_out) else spec.queue
    values["group"] = spec.group
    values["priority"] = spec.priority or None
    values["time_limit"] = None if spec.time_limit is None else exact_duration(spec.time_limit)
    values["idle_limit"] = None if spec.idle_limit is None else exact_duration(spec.idle_limit)
    values["retries"] = spec.retries or None
    values["grace"] = None if spec.grace == GRACE else exact_duration(spec.grace)
    values["after"] = [
        each.job if each.after is After.SUCCEEDED else {"job": each.job, "when": each.after.value}
        for each in spec.after
    ]
    values["array"] = None if spec.array is None else format_array(spec.array)
    values["stdin"] = None if spec.stdin is Stdin.NONE else spec.stdin.value
    values["split_output"] = spec.split_output or None
    values["log_cap"] = None if spec.log_cap is None else exact_size(spec.log_cap)
    values["held"] = spec.held or None
    values["variables"] = None if spec.variables is Variables.DANLU else spec.variables.value
    values["search"] = None if spec.search is None else _search(spec.search)
    values["files"] = {
        key: value for key, value in asdict(spec.files).items() if value not in (None, False)
    }
    values["nodes"] = {key: list(names) for key, names in asdict(spec.nodes).items() if names}
    values["preemptible"] = spec.preemptible or None
    values["bundle"] = None if spec.bundle is None else _bundle(spec.bundle)
    values["datasets"] = list(spec.datasets)
    return {key: value for key, value in values.items() if value not in (None, [], {})}


def _bundle(bundle: Bundle) -> Any:
    return {"id": bundle.id, "folder": bundle.folder} if bundle.folder else bundle.id


def _usual_queue(spec: JobSpec, leave_out: Defaults | None) -> str | None:
    """None: it has to be written down. Environments may have another default."""
    if leave_out is not None:
        return leave_out.queue(spec.kind)
    return None if spec.kind is Kind.ENVIRONMENT else QUEUE


def _role(role: Role, leave_out: Defaults | None) -> Values:
    values: Values = {}
    words = list(role.command.words)
    match role.command.run_as:
        case RunAs.SHELL:
            values["command"] = words[0]
        case RunAs.ARGV:
            values["command"] = words
        case RunAs.SCRIPT:
            values["script"] = words[0]
            values["args"] = words[1:]
        case RunAs.TOOL:
            values["tool"] = words[0]
            values["args"] = words[1:]
    need = role.resources
    values["image"] = role.image
    values["count"] = None if role.count == 1 else role.count
    values["gpus"] = _gpus(need.gpus)
    values |= _amounts(need, leave_out)
    values["env"] = dict(role.env)
    values["secrets"] = dict(role.secrets)
    values["mounts"] = [
        {
            "volume": mount.volume,
            "path": mount.path,
            "read_only": mount.read_only,
            **({"folder": mount.folder} if mount.folder else {}),
        }
        for mount in role.mounts
    ]
    values["ports"] = dict(role.ports)
    values["workdir"] = role.workdir
    values["processes"] = None if role.processes is Processes.ONE else role.processes.value
    values["min_succeeded"] = role.min_succeeded or None
    values = {key: value for key, value in values.items() if value not in (None, [], {})}
    if role.min_failed != 1:
        values["min_failed"] = role.min_failed
    return values


def _amounts(need: Resources, leave_out: Defaults | None) -> Values:
    values: Values = {
        "cpus": int(need.cpus) if float(need.cpus).is_integer() else need.cpus,
        "memory": exact_size(need.memory),
        "shm": exact_size(need.shm),
    }
    if leave_out is None:
        return values
    shm = need.shm == leave_out.shm(need.memory)
    memory = leave_out.memory(need.cpus, None if shm else need.shm)
    usual = {
        "cpus": need.cpus == leave_out.cpus(need.gpus),
        "memory": need.memory == memory,
        "shm": shm,
    }
    return {key: value for key, value in values.items() if not usual[key]}


def _search(search: Search) -> Values:
    values: Values = {"space": search.space}
    if search.sampling is not Sampling.RANDOM:
        values["sampling"] = search.sampling.value
    if search.seed:
        values["seed"] = search.seed
    return values


def _gpus(gpus: GpuRequest) -> Any:
    if gpus.indexes:
        model = {} if gpus.model is None else {"model": gpus.model}
        return {"indexes": list(gpus.indexes), **model}
    if gpus.fraction is not None:
        if gpus.model is None:
            return gpus.fraction
        return {"fraction": gpus.fraction, "model": gpus.model}
    if gpus.model is None:
        return gpus.count or None
    return {"count": gpus.count, "model": gpus.model}
