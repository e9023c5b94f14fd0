"""GPUs that are held by work no Danlu has started, such as jobs of people who use `sbatch`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from danlu.engines.api import Holder, NodeInfo
from danlu.sched.api import Running, TaskShape
from danlu.spec.placement import Placement


@dataclass(frozen=True, slots=True)
class Held:
    """One holder on one node, with the GPUs it holds there."""

    engine: str
    holder: Holder
    gpus: tuple[int, ...]

    @property
    def ref(self) -> str:
        """In the place of a job's reference: whose it is, and the engine's name for it."""
        return f"{self.holder.user}/{self.engine}:{self.holder.id}"


def spread(
    engine: str,
    holders: Iterable[Holder],
    nodes: Mapping[str, NodeInfo],
    used: Mapping[str, frozenset[int]],
) -> dict[str, list[Held]]:
    """Node -> who holds what. `used`: GPUs that our own jobs hold.

    Where an engine only tells how many GPUs somebody holds, they are the first that nobody else is
    known to hold, so that the sums are right even if the squares on the map are not.
    """
    found: dict[str, list[Held]] = {}
    taken = {name: set(used.get(name, ())) for name in nodes}
    counted: list[Holder] = []
    for holder in holders:
        node = nodes.get(holder.node)
        if node is None:
            continue
        if len(holder.indexes) < holder.gpus:
            counted.append(holder)
            continue
        taken[holder.node].update(holder.indexes)
        found.setdefault(holder.node, []).append(Held(engine, holder, holder.indexes))
    for holder in counted:
        free = [
            gpu.index
            for gpu in nodes[holder.node].gpus
            if gpu.index not in taken[holder.node] or gpu.index in holder.indexes
        ]
        gpus = tuple(free[: holder.gpus])
        taken[holder.node].update(gpus)
        found.setdefault(holder.node, []).append(Held(engine, holder, gpus))
    return found


def as_running(each: Held) -> Running:
    """As the scheduler's explanations take it: one that ends when its limit says so."""
    holder = each.holder
    shape = TaskShape(holder.cpus, holder.memory, len(each.gpus))
    return Running(
        each.ref,
        each.ref,
        holder.user,
        holder.started_at or 0.0,
        holder.ends_at,
        {holder.node: each.gpus} if each.gpus else {},
        (shape,),
        (Placement(node=holder.node, gpus=each.gpus),),
        name=holder.name,
        outside=True,
    )
