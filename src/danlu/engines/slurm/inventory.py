"""What Slurm has: partitions, nodes, GPUs, and the jobs of people who use it directly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from danlu.engines.api import GpuInfo, Holder, NodeInfo, Partition
from danlu.engines.slurm import fields
from danlu.engines.slurm.node_states import node_word
from danlu.engines.slurm.queue import Entry

# Whatever follows a state with + or a sign: `IDLE+DRAIN`, `DOWN*`, `IDLE~`.
_OUT = frozenset(
    {
        "DOWN",
        "DRAIN",
        "DRAINED",
        "DRAINING",
        "FAIL",
        "FAILING",
        "MAINT",
        "NOT_RESPONDING",
        "POWERED_DOWN",
        "POWERING_DOWN",
        "POWER_DOWN",
        "REBOOT_ISSUED",
        "REBOOT_REQUESTED",
        "INVALID_REG",
        "ERROR",
        "FUTURE",
        "UNKNOWN",
    }
)
_SLEEPS = frozenset({"POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN"})  # Slurm wakes it for a job
_NODE_KEYS = (
    "NodeName",
    "CPUAlloc",
    "CPUEfctv",
    "CPUTot",
    "CPULoad",
    "AvailableFeatures",
    "ActiveFeatures",
    "Gres",
    "GresDrain",
    "GresUsed",
    "NodeAddr",
    "NodeHostName",
    "Port",
    "Version",
    "OS",
    "RealMemory",
    "AllocMem",
    "FreeMem",
    "Sockets",
    "State",
    "ThreadsPerCore",
    "TmpDisk",
    "Partitions",
    "BootTime",
    "CfgTRES",
    "AllocTRES",
    "CapWatts",
    "Reason",
    "Comment",
    "Extra",
    "Owner",
    "Weight",
)
_SENTENCES = frozenset({"Reason", "Comment", "Extra", "OS"})
_NODE = re.compile(r"(?:^|\s)(" + "|".join(_NODE_KEYS) + r")=")
_REASON = re.compile(r"\s*\[([^\]@]*)@([^\]]*)\]\s*$")
_PARTS = re.compile(r"\sNodes=(\S+) CPU_IDs=\S* Mem=(\d+) GRES=(\S*)")
_JOB = re.compile(r"^JobId=(\d+)")


@dataclass(frozen=True, slots=True)
class Node:
    """A node as Slurm describes it; `info` is what Danlu shows of it."""

    info: NodeInfo
    state: str
    since: str = ""  # when it was set down or drained, as Slurm prints it
    by: str = ""
    load: float | None = None
    memory_used: int | None = None


def nodes(text: str) -> tuple[Node, ...]:
    """From `scontrol --oneliner --detail show node`."""
    return from_values(_values(line) for line in text.splitlines())


def from_values(found: Iterable[Mapping[str, str]]) -> tuple[Node, ...]:
    return tuple(_node(values) for values in found if values.get("NodeName"))


def _values(line: str) -> dict[str, str]:
    keys = list(_NODE.finditer(line))
    ends = [match.start() for match in keys[1:]] + [len(line)]
    found: dict[str, str] = {}
    for match, end in zip(keys, ends, strict=True):
        value = line[match.end() : end].strip()
        found[match[1]] = value if match[1] in _SENTENCES else value.partition(" ")[0]
    return found


def _node(values: Mapping[str, str]) -> Node:
    state = values.get("State", "UNKNOWN")
    said = fields.known(values.get("Reason", ""))
    signed = _REASON.search(said)
    reason = said[: signed.start()] if signed else said
    up = is_up(state)
    info = NodeInfo(
        name=values["NodeName"],
        cpus=float(values.get("CPUEfctv") or values.get("CPUTot") or 0),
        memory=int(values.get("RealMemory") or 0) << 20,
        gpus=_gpus(values.get("Gres", "")),
        address=values.get("NodeAddr") or values["NodeName"],
        up=up,
        note=_note(state, reason, up),
        words=node_word(state, reason).words,
        labels=_features(values.get("ActiveFeatures", "")),
        partitions=tuple(filter(None, fields.known(values.get("Partitions", "")).split(","))),
    )
    free, real = values.get("FreeMem", ""), info.memory
    used = max(0, real - (int(free) << 20)) if free.isdigit() else None
    load = values.get("CPULoad", "")
    measured = float(load) if re.fullmatch(r"[0-9.]+", load) else None
    return Node(
        info, state, signed[2] if signed else "", signed[1] if signed else "", measured, used
    )


def is_up(state: str) -> bool:
    """Whether jobs may start there, now or when it is free."""
    words = set(re.split(r"[+]", state.upper().replace("*", "+NOT_RESPONDING")))
    words = {re.sub(r"[^A-Z_]", "", word) for word in words}
    return not (words & (_OUT - _SLEEPS))


def _note(state: str, reason: str, up: bool) -> str:
    if up:
        return reason
    return f"{state}: {reason}" if reason else state


def _gpus(gres: str) -> tuple[GpuInfo, ...]:
    found: list[GpuInfo] = []
    for model, count in fields.gpus(gres):
        found += [GpuInfo(len(found) + place, model) for place in range(count)]
    return tuple(found)


def named(found: Iterable[Node], models: Mapping[str, str]) -> tuple[NodeInfo, ...]:
    """With GPUs named as users name them. `models`: model -> gres type, or constraint."""
    names = {gres.casefold(): model for model, gres in models.items()}
    return tuple(
        replace(
            node.info,
            gpus=tuple(
                replace(gpu, model=names.get(gpu.model.casefold(), gpu.model))
                for gpu in node.info.gpus
            ),
        )
        for node in found
    )


def _features(text: str) -> tuple[str, ...]:
    return tuple(filter(None, fields.known(text).split(",")))


def partitions(text: str) -> tuple[Partition, ...]:
    """From `scontrol --oneliner show partition`."""
    found = []
    for line in text.splitlines():
        values = dict(re.findall(r"(?:^|\s)([A-Za-z]+)=(\S*)", line))
        if values.get("PartitionName"):
            found.append(
                Partition(
                    values["PartitionName"],
                    values.get("State") == "UP",
                    values.get("Default") == "YES",
                    fields.seconds(values.get("MaxTime", "")),
                    fields.hosts(values.get("Nodes", "")),
                )
            )
    return tuple(found)


def used_gpus(text: str) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
    """(job, node) -> memory and GPUs, from `scontrol --oneliner --detail show job`."""
    found: dict[tuple[str, str], tuple[int, tuple[int, ...]]] = {}
    for line in text.splitlines():
        job = _JOB.match(line)
        if job is None:
            continue
        for names, memory, gres in _PARTS.findall(line):
            for name in fields.hosts(names):
                found[(job[1], name)] = (int(memory) << 20, fields.indexes(gres))
    return found


def holders(
    entries: Iterable[Entry],
    parts: Mapping[tuple[str, str], tuple[int, tuple[int, ...]]],
    ours: frozenset[str],
) -> tuple[Holder, ...]:
    """Jobs that run and are not ours, on each of their nodes. `ours`: numbers of Slurm's."""
    found = []
    for entry in entries:
        if not entry.active or entry.id in ours or entry.number in ours:
            continue
        share = entry.cpus / max(1, len(entry.nodes))
        for node in entry.nodes:
            memory, taken = parts.get((entry.number, node), (entry.memory, ()))
            found.append(
                Holder(
                    entry.id,
                    entry.user,
                    node,
                    entry.name,
                    entry.partition,
                    len(taken) or entry.gpus,
                    taken,
                    share,
                    memory,
                    entry.starts,
                    entry.ends,
                )
            )
    return tuple(found)
