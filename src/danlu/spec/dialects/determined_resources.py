"""`resources` of a Determined file, and its queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.keys import Keys
from danlu.spec.dialects.language import Site
from danlu.spec.dialects.openpai import read_model
from danlu.spec.errors import Path
from danlu.spec.fields import integer
from danlu.spec.text import Text
from danlu.spec.units import G, parse_size

DEFAULT_SHM = 4 * G
DEFAULT_PRIORITY = 42
"""Determined's default priority; Danlu's 0."""

_LIKELY = 8
"""A usual number of GPUs per node; with nodes unknown, asking for more on one is noted."""

_slots = integer(0, 100_000)
_priority = integer(1, 99)
_per_node = integer(1, 4096)

_NOTED: dict[str, Text] = {
    "weight": Text("shares follow the queue's policy", "份额由队列策略决定"),
    "devices": Text(
        "no host devices are passed in besides the GPUs",
        "除 GPU 外不传入主机设备",
    ),
    "native_parallel": Text("has no effect here", "在这里不起作用"),
    "is_single_node": Text("a task is on one node anyway", "一个任务本来就在一个节点上"),
}
_KEYS = (
    "slots",
    "slots_per_trial",
    "resource_pool",
    "agent_label",
    "priority",
    "shm_size",
    "max_slots",
    *_NOTED,
)


class Resources:
    def __init__(self, draft: Draft, keys: Keys, experiment: bool, site: Site) -> None:
        self._draft = draft
        self._site = site
        self._top = keys
        self._keys = Keys(draft, keys.mapping("resources"), ("resources",))
        self._experiment = experiment
        self.slots = 1
        self.at_once: int | None = None  # how many trials fit into max_slots

    def build(self) -> None:
        draft, keys = self._draft, self._keys
        key = "slots_per_trial" if self._experiment else "slots"
        other = "slots" if self._experiment else "slots_per_trial"
        found = keys.read(key, _slots)
        second = keys.read(other, _slots)
        if second is not None and found is None:
            key, found = other, second
        self.slots = 1 if found is None else found
        self._gpus(("resources", key))
        self._queue()
        self._together()
        shm = keys.read("shm_size", parse_size)
        draft.put(("shm",), shm or DEFAULT_SHM, ("resources", "shm_size"))
        for name, message in _NOTED.items():
            keys.note(name, message)
        keys.refuse_rest(_KEYS)

    def _together(self) -> None:
        most = self._keys.read("max_slots", _slots)
        key: Path = ("resources", "max_slots")
        if most is None:
            return
        if not self._experiment or not self.slots:
            self._draft.note(key, Text("is only for experiments with GPUs", "只用于带卡的实验"))
        elif most < self.slots:
            self._draft.refuse(
                key,
                most,
                Text(
                    f"is less than the {self.slots} slots of one trial",
                    f"少于一次试验的 {self.slots} 个 slot",
                ),
            )
        else:
            self.at_once = most // self.slots

    def _queue(self) -> None:
        draft, keys = self._draft, self._keys
        pool = (keys.text("resource_pool") or "").strip()
        if pool:
            draft.put(("queue",), pool, ("resources", "resource_pool"))
        priority = keys.read("priority", _priority)
        if priority is not None:
            mapped = DEFAULT_PRIORITY - priority
            draft.put(("priority",), mapped, ("resources", "priority"))
            draft.note(
                ("resources", "priority"),
                Text(
                    f"lower goes first there, higher here: {priority} becomes {mapped}",
                    f"那里数值小者优先，这里数值大者优先：{priority} 即 {mapped}",
                ),
            )

    def _gpus(self, key: Path) -> None:
        draft = self._draft
        model, model_key = self._model()
        batch = self._batch()
        count = self.slots
        nodes = 1
        per_node = batch.get("slots_per_node") or self._largest(key)
        if isinstance(per_node, int) and 0 < per_node < count:
            nodes, rest = divmod(count, per_node)
            if rest:
                draft.refuse(
                    key, count, Text(f"is not a multiple of {per_node}", f"不是 {per_node} 的倍数")
                )
            count = per_node
        if nodes > 1:
            draft.put(("count",), nodes, key)
        if count and model:
            draft.put(("gpus",), {"count": count, "model": model}, key)
            draft.came_from(("gpus", "model"), model_key)
        elif count:
            draft.put(("gpus",), count, key)
        elif model:
            draft.note(model_key, Text("has no effect without a GPU", "没有申请卡，不起作用"))

    def _largest(self, key: Path) -> int:
        """How many slots per node if no node has all of them; 0: all on one."""
        gpus = self._site.gpus
        if not gpus:
            if self.slots > _LIKELY:
                self._draft.note(
                    key,
                    Text(
                        f"asks for all {self.slots} GPUs on one node; slurm.slots_per_node sets "
                        "how many per node",
                        f"在一个节点上申请 {self.slots} 张卡；slurm.slots_per_node 指定每个节点的"
                        "卡数",
                    ),
                )
            return 0
        if self.slots <= gpus or self.slots % gpus:
            return 0
        self._draft.note(
            key,
            Text(
                f"no node has {self.slots} GPUs: {self.slots // gpus} nodes with {gpus} each",
                f"没有节点有 {self.slots} 张卡：用 {self.slots // gpus} 个节点，每个 {gpus} 张",
            ),
        )
        return gpus

    def _model(self) -> tuple[str | None, Path]:
        key: Path = ("resources", "agent_label")
        label = self._keys.raw("agent_label")
        if label in (None, ""):
            return None, key
        model = self._draft.read(read_model, str(label), key)
        if model is not None and self.slots:
            self._draft.note(
                key, Text(f"asks for the GPU model {model}", f"申请型号为 {model} 的卡")
            )
        return model, key

    def _batch(self) -> Mapping[str, Any]:
        """`slurm` (or `pbs`): how an HPC launcher would split the slots."""
        draft = self._draft
        found: dict[str, Any] = {}
        for name in ("slurm", "pbs"):
            keys = Keys(draft, self._top.mapping(name), (name,))
            per_node = keys.read("slots_per_node", _per_node)
            if per_node is not None:
                found["slots_per_node"] = per_node
            gpu_type = keys.line("gpu_type")
            if gpu_type is not None and not self._keys.has("agent_label"):
                draft.note(
                    (name, "gpu_type"),
                    Text("use agent_label for the model", "型号请写 agent_label"),
                )
            for key in ("sbatch_args", "pbsbatch_args"):
                keys.note(
                    key, Text("nothing is submitted to another scheduler", "不会提交到别的调度器")
                )
            keys.note_rest()
        return found
