"""`JobSpec` to plain JSON values and back: how jobs are stored and shown.

Written by hand because it runs for every job that is queued, started or listed. Keys with their
default value are omitted, so rows stay small and a new key needs no migration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from danlu.spec.job import (
    ANY_NODE,
    NO_FILES,
    After,
    Array,
    Bundle,
    Command,
    Dependency,
    Files,
    GpuRequest,
    JobSpec,
    Kind,
    Mount,
    NodeChoice,
    Processes,
    Resources,
    Role,
    RunAs,
    Sampling,
    Search,
    Stdin,
    Variables,
)

Values = dict[str, Any]


def to_values(spec: JobSpec) -> Values:
    values: Values = {
        "name": spec.name,
        "kind": spec.kind.value,
        "roles": [_role_values(role) for role in spec.roles],
        "queue": spec.queue,
        "group": spec.group,
        "priority": spec.priority,
        "time_limit": spec.time_limit,
        "retries": spec.retries,
        "grace": spec.grace,
    }
    if spec.idle_limit is not None:
        values["idle_limit"] = spec.idle_limit
    if spec.after:
        values["after"] = [{"job": each.job, "when": each.after.value} for each in spec.after]
    if spec.array is not None:
        values["array"] = {"runs": runs(spec.array.indexes), "limit": spec.array.limit}
    if spec.stdin is not Stdin.NONE:
        values["stdin"] = spec.stdin.value
    if spec.split_output:
        values["split_output"] = True
    if spec.log_cap is not None:
        values["log_cap"] = spec.log_cap
    if spec.held:
        values["held"] = True
    if spec.variables is not Variables.DANLU:
        values["variables"] = spec.variables.value
    if spec.search is not None:
        found = spec.search
        values["search"] = {
            "space": found.space,
            "sampling": found.sampling.value,
            "seed": found.seed,
        }
    if spec.files is not NO_FILES and spec.files != NO_FILES:
        values["files"] = [
            spec.files.output,
            spec.files.error,
            spec.files.input,
            spec.files.append,
        ]
    if spec.login:
        values["login"] = True
    if spec.build:
        values["build"] = True
    if spec.nodes is not ANY_NODE and spec.nodes != ANY_NODE:
        values["nodes"] = [list(spec.nodes.only), list(spec.nodes.exclude), list(spec.nodes.labels)]
    if spec.preemptible:
        values["preemptible"] = True
    if spec.bundle is not None:
        values["bundle"] = [spec.bundle.id, spec.bundle.folder]
    if spec.datasets:
        values["datasets"] = list(spec.datasets)
    return values


def _role_values(role: Role) -> Values:
    need = role.resources
    values: Values = {
        "name": role.name,
        "count": role.count,
        "command": {"run_as": role.command.run_as.value, "words": list(role.command.words)},
        "gpus": {
            "count": need.gpus.count,
            "model": need.gpus.model,
            "fraction": need.gpus.fraction,
            **({"indexes": list(need.gpus.indexes)} if need.gpus.indexes else {}),
        },
        "cpus": need.cpus,
        "memory": need.memory,
        "shm": need.shm,
    }
    if role.image is not None:
        values["image"] = role.image
    if role.env:
        values["env"] = dict(role.env)
    if role.secrets:
        values["secrets"] = dict(role.secrets)
    if role.mounts:
        values["mounts"] = [
            {
                "volume": mount.volume,
                "path": mount.path,
                "read_only": mount.read_only,
                **({"folder": mount.folder} if mount.folder else {}),
            }
            for mount in role.mounts
        ]
    if role.ports:
        values["ports"] = dict(role.ports)
    if role.workdir is not None:
        values["workdir"] = role.workdir
    if role.processes is not Processes.ONE:
        values["processes"] = role.processes.value
    if role.min_failed != 1:
        values["min_failed"] = role.min_failed
    if role.min_succeeded:
        values["min_succeeded"] = role.min_succeeded
    return values


def from_values(values: Values) -> JobSpec:
    get = values.get
    array, search = get("array"), get("search")
    return JobSpec(
        name=values["name"],
        kind=Kind(values["kind"]),
        roles=tuple([_role(role) for role in values["roles"]]),
        queue=values["queue"],
        group=get("group"),
        priority=values["priority"],
        time_limit=get("time_limit"),
        idle_limit=get("idle_limit"),
        retries=values["retries"],
        grace=values["grace"],
        after=tuple([Dependency(each["job"], After(each["when"])) for each in get("after", ())]),
        array=None if array is None else _array(array),
        stdin=Stdin(get("stdin", "none")),
        split_output=get("split_output", False),
        log_cap=get("log_cap"),
        held=get("held", False),
        variables=Variables(get("variables", "danlu")),
        search=None if search is None else _search(search),
        files=Files(*values["files"]) if "files" in values else NO_FILES,
        nodes=NodeChoice(*map(tuple, values["nodes"])) if "nodes" in values else ANY_NODE,
        preemptible=get("preemptible", False),
        login=get("login", False),
        bundle=Bundle(*values["bundle"]) if "bundle" in values else None,
        datasets=tuple(get("datasets", ())),
        build=get("build", False),
    )


def _search(values: Values) -> Search:
    return Search(values["space"], Sampling(values["sampling"]), values["seed"])


def _role(values: Values) -> Role:
    get = values.get
    command, gpus = values["command"], values["gpus"]
    return Role(
        name=values["name"],
        count=values["count"],
        command=Command(RunAs(command["run_as"]), tuple(command["words"])),
        resources=Resources(
            gpus=GpuRequest(
                gpus["count"], gpus["model"], gpus["fraction"], tuple(gpus.get("indexes", ()))
            ),
            cpus=values["cpus"],
            memory=values["memory"],
            shm=values["shm"],
        ),
        image=get("image"),
        env=get("env") or {},
        secrets=get("secrets") or {},
        mounts=tuple(
            [
                Mount(each["volume"], each["path"], each["read_only"], each.get("folder", ""))
                for each in get("mounts", ())
            ]
        ),
        ports=get("ports") or {},
        workdir=get("workdir"),
        processes=Processes(get("processes", "one")),
        min_failed=get("min_failed", 1),
        min_succeeded=get("min_succeeded", 0),
    )


def runs(indexes: Sequence[int]) -> list[list[int]]:
    """As first, step and count: every element of an array carries this, and 0-9999 is short."""
    found: list[list[int]] = []
    for index in indexes:
        last = found[-1] if found else None
        if last is None or (last[2] > 1 and index != last[0] + last[1] * last[2]):
            found.append([index, 1, 1])
        elif last[2] == 1:
            last[1:] = [index - last[0], 2]
        else:
            last[2] += 1
    return found


def _array(values: Mapping[str, Any]) -> Array:
    if "indexes" in values:  # as earlier versions stored it
        return Array(tuple(values["indexes"]), values["limit"])
    return Array(_indexes(tuple(map(tuple, values["runs"]))), values["limit"])


@lru_cache(64)
def _indexes(found: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """Kept: all elements of an array share the one list."""
    return tuple(first + step * n for first, step, count in found for n in range(count))
