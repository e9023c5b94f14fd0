"""Whole nodes, as `--exclusive` and `--mem=0` of an sbatch script ask for."""

from __future__ import annotations

from danlu.spec.dialects.draft import Draft
from danlu.spec.dialects.language import NodeSize, Site
from danlu.spec.dialects.sbatch_constraint import alike
from danlu.spec.text import Text
from danlu.spec.units import format_size

_KEY = ("--exclusive",)
_SHARED = ("user", "mcs", "topo")


def size_of(site: Site, gpus: int, model: str | None) -> NodeSize | None:
    """The smallest node with these GPUs: what asks for none leaves them to others.

    None: no node has them, or the nodes are unknown.
    """
    fitting = [
        size
        for size in site.sizes
        if size.gpus >= gpus and (model is None or (size.model and alike(model, size.model)))
    ]
    return min(fitting, key=lambda size: (size.gpus, size.cpus, size.memory), default=None)


def takes_all(draft: Draft, exclusive: str | None, size: NodeSize | None, has_gpus: bool) -> bool:
    """Whether the job gets a whole node of this size; if not, a note says why."""
    if exclusive is None:
        return False
    if exclusive.strip().lower() in _SHARED:
        draft.note(
            _KEY,
            Text(
                f"{exclusive.strip()!r} is ignored: nodes are shared with the jobs of others",
                f"{exclusive.strip()!r} 被忽略：节点与他人的任务共用",
            ),
        )
        return False
    if size is None:
        draft.note(
            _KEY,
            Text(
                "the size of a node is unknown here: the job gets the CPUs, memory and GPUs it "
                "asks for"
                + ("" if has_gpus else "; this one asks for no GPU: add #SBATCH --gpus-per-node=8"),
                "这里不知道节点的大小：任务得到所申请的 CPU、内存和卡"
                + ("" if has_gpus else "；该任务没有申请卡，可加 #SBATCH --gpus-per-node=8"),
            ),
        )
        return False
    return True


def take(draft: Draft, node: NodeSize, model: str | None) -> None:
    """As in Slurm: all CPUs and GPUs, and all memory unless the script says how much."""
    draft.put(("cpus",), node.cpus, _KEY)
    if node.gpus:
        draft.put(("gpus",), {"count": node.gpus, "model": model} if model else node.gpus, _KEY)
    if draft.get(("memory",)) is None:
        draft.put(("memory",), node.memory, _KEY)
    memory = format_size(int(draft.get(("memory",))))
    draft.note(
        _KEY,
        Text(
            f"takes a whole node: {node.cpus:g} CPUs, {memory} of memory, {node.gpus} GPUs",
            f"占用整个节点：{node.cpus:g} 个 CPU、{memory} 内存、{node.gpus} 张卡",
        ),
    )
