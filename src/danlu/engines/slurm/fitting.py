"""What no node of a partition could ever run: said when a job is submitted, and in our own words.

Whatever only Slurm knows (accounts, limits, reservations) is left to sbatch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from danlu.engines.api import Misfit
from danlu.engines.slurm.config import SlurmConfig
from danlu.engines.slurm.script import Cluster, model_of, partition_of
from danlu.spec.job import Resources
from danlu.spec.text import Text
from danlu.spec.units import format_size

_MANY = 1 << 30


@dataclass(frozen=True, slots=True)
class Size:
    """What a node has; memory in bytes, 0 if slurm.conf does not say."""

    cpus: int
    memory: int
    gpus: Mapping[str, int]  # gres type -> how many

    def of(self, kind: str) -> int:
        return self.gpus.get(kind, 0) if kind else sum(self.gpus.values())


def misfit(
    queue: str, needs: Sequence[tuple[Resources, int]], config: SlurmConfig, cluster: Cluster
) -> Misfit | None:
    """The first of these tasks (how many of each) that does not fit; None: all may."""
    wanted = config.partitions.get(queue, "")
    if wanted and cluster.partitions and wanted not in cluster.partitions:
        listed = ", ".join(cluster.partitions)
        return Misfit(
            "queue",
            queue,
            Text(
                f"leads to partition {wanted}, which Slurm does not have; it has: {listed}. The "
                "admin corrects partitions in danlu.toml",
                f"对应分区 {wanted}，而 Slurm 中没有该分区；现有：{listed}。"
                "请管理员修改 danlu.toml 中的 partitions",
            ),
        )
    partition = partition_of(queue, config, cluster.partitions) or cluster.default
    found = (_of_task(need, count, partition, config, cluster) for need, count in needs)
    return next((each for each in found if each is not None), None)


def _of_task(
    need: Resources, count: int, partition: str, config: SlurmConfig, cluster: Cluster
) -> Misfit | None:
    gpus = need.gpus
    if gpus.fraction is not None and gpus.fraction < 1:
        only_whole = Text(
            "- Slurm gives whole GPUs only; a fraction of one needs another queue",
            "- Slurm 只分配整张 GPU；需要部分 GPU 请用其他队列",
        )
        return Misfit("gpus", f"{gpus.fraction:g}", only_whole)
    if gpus.indexes:
        listed = ", ".join(str(index) for index in gpus.indexes)
        itself = Text(
            "- Slurm chooses the GPUs of a node itself; ask for a number of them",
            "- Slurm 自行选择节点上的 GPU；请只写数量",
        )
        return Misfit("gpus", listed, itself)
    kind, constrained = "", False
    if gpus.count and gpus.model is not None:
        named = model_of(gpus.model, config, cluster)
        if named is None:
            known = ", ".join(cluster.types) or "none"
            other = Text(
                f"- Slurm has no GPUs of model {gpus.model}; it has: {known}",
                f"- Slurm 没有型号为 {gpus.model} 的 GPU；现有：{known}",
            )
            return Misfit("gpus", gpus.model, other)
        kind, constrained = named[0], bool(named[1])
    sizes = list(_sizes(partition, cluster))
    if not sizes or constrained:  # which nodes have a feature is up to Slurm
        return None
    cpus = max(1, math.ceil(need.cpus))
    return _too_large(need, cpus, kind, sizes, partition) or _too_many(
        need, count, cpus, kind, sizes, partition
    )


def _sizes(partition: str, cluster: Cluster) -> Iterator[Size]:
    names = (cluster.nodes or {}).get(partition)
    for name, size in (cluster.sizes or {}).items():
        if names is None or name in names:
            yield size


def _too_large(
    need: Resources, cpus: int, kind: str, sizes: Sequence[Size], partition: str
) -> Misfit | None:
    most_gpus = max(size.of(kind) for size in sizes)
    if need.gpus.count > most_gpus:
        what = f"{kind} GPUs" if kind else "GPUs"
        return Misfit(
            "gpus", need.gpus.count, _largest(partition, f"{most_gpus} {what}",
                                              f"{most_gpus} 张 {kind} GPU".replace("  ", " ")),
        )  # fmt: skip
    most_cpus = max(size.cpus for size in sizes)
    if cpus > most_cpus:
        return Misfit("cpus", cpus, _largest(partition, f"{most_cpus} CPUs", f"{most_cpus} 个 CPU"))
    most = max(size.memory for size in sizes)
    if all(size.memory for size in sizes) and need.memory > most:
        room = format_size(most)
        text = _largest(partition, f"{room} of memory", f"{room} 内存")
        return Misfit("memory", format_size(need.memory), text)
    if not any(_holds(size, need, cpus, kind) for size in sizes):
        together = Text(
            f"- no single node of {_named(partition, '')} has that many GPUs, CPUs and that much "
            "memory together",
            f"- {_named(partition, 'zh')}中没有一个节点同时具备这么多 GPU、CPU 和内存",
        )
        return Misfit("gpus" if need.gpus.count else "cpus", need.gpus.count or cpus, together)
    return None


def _too_many(
    need: Resources, count: int, cpus: int, kind: str, sizes: Sequence[Size], partition: str
) -> Misfit | None:
    room = sum(_holds(size, need, cpus, kind) for size in sizes)
    if count <= room:
        return None
    return Misfit(
        "count",
        count,
        Text(
            f"- {_named(partition, '')} fits only {room} such tasks, even when empty",
            f"- {_named(partition, 'zh')}即使全部空闲，也只能放下 {room} 个这样的实例",
        ),
    )


def _holds(size: Size, need: Resources, cpus: int, kind: str) -> int:
    """How many such tasks fit on the node when it is empty."""
    gpus = size.of(kind) // need.gpus.count if need.gpus.count else _MANY
    memory = size.memory // need.memory if size.memory and need.memory else _MANY
    return min(gpus, size.cpus // cpus, memory)


def _named(partition: str, language: str) -> str:
    if language == "zh":
        return f"分区 {partition} " if partition else "Slurm "
    return f"partition {partition}" if partition else "Slurm"


def _largest(partition: str, en: str, zh: str) -> Text:
    return Text(
        f"- is more than any node of {_named(partition, '')} has (at most {en})",
        f"- 超过{_named(partition, 'zh')}中任何节点所有（最多 {zh}）",
    )
