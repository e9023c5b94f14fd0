"""How many nodes, tasks, CPUs, cards and how much memory an sbatch script asks for."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from danlu.spec.dialects.draft import Draft
from danlu.spec.errors import Path, Wrong, wrong
from danlu.spec.fields import integer
from danlu.spec.units import G, K, M, T

_count = integer(1, 100_000)
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)
_MEMORY = re.compile(r"(\d{1,12}(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.ASCII | re.IGNORECASE)
_UNITS = {"": M, "K": K, "M": M, "G": G, "T": T}
_GPU = re.compile(r"(gpu|shard)(?:[:=](.+?))?(?:\([^)]*\))?", re.ASCII)
# A model may begin with a digit (2080ti, 3g.40gb); digits alone are a count, as for Slurm.
_CARDS = re.compile(r"(?:([A-Za-z0-9][\w.+-]*)[:=])?(\d{1,5})", re.ASCII)
_ONE_CARD = re.compile(r"(?=[\w.+-]*[A-Za-z])([A-Za-z0-9][\w.+-]*)", re.ASCII)
_MODEL = re.compile(
    r"(?:gpu[_-]?)?((?:rtx|gtx|titan|quadro|tesla)?[_-]?"
    r"(?:[kpvtahlm]\d{1,3}[a-z]{0,2}|[1-5]0[5-9]0(?:ti)?|a6000|a5000|mi\d{2,3}x?))"
    r"(?:[_-]?\d{1,3}g[b]?)?",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Cards:
    count: int
    model: str | None
    key: Path


class Needs:
    HANDLED: ClassVar[frozenset[str]] = frozenset(
        {
            "nodes",
            "ntasks",
            "ntasks-per-node",
            "cpus-per-task",
            "cpus-per-gpu",
            "mem",
            "mem-per-cpu",
            "mem-per-gpu",
            "gres",
            "gpus",
            "gpus-per-node",
            "gpus-per-socket",
            "sockets-per-node",
            "gpus-per-task",
            "ntasks-per-gpu",
            "constraint",
            "mincpus",
        }
    )

    def __init__(self, draft: Draft, given: Mapping[str, str]) -> None:
        self._draft = draft
        self._given = given

    def build(self) -> None:
        draft = self._draft
        nodes, per_node = self._layout()
        if nodes > 1:
            draft.put(("count",), nodes, ("--nodes",))
            # The script runs on the first node, and its srun starts tasks on all of them.
            draft.put(("processes",), "batch", ("--nodes",))
        draft.values.setdefault("env", {})
        cards = self._cards(nodes, per_node)
        if cards is not None and cards.count:
            value = {"count": cards.count, "model": cards.model} if cards.model else cards.count
            draft.put(("gpus",), value, cards.key)
        cpus = self._cpus(per_node, cards.count if cards else 0)
        self._memory(cpus, cards.count if cards else 0)
        self._steps(nodes, per_node)

    def _number(self, name: str) -> int | None:
        value = self._given.get(name)
        return None if value is None else self._draft.read(_count, value.strip(), (f"--{name}",))

    def _layout(self) -> tuple[int, int]:
        """Nodes, and tasks on each."""
        tasks = self._number("ntasks")
        each = self._number("ntasks-per-node")
        nodes = self._nodes()
        if nodes is None and tasks and each:
            nodes = math.ceil(tasks / each)
        if nodes is None and tasks and tasks > 1:
            self._draft.note(
                ("--ntasks",),
                f"without --nodes all {tasks} tasks share one node",
                f"没有 --nodes，{tasks} 个任务在同一个节点上",
            )
        nodes = nodes or 1
        if each is None:
            each = math.ceil(tasks / nodes) if tasks else 1
        return nodes, each

    def _nodes(self) -> int | None:
        value = self._given.get("nodes")
        if value is None:
            return None
        key = ("--nodes",)
        match = _RANGE.fullmatch(value.strip())
        if match is None or not int(match[1]):
            self._draft.refuse(
                key, value, "is not a number of nodes; write 2 or 2-4", "不是节点数；请写 2 或 2-4"
            )
            return None
        if match[2] and match[2] != match[1]:
            self._draft.note(
                key, f"a number is needed: {match[1]} nodes", f"需要确定的数：{match[1]} 个节点"
            )
        return int(match[1])

    # -- cards ----------------------------------------------------------------------------------

    def _cards(self, nodes: int, per_node: int) -> Cards | None:
        """Cards of one node."""
        found = self._gres()
        total = self._amount("gpus")
        if total is not None:
            count = math.ceil(total.count / nodes)
            if total.count % nodes:
                self._draft.note(
                    total.key,
                    f"does not divide by {nodes} nodes: {count} on each",
                    f"不能被 {nodes} 个节点整除：每个节点 {count} 张",
                )
            found = Cards(count, total.model, total.key)
        node = self._amount("gpus-per-node")
        if node is not None:
            found = node
        socket = self._amount("gpus-per-socket")
        sockets = self._number("sockets-per-node") or 1
        if socket is not None and node is None:
            found = Cards(socket.count * sockets, socket.model, socket.key)
        task = self._amount("gpus-per-task")
        if task is not None:
            found = Cards(task.count * per_node, task.model, task.key)
        return self._with_constraint(found)

    def _gres(self) -> Cards | None:
        value = self._given.get("gres")
        if value is None or value.strip().lower() in ("none", ""):
            return None
        key = ("--gres",)
        found: Cards | None = None
        for part in _split(value):
            match = _GPU.fullmatch(part.removeprefix("gres:").removeprefix("gres/"))
            if match is None:
                self._draft.note(key, f"{part!r} is not counted here", f"{part!r} 在这里不统计")
                continue
            if found is not None and match[1] == "gpu":
                self._draft.refuse(
                    key, value, "asks for two kinds of cards in one task", "一个任务申请了两种卡"
                )
            count, model = _count_and_model(match[2] or "1")
            if count is None:
                self._draft.refuse(
                    key,
                    part,
                    "is not gpu, gpu:N or gpu:MODEL:N",
                    "应为 gpu、gpu:N 或 gpu:型号:N",
                )
            elif match[1] == "gpu":
                found = Cards(count, model, key)
            elif found is None and count:
                found = Cards(1, model, key)
                self._draft.note(
                    key,
                    f"{part!r}: how large a shard is, is not known here; one whole card is asked"
                    " for",
                    f"{part!r}：这里不知道分片的大小；申请一整张卡",
                )
        return found

    def _amount(self, name: str) -> Cards | None:
        value = self._given.get(name)
        if value is None:
            return None
        key = (f"--{name}",)
        match = _CARDS.fullmatch(value.strip())
        if match is None:
            self._draft.refuse(key, value, "is not N or MODEL:N", "应为 N 或 型号:N")
            return None
        return Cards(int(match[2]), match[1], key)

    def _with_constraint(self, cards: Cards | None) -> Cards | None:
        value = (self._given.get("constraint") or "").strip().strip("\"'")
        if not value:
            return cards
        key = ("--constraint",)
        match = _MODEL.fullmatch(value)
        if match is not None and cards is not None and cards.count and cards.model is None:
            self._draft.note(
                key, f"asks for cards of the model {match[1]}", f"申请型号为 {match[1]} 的卡"
            )
            return Cards(cards.count, match[1].strip("_-"), cards.key)
        self._draft.note(
            key,
            f"{value!r}: nodes have no features here; any node that fits will do",
            f"{value!r}：这里的节点没有特性标签；任何放得下的节点均可",
        )
        return cards

    # -- CPUs and memory --------------------------------------------------------------------------

    def _cpus(self, per_node: int, cards: int) -> int | None:
        draft = self._draft
        per_task = self._number("cpus-per-task")
        per_card = self._number("cpus-per-gpu")
        self._number("mincpus")
        if per_task is None and per_card is not None and cards:
            cpus, key = per_card * cards, ("--cpus-per-gpu",)
        elif per_task is not None or per_node > 1:
            key = ("--cpus-per-task",) if per_task else ("--ntasks",)
            cpus = per_node * (per_task or 1)
        else:
            return None
        draft.put(("cpus",), cpus, key)
        return cpus

    def _memory(self, cpus: int | None, cards: int) -> None:
        draft = self._draft
        for name, times in (("mem", 1), ("mem-per-cpu", cpus or 1), ("mem-per-gpu", cards or 1)):
            value = self._given.get(name)
            if value is None:
                continue
            key = (f"--{name}",)
            size = draft.read(read_memory, value, key)
            if size == 0:
                draft.note(
                    key,
                    "0 means all memory of the node; here the memory follows the CPUs",
                    "0 表示节点的全部内存；这里内存按 CPU 数分配",
                )
            elif size:
                draft.put(("memory",), size * times, key)

    def _steps(self, nodes: int, per_node: int) -> None:
        """What srun inside the script reads: variables only Slurm's words can say."""
        env = self._draft.values["env"]
        if self._given.get("ntasks-per-node"):
            env["SLURM_NTASKS_PER_NODE"] = str(per_node)
        tasks = self._given.get("ntasks")
        if tasks or per_node != 1:
            env["SLURM_NTASKS"] = (tasks or str(nodes * per_node)).strip()
        for option, variable in (
            ("cpus-per-task", "SLURM_CPUS_PER_TASK"),
            ("gpus-per-task", "SLURM_GPUS_PER_TASK"),
        ):
            if self._given.get(option):
                env[variable] = self._given[option].strip()
        if not env:
            del self._draft.values["env"]


def _count_and_model(text: str) -> tuple[int | None, str | None]:
    """`4`, `a100` or `a100:4`; no count where it is none of them."""
    match = _CARDS.fullmatch(text)
    if match is not None:
        return int(match[2]), match[1]
    return (1, text) if _ONE_CARD.fullmatch(text) else (None, None)


def read_memory(value: object) -> int:
    """Bytes. A bare number is MB."""
    match = _MEMORY.fullmatch(str(value).strip())
    if match is None:
        raise wrong(
            value,
            "is not a size; write MB, or a number with K, M, G or T",
            "不是大小；请写 MB 数，或带 K、M、G、T 的数",
        )
    size = int(float(match[1]) * _UNITS[match[2].upper()])
    if size >= 1 << 60:
        raise Wrong(wrong(value, "is more than any machine has", "超过任何机器的内存").findings)
    return size


def _split(value: str) -> list[str]:
    """Parts between commas that stand outside parentheses."""
    parts = [match[0].strip() for match in re.finditer(r"(?:\([^()]*\)|[^,])+", value)]
    return [part for part in parts if part]
