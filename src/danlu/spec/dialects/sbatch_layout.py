"""Nodes and tasks of an sbatch script: what it asks for, and what Slurm makes of it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.node_names import read_names
from danlu.spec.errors import Path, Wrong
from danlu.spec.fields import integer
from danlu.spec.text import Text

count = integer(1, 100_000)
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6})?)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Layout:
    nodes: int
    per_node: int  # tasks per node
    tasks: int | None  # whether the script sets it, in any way
    key: Path  # what sets the number of nodes


@dataclass(frozen=True, slots=True)
class Asked:
    """GPUs the script asks for; two of these set the number of nodes or tasks."""

    job: int = 0
    node: int = 0
    task: int = 0


@dataclass(frozen=True, slots=True)
class Room:
    """CPUs and GPUs of the largest node; 0: unknown."""

    cpus: float = 0
    gpus: int = 0

    def nodes_for(self, tasks: int, cpus: int, gpus: Asked) -> int:
        """How many nodes Slurm would use if the script does not say: as few as possible."""
        fit = tasks
        if self.cpus >= cpus:
            fit = min(fit, int(self.cpus // cpus))
        if gpus.task and self.gpus >= gpus.task:
            fit = min(fit, self.gpus // gpus.task)
        needed = math.ceil(tasks / fit)
        return max(needed, math.ceil(gpus.job / self.gpus)) if self.gpus else needed


def lay_out(draft: Draft, given: Mapping[str, str], gpus: Asked, room: Room) -> Layout:
    tasks = _number(draft, given, "ntasks")
    each = _number(draft, given, "ntasks-per-node")
    key: Path = ("--nodes",)
    least, most = _nodes(draft, given)
    if tasks is None and each is None:
        tasks, each = _by_gpus(draft, given, gpus)
    few = room.nodes_for(tasks or 1, _number(draft, given, "cpus-per-task") or 1, gpus)
    nodes = min(max(least, few), most) if least else None
    if least < most:
        draft.note(
            key,
            Text(f"a fixed number is needed: using {nodes} nodes", f"需要确定的数：{nodes} 个节点"),
        )
    if nodes is None and _listed(given) > 1:
        nodes, key = _listed(given), ("--nodelist",)  # the job gets all of them
    if nodes is None and gpus.job and gpus.node:
        nodes, key = math.ceil(gpus.job / gpus.node), ("--gpus-per-node",)
    if nodes is None and tasks and each:
        nodes = math.ceil(tasks / each)
    if nodes is not None and tasks and tasks < nodes:
        draft.note(
            key,
            Text(
                f"too few tasks ({tasks}) for {nodes} nodes: using as many nodes as tasks, like "
                "Slurm",
                f"{tasks} 个任务用不满 {nodes} 个节点：与 Slurm 一样，用 {tasks} 个节点",
            ),
        )
        nodes = tasks
    if nodes is None:
        nodes, key = few, ("--ntasks" if "ntasks" in given else "--gpus",)
        _tell(draft, key, few, tasks)
    if each is None:
        each = math.ceil(tasks / nodes) if tasks else 1
    elif tasks and each > tasks - (nodes - 1):
        each = tasks - (nodes - 1)
        draft.note(
            ("--ntasks-per-node",),
            Text(
                f"is only the maximum; --ntasks={tasks} leaves {each} per node",
                f"只是上限；--ntasks={tasks} 使每个节点最多 {each} 个任务",
            ),
        )
    return Layout(nodes, each, tasks, key)


def _tell(draft: Draft, key: Path, nodes: int, tasks: int | None) -> None:
    if nodes > 1:
        draft.note(
            key,
            Text(
                f"no single node has room: using {nodes} nodes",
                f"没有节点放得下全部：用 {nodes} 个节点",
            ),
        )
    elif tasks and tasks > 1:
        draft.note(
            key,
            Text(
                f"without --nodes all {tasks} tasks share one node",
                f"没有 --nodes，{tasks} 个任务在同一个节点上",
            ),
        )


def _by_gpus(draft: Draft, given: Mapping[str, str], gpus: Asked) -> tuple[int | None, int | None]:
    """Tasks per job, or per node, if GPUs determine them."""
    many = _number(draft, given, "ntasks-per-gpu")
    if gpus.job and (many or gpus.task):
        return (gpus.job * many if many else math.ceil(gpus.job / gpus.task)), None
    if gpus.node and (many or gpus.task):
        return None, (gpus.node * many if many else math.ceil(gpus.node / gpus.task))
    return None, None


def _number(draft: Draft, given: Mapping[str, str], name: str) -> int | None:
    value = given.get(name)
    return None if value is None else draft.read(count, value.strip(), (f"--{name}",))


def _listed(given: Mapping[str, str]) -> int:
    """How many nodes are named; errors in the names are reported elsewhere."""
    try:
        return len(read_names(given.get("nodelist", "")))
    except Wrong:
        return 0


def _nodes(draft: Draft, given: Mapping[str, str]) -> tuple[int, int]:
    """The minimum and maximum; 0 if the script does not say."""
    value = given.get("nodes")
    if value is None:
        return 0, 0
    key = ("--nodes",)
    match = _RANGE.fullmatch(value.strip())
    if match is None or not int(match[1]):
        draft.refuse(
            key,
            value,
            Text("is not a number of nodes; use 2 or 2-4", "不是节点数；请写 2 或 2-4"),
        )
        return 0, 0
    return int(match[1]), max(int(match[1]), int(match[2] or 0))
