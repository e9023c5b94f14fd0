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

count = integer(1, 100_000)
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6})?)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Layout:
    nodes: int
    per_node: int  # tasks on each
    tasks: int | None  # where the script says how many, in whatever way
    key: Path  # what says how many nodes


@dataclass(frozen=True, slots=True)
class Asked:
    """Cards the script asks for; two of these say how many nodes or tasks there are."""

    job: int = 0
    node: int = 0
    task: int = 0


@dataclass(frozen=True, slots=True)
class Room:
    """CPUs and cards of the largest node; 0: not known."""

    cpus: float = 0
    cards: int = 0

    def nodes_for(self, tasks: int, cpus: int, cards: Asked) -> int:
        """How many nodes Slurm would take where the script does not say: as few as will do."""
        fit = tasks
        if self.cpus >= cpus:
            fit = min(fit, int(self.cpus // cpus))
        if cards.task and self.cards >= cards.task:
            fit = min(fit, self.cards // cards.task)
        needed = math.ceil(tasks / fit)
        return max(needed, math.ceil(cards.job / self.cards)) if self.cards else needed


def lay_out(draft: Draft, given: Mapping[str, str], cards: Asked, room: Room) -> Layout:
    tasks = _number(draft, given, "ntasks")
    each = _number(draft, given, "ntasks-per-node")
    key: Path = ("--nodes",)
    least, most = _nodes(draft, given)
    if tasks is None and each is None:
        tasks, each = _by_cards(draft, given, cards)
    few = room.nodes_for(tasks or 1, _number(draft, given, "cpus-per-task") or 1, cards)
    nodes = min(max(least, few), most) if least else None
    if least < most:
        draft.note(key, f"a number is needed: {nodes} nodes", f"需要确定的数：{nodes} 个节点")
    if nodes is None and _listed(given) > 1:
        nodes, key = _listed(given), ("--nodelist",)  # the job has all of them
    if nodes is None and cards.job and cards.node:
        nodes, key = math.ceil(cards.job / cards.node), ("--gpus-per-node",)
    if nodes is None and tasks and each:
        nodes = math.ceil(tasks / each)
    if nodes is not None and tasks and tasks < nodes:
        draft.note(
            key,
            f"too few tasks ({tasks}) for {nodes} nodes: as many nodes as tasks, as Slurm does it",
            f"{tasks} 个任务用不满 {nodes} 个节点：与 Slurm 一样，用 {tasks} 个节点",
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
            f"is the most there may be; --ntasks={tasks} leaves {each} for a node",
            f"只是上限；--ntasks={tasks} 使每个节点最多 {each} 个任务",
        )
    return Layout(nodes, each, tasks, key)


def _tell(draft: Draft, key: Path, nodes: int, tasks: int | None) -> None:
    if nodes > 1:
        draft.note(
            key,
            f"no node has room for all of it: {nodes} nodes",
            f"没有节点放得下全部：用 {nodes} 个节点",
        )
    elif tasks and tasks > 1:
        draft.note(
            key,
            f"without --nodes all {tasks} tasks share one node",
            f"没有 --nodes，{tasks} 个任务在同一个节点上",
        )


def _by_cards(
    draft: Draft, given: Mapping[str, str], cards: Asked
) -> tuple[int | None, int | None]:
    """Tasks of the job, or of a node, where cards count them."""
    many = _number(draft, given, "ntasks-per-gpu")
    if cards.job and (many or cards.task):
        return (cards.job * many if many else math.ceil(cards.job / cards.task)), None
    if cards.node and (many or cards.task):
        return None, (cards.node * many if many else math.ceil(cards.node / cards.task))
    return None, None


def _number(draft: Draft, given: Mapping[str, str], name: str) -> int | None:
    value = given.get(name)
    return None if value is None else draft.read(count, value.strip(), (f"--{name}",))


def _listed(given: Mapping[str, str]) -> int:
    """How many nodes are named; what is wrong with the names is told by whoever puts them."""
    try:
        return len(read_names(given.get("nodelist", "")))
    except Wrong:
        return 0


def _nodes(draft: Draft, given: Mapping[str, str]) -> tuple[int, int]:
    """The fewest and the most; 0 where the script does not say."""
    value = given.get("nodes")
    if value is None:
        return 0, 0
    key = ("--nodes",)
    match = _RANGE.fullmatch(value.strip())
    if match is None or not int(match[1]):
        draft.refuse(
            key, value, "is not a number of nodes; write 2 or 2-4", "不是节点数；请写 2 或 2-4"
        )
        return 0, 0
    return int(match[1]), max(int(match[1]), int(match[2] or 0))
