"""The nodes, tasks, CPUs, GPUs and memory an sbatch script asks for."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.language import NodeSize, Site
from danlu.spec.dialects.sbatch_amounts import count_and_model, read_memory, split_parts
from danlu.spec.dialects.sbatch_constraint import read_constraint
from danlu.spec.dialects.sbatch_layout import Asked, Layout, Room, count, lay_out
from danlu.spec.dialects.sbatch_whole import size_of, take, takes_all
from danlu.spec.errors import Path
from danlu.spec.request import SMALLEST_MEMORY
from danlu.spec.text import Text
from danlu.spec.units import M, format_size

_GPU = re.compile(r"(gpu|shard)(?:[:=](.+?))?(?:\([^)]*\))?", re.ASCII)
_CPUS = re.compile(r"cpu[:=](\d{1,6})", re.ASCII)
_SAID_AGAIN = {
    "cpus-per-task": "SLURM_CPUS_PER_TASK",
    "cpus-per-gpu": "SLURM_CPUS_PER_GPU",
    "gpus": "SLURM_GPUS",
    "gpus-per-task": "SLURM_GPUS_PER_TASK",
    "ntasks-per-gpu": "SLURM_NTASKS_PER_GPU",
    "ntasks-per-node": "SLURM_NTASKS_PER_NODE",
}


@dataclass(frozen=True, slots=True)
class Gpus:
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

    def __init__(self, draft: Draft, given: Mapping[str, str], site: Site, room: Room) -> None:
        self._draft = draft
        self._given = given
        self._site = site
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
        gpus = self._with_constraint(self._gpus(layout, total, node, task))
        if gpus is not None and gpus.count:
            value = {"count": gpus.count, "model": gpus.model} if gpus.model else gpus.count
            draft.put(("gpus",), value, gpus.key)
        number, model = (gpus.count, gpus.model) if gpus else (0, None)
        size = size_of(self._site, number, model)
        if takes_all(draft, self._given.get("exclusive"), size, bool(number)) and size:
            self._memory(int(size.cpus), size.gpus, size)
            take(draft, size, model)
        else:
            self._memory(self._cpus(layout.per_node, number), number, size)
        self._steps(layout)

    def _number(self, name: str) -> int | None:
        value = self._given.get(name)
        return None if value is None else self._draft.read(count, value.strip(), (f"--{name}",))

    # -- GPUs ----------------------------------------------------------------------------------

    def _gpus(
        self, layout: Layout, total: Gpus | None, node: Gpus | None, task: Gpus | None
    ) -> Gpus | None:
        """GPUs of one node."""
        nodes = layout.nodes
        found = node
        if node is not None and node.model is None and total is not None:
            found = Gpus(node.count, total.model, node.key)
        if total is not None and node is None:
            each = math.ceil(total.count / nodes)
            if total.count % nodes:
                self._draft.note(
                    total.key,
                    Text(
                        f"is not divisible by {nodes} nodes: using {each} per node",
                        f"不能被 {nodes} 个节点整除：每个节点 {each} 张",
                    ),
                )
            found = Gpus(each, total.model, total.key)
        socket = self._amount("gpus-per-socket")
        sockets = self._number("sockets-per-node") or 1
        if socket is None and "sockets-per-node" in self._given:
            self._without("sockets-per-node", "gpus-per-socket")
        if socket is not None and node is None:
            found = Gpus(socket.count * sockets, socket.model, socket.key)
        if task is not None and task.count * layout.per_node > (found.count if found else -1):
            model = task.model or (found.model if found else None)
            found = Gpus(task.count * layout.per_node, model, task.key)
        by_gpu = self._number("ntasks-per-gpu")
        if found is None and by_gpu and layout.tasks:
            found = Gpus(math.ceil(layout.per_node / by_gpu), None, ("--ntasks-per-gpu",))
        return found

    def _of_task(self) -> tuple[int | None, Gpus | None]:
        """CPUs and GPUs of `--tres-per-task=cpu=4,gres/gpu:a100=1`."""
        key = ("--tres-per-task",)
        cpus: int | None = None
        gpus: Gpus | None = None
        for part in split_parts(self._given.get("tres-per-task", "")):
            if match := _CPUS.fullmatch(part):
                cpus = self._draft.read(count, match[1], key)
            elif match := _GPU.fullmatch(part.removeprefix("gres/").removeprefix("gres:")):
                number, model = count_and_model(match[2] or "1")
                if number is None:
                    self._draft.refuse(key, part, Text("must be gres/gpu=N", "应为 gres/gpu=N"))
                elif match[1] == "gpu":
                    gpus = Gpus(number, model, key)
                elif number:
                    gpus = Gpus(1, model, key)
                    self._shard(key, part)
            else:
                self._draft.note(
                    key, Text(f"{part!r} is not counted here", f"{part!r} 在这里不统计")
                )
        return cpus, gpus

    def _without(self, name: str, other: str) -> None:
        self._draft.note(
            (f"--{name}",),
            Text(f"has no effect without --{other}", f"没有 --{other} 时不起作用"),
        )

    def _shard(self, key: Path, part: str) -> None:
        self._draft.note(
            key,
            Text(
                f"{part!r}: the size of a shard is unknown here; asking for a whole GPU",
                f"{part!r}：这里不知道分片的大小；申请一整张卡",
            ),
        )

    def _gres(self) -> Gpus | None:
        value = self._given.get("gres")
        if value is None or value.strip().lower() in ("none", ""):
            return None
        key = ("--gres",)
        found: Gpus | None = None
        for part in split_parts(value):
            match = _GPU.fullmatch(part.removeprefix("gres:").removeprefix("gres/"))
            if match is None:
                self._draft.note(
                    key, Text(f"{part!r} is not counted here", f"{part!r} 在这里不统计")
                )
                continue
            if found is not None and match[1] == "gpu":
                self._draft.refuse(
                    key,
                    value,
                    Text("asks for two GPU models in one task", "一个任务申请了两种型号的卡"),
                )
            number, model = count_and_model(match[2] or "1")
            if number is None:
                self._draft.refuse(
                    key,
                    part,
                    Text("must be gpu, gpu:N or gpu:MODEL:N", "应为 gpu、gpu:N 或 gpu:型号:N"),
                )
            elif match[1] == "gpu":
                found = Gpus(number, model, key)
            elif found is None and number:
                found = Gpus(1, model, key)
                self._shard(key, part)
        return found

    def _amount(self, name: str) -> Gpus | None:
        value = self._given.get(name)
        if value is None:
            return None
        key = (f"--{name}",)
        # The prefix `gpu:` belongs to --gres, but is often used here too.
        number, model = count_and_model(value.strip().removeprefix("gpu:"))
        if number is None:
            self._draft.refuse(key, value, Text("must be N or MODEL:N", "应为 N 或 型号:N"))
            return None
        return Gpus(number, model, key)

    def _with_constraint(self, gpus: Gpus | None) -> Gpus | None:
        value = self._given.get("constraint") or ""
        has_gpus = gpus is not None and bool(gpus.count)
        found = read_constraint(self._draft, value, self._site, has_gpus)
        if found.labels:
            self._draft.put(("nodes", "labels"), list(found.labels), ("--constraint",))
        if gpus is None or found.model is None:
            return gpus
        # `--gres=gpu:v100:2 -C v100-32g`: the constraint says the same, or more.
        if gpus.model is None or found.model.lower().startswith(gpus.model.lower()):
            return Gpus(gpus.count, found.model, gpus.key)
        return gpus

    # -- CPUs and memory --------------------------------------------------------------------------

    def _cpus(self, per_node: int, gpus: int) -> int | None:
        draft = self._draft
        per_task = self._number("cpus-per-task")
        per_gpu = self._number("cpus-per-gpu")
        least = self._number("mincpus")
        if per_task is None:
            per_task = self._task[0]
        if per_gpu is not None and not gpus:
            self._without("cpus-per-gpu", "gpus")
        if per_task is None and per_gpu is not None and gpus:
            cpus, key = per_gpu * gpus, ("--cpus-per-gpu",)
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

    def _memory(self, cpus: int | None, gpus: int, node: NodeSize | None) -> None:
        draft = self._draft
        times = {"mem": 1, "mem-per-cpu": cpus or 1, "mem-per-gpu": gpus or 1}
        asked = [name for name in self._given if name in times]
        if len(asked) > 1:
            others = ", ".join(f"--{name}" for name in asked[:-1])
            draft.note(
                (f"--{asked[-1]}",),
                Text(
                    f"is combined with {others}, but Slurm accepts only one: using this one",
                    f"与 {others} 同时出现，而 Slurm 只认其一：以此为准",
                ),
            )
        for name in asked[-1:]:
            value = self._given[name]
            key = (f"--{name}",)
            size = draft.read(read_memory, value, key)
            if size == 0 and node is not None:
                draft.put(("memory",), node.memory, key)
                if "exclusive" not in self._given:
                    all_ = format_size(node.memory)
                    draft.note(
                        key,
                        Text(
                            f"{value.strip()} means all memory of the node: {all_}",
                            f"{value.strip()} 表示节点的全部内存：{all_}",
                        ),
                    )
            elif size == 0:
                draft.note(
                    key,
                    Text(
                        f"{value.strip()} means all memory of the node, which is unknown here: "
                        "memory follows the CPUs",
                        f"{value.strip()} 表示节点的全部内存，这里不知道有多少：内存按 CPU 数分配",
                    ),
                )
            elif size:
                draft.put(("memory",), self._at_least(size * times[name], key), key)

    def _at_least(self, size: int, key: Path) -> int:
        if size >= SMALLEST_MEMORY:
            return size
        shown = f"{SMALLEST_MEMORY // M}M"
        self._draft.note(
            key, Text(f"is less than a task needs; using {shown}", f"太小；按 {shown} 计")
        )
        return SMALLEST_MEMORY

    def _steps(self, layout: Layout) -> None:
        """Variables for srun inside the script, in Slurm's notation."""
        env = self._draft.values["env"]
        if layout.tasks or layout.per_node != 1:
            env["SLURM_NTASKS"] = str(layout.tasks or layout.nodes * layout.per_node)
        for option, variable in _SAID_AGAIN.items():
            value = self._given.get(option, "").strip().removeprefix("gpu:")
            if value:
                # Shell arithmetic reads 08 as an octal number.
                env[variable] = str(int(value)) if value.isdecimal() else value
        if not env:
            del self._draft.values["env"]
