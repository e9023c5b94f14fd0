"""How many nodes, tasks, CPUs, cards and how much memory an sbatch script asks for."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.sbatch_amounts import count_and_model, read_memory, split_parts
from danlu.spec.dialects.sbatch_layout import Asked, Layout, Room, count, lay_out
from danlu.spec.errors import Path
from danlu.spec.request import SMALLEST_MEMORY
from danlu.spec.units import M

_GPU = re.compile(r"(gpu|shard)(?:[:=](.+?))?(?:\([^)]*\))?", re.ASCII)
_ONE_IN_BRACKETS = re.compile(r"\[[^][|&,*()]+\]")
_CPUS = re.compile(r"cpu[:=](\d{1,6})", re.ASCII)
_SAID_AGAIN = {
    "cpus-per-task": "SLURM_CPUS_PER_TASK",
    "cpus-per-gpu": "SLURM_CPUS_PER_GPU",
    "gpus": "SLURM_GPUS",
    "gpus-per-task": "SLURM_GPUS_PER_TASK",
    "ntasks-per-gpu": "SLURM_NTASKS_PER_GPU",
    "ntasks-per-node": "SLURM_NTASKS_PER_NODE",
}
_MODEL = re.compile(
    r"(?:gpu[_=:-]?)?((?:rtx|gtx|titan|quadro|tesla)?[_-]?"
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
            "tres-per-task",
            "exclusive",
        }
    )

    def __init__(self, draft: Draft, given: Mapping[str, str], room: Room) -> None:
        self._draft = draft
        self._given = given
        self._room = room
        self._task = self._of_task()

    def build(self) -> None:
        draft = self._draft
        total = self._amount("gpus")
        node = self._amount("gpus-per-node") or self._gres()
        task = self._amount("gpus-per-task") or self._task[1]
        asked = Asked(*(each.count if each else 0 for each in (total, node, task)))
        layout = lay_out(draft, self._given, asked, self._room)
        if layout.nodes > 1:
            draft.put(("count",), layout.nodes, layout.key)
            # The script runs on the first node, and its srun starts tasks on all of them.
            draft.put(("processes",), "batch", layout.key)
        draft.values.setdefault("env", {})
        cards = self._with_constraint(self._cards(layout, total, node, task))
        if cards is not None and cards.count:
            value = {"count": cards.count, "model": cards.model} if cards.model else cards.count
            draft.put(("gpus",), value, cards.key)
        self._whole_nodes(cards)
        cpus = self._cpus(layout.per_node, cards.count if cards else 0)
        self._memory(cpus, cards.count if cards else 0)
        self._steps(layout)

    def _whole_nodes(self, cards: Cards | None) -> None:
        """`--exclusive` gives a job all of its nodes there, the cards too, without asking."""
        if "exclusive" not in self._given:
            return
        self._draft.note(
            ("--exclusive",),
            "a job gets the CPUs, memory and cards it asks for, not a whole node"
            + ("" if cards else "; this one asks for no card: #SBATCH --gpus-per-node=8 would"),
            "任务得到所申请的 CPU、内存和卡，而不是整个节点"
            + ("" if cards else "；该任务没有申请卡，可加 #SBATCH --gpus-per-node=8"),
        )

    def _number(self, name: str) -> int | None:
        value = self._given.get(name)
        return None if value is None else self._draft.read(count, value.strip(), (f"--{name}",))

    # -- cards ----------------------------------------------------------------------------------

    def _cards(
        self, layout: Layout, total: Cards | None, node: Cards | None, task: Cards | None
    ) -> Cards | None:
        """Cards of one node."""
        nodes = layout.nodes
        found = node
        if node is not None and node.model is None and total is not None:
            found = Cards(node.count, total.model, node.key)
        if total is not None and node is None:
            each = math.ceil(total.count / nodes)
            if total.count % nodes:
                self._draft.note(
                    total.key,
                    f"does not divide by {nodes} nodes: {each} on each",
                    f"不能被 {nodes} 个节点整除：每个节点 {each} 张",
                )
            found = Cards(each, total.model, total.key)
        socket = self._amount("gpus-per-socket")
        sockets = self._number("sockets-per-node") or 1
        if socket is None and "sockets-per-node" in self._given:
            self._without("sockets-per-node", "gpus-per-socket")
        if socket is not None and node is None:
            found = Cards(socket.count * sockets, socket.model, socket.key)
        if task is not None and task.count * layout.per_node > (found.count if found else -1):
            model = task.model or (found.model if found else None)
            found = Cards(task.count * layout.per_node, model, task.key)
        by_card = self._number("ntasks-per-gpu")
        if found is None and by_card and layout.tasks:
            found = Cards(math.ceil(layout.per_node / by_card), None, ("--ntasks-per-gpu",))
        return found

    def _of_task(self) -> tuple[int | None, Cards | None]:
        """CPUs and cards of `--tres-per-task=cpu=4,gres/gpu:a100=1`."""
        key = ("--tres-per-task",)
        cpus: int | None = None
        cards: Cards | None = None
        for part in split_parts(self._given.get("tres-per-task", "")):
            if match := _CPUS.fullmatch(part):
                cpus = self._draft.read(count, match[1], key)
            elif match := _GPU.fullmatch(part.removeprefix("gres/").removeprefix("gres:")):
                number, model = count_and_model(match[2] or "1")
                if number is None:
                    self._draft.refuse(key, part, "is not gres/gpu=N", "应为 gres/gpu=N")
                elif match[1] == "gpu":
                    cards = Cards(number, model, key)
                elif number:
                    cards = Cards(1, model, key)
                    self._shard(key, part)
            else:
                self._draft.note(key, f"{part!r} is not counted here", f"{part!r} 在这里不统计")
        return cpus, cards

    def _without(self, name: str, other: str) -> None:
        self._draft.note(
            (f"--{name}",),
            f"changes nothing without --{other}",
            f"没有 --{other} 时不起作用",
        )

    def _shard(self, key: Path, part: str) -> None:
        self._draft.note(
            key,
            f"{part!r}: how large a shard is, is not known here; one whole card is asked for",
            f"{part!r}：这里不知道分片的大小；申请一整张卡",
        )

    def _gres(self) -> Cards | None:
        value = self._given.get("gres")
        if value is None or value.strip().lower() in ("none", ""):
            return None
        key = ("--gres",)
        found: Cards | None = None
        for part in split_parts(value):
            match = _GPU.fullmatch(part.removeprefix("gres:").removeprefix("gres/"))
            if match is None:
                self._draft.note(key, f"{part!r} is not counted here", f"{part!r} 在这里不统计")
                continue
            if found is not None and match[1] == "gpu":
                self._draft.refuse(
                    key, value, "asks for two kinds of cards in one task", "一个任务申请了两种卡"
                )
            number, model = count_and_model(match[2] or "1")
            if number is None:
                self._draft.refuse(
                    key,
                    part,
                    "is not gpu, gpu:N or gpu:MODEL:N",
                    "应为 gpu、gpu:N 或 gpu:型号:N",
                )
            elif match[1] == "gpu":
                found = Cards(number, model, key)
            elif found is None and number:
                found = Cards(1, model, key)
                self._shard(key, part)
        return found

    def _amount(self, name: str) -> Cards | None:
        value = self._given.get(name)
        if value is None:
            return None
        key = (f"--{name}",)
        # `gpu:` in front belongs to --gres, and is often written here too.
        number, model = count_and_model(value.strip().removeprefix("gpu:"))
        if number is None:
            self._draft.refuse(key, value, "is not N or MODEL:N", "应为 N 或 型号:N")
            return None
        return Cards(number, model, key)

    def _with_constraint(self, cards: Cards | None) -> Cards | None:
        value = (self._given.get("constraint") or "").strip().strip("\"'")
        if _ONE_IN_BRACKETS.fullmatch(value):
            value = value[1:-1]
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
            f"{value!r} is passed over: any node that fits will do; `nodes: {{labels: [...]}}` of"
            " the native job asks for nodes that have them",
            f"{value!r} 不起作用：任何放得下的节点均可；原生任务的 `nodes: {{labels: [...]}}`"
            " 可要求节点具有某些标签",
        )
        return cards

    # -- CPUs and memory --------------------------------------------------------------------------

    def _cpus(self, per_node: int, cards: int) -> int | None:
        draft = self._draft
        per_task = self._number("cpus-per-task")
        per_card = self._number("cpus-per-gpu")
        least = self._number("mincpus")
        if per_task is None:
            per_task = self._task[0]
        if per_card is not None and not cards:
            self._without("cpus-per-gpu", "gpus")
        if per_task is None and per_card is not None and cards:
            cpus, key = per_card * cards, ("--cpus-per-gpu",)
        elif per_task is not None or per_node > 1:
            key = ("--cpus-per-task",) if per_task else ("--ntasks",)
            cpus = per_node * (per_task or 1)
        elif least is None:
            return None
        else:
            cpus, key = least, ("--mincpus",)
        if least is not None and least > cpus:
            cpus, key = least, ("--mincpus",)
        draft.put(("cpus",), cpus, key)
        return cpus

    def _memory(self, cpus: int | None, cards: int) -> None:
        draft = self._draft
        times = {"mem": 1, "mem-per-cpu": cpus or 1, "mem-per-gpu": cards or 1}
        asked = [name for name in self._given if name in times]
        if len(asked) > 1:
            others = ", ".join(f"--{name}" for name in asked[:-1])
            draft.note(
                (f"--{asked[-1]}",),
                f"stands beside {others}, and Slurm knows one of them: this one counts",
                f"与 {others} 同时出现，而 Slurm 只认其一：以此为准",
            )
        for name in asked[-1:]:
            value = self._given[name]
            key = (f"--{name}",)
            size = draft.read(read_memory, value, key)
            if size == 0:
                draft.note(
                    key,
                    f"{value.strip()} means all memory of the node; here it follows the CPUs",
                    f"{value.strip()} 表示节点的全部内存；这里内存按 CPU 数分配",
                )
            elif size:
                draft.put(("memory",), self._at_least(size * times[name], key), key)

    def _at_least(self, size: int, key: Path) -> int:
        if size >= SMALLEST_MEMORY:
            return size
        shown = f"{SMALLEST_MEMORY // M}M"
        self._draft.note(key, f"is less than a task needs; it gets {shown}", f"太小；按 {shown} 计")
        return SMALLEST_MEMORY

    def _steps(self, layout: Layout) -> None:
        """What srun inside the script reads: variables only Slurm's words can say."""
        env = self._draft.values["env"]
        if layout.tasks or layout.per_node != 1:
            env["SLURM_NTASKS"] = str(layout.tasks or layout.nodes * layout.per_node)
        for option, variable in _SAID_AGAIN.items():
            value = self._given.get(option, "").strip().removeprefix("gpu:")
            if value:
                # A shell that counts with 08 takes it for a number to the base of eight.
                env[variable] = str(int(value)) if value.isdecimal() else value
        if not env:
            del self._draft.values["env"]
