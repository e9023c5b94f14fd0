"""Which task of a step runs on which node of the job."""

from __future__ import annotations

import os

from danlu.steps.hostlist import expanded
from danlu.steps.main import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.steps.options import Options


class Layout:
    """`nodes`: indexes of the job's nodes used by the step; `counts`: tasks on each."""

    def __init__(self, nodes: list[int], counts: list[int]) -> None:
        self.nodes = nodes
        self.counts = counts

    @property
    def tasks(self) -> int:
        return sum(self.counts)

    def places(self) -> list[tuple[int, int, int]]:
        """For each task: its number, its position in `nodes`, and its number on that node."""
        found: list[tuple[int, int, int]] = []
        for place, count in enumerate(self.counts):
            found += [(len(found) + local, place, local) for local in range(count)]
        return found


def job_nodes() -> list[str]:
    return os.environ.get("SLURM_JOB_NODELIST", "localhost").split(",")


def lay_out(options: Options) -> Layout:
    names = job_nodes()
    nodes = _chosen(options, names)
    each = options.number("ntasks-per-node") or _number("SLURM_NTASKS_PER_NODE")
    wanted = options.number("nodes")
    tasks = options.number("ntasks")
    if tasks is None and wanted is None:
        tasks = _number("SLURM_NTASKS")
    if wanted is None and tasks is not None and tasks < len(nodes):
        nodes = nodes[:tasks]
    if wanted is not None:
        if wanted > len(nodes):
            raise Trouble(f"{wanted} nodes requested, but the job has only {len(nodes)} available")
        nodes = nodes[:wanted]
    if tasks is None:
        tasks = len(nodes) * (each or 1)
    return Layout(nodes, _spread(tasks, len(nodes), each))


def _spread(tasks: int, nodes: int, each: int | None) -> list[int]:
    if each is not None and each * nodes >= tasks:
        counts = []
        for _ in range(nodes):
            counts.append(min(each, tasks))
            tasks -= counts[-1]
        return counts
    least, more = divmod(tasks, nodes)
    return [least + 1 if place < more else least for place in range(nodes)]


def _chosen(options: Options, names: list[str]) -> list[int]:
    addresses = os.environ.get("DANLU_HOSTS", "").split(",")
    chosen = list(range(len(names)))
    asked = options.get("nodelist")
    if asked:
        wanted = expanded(asked)
        chosen = [
            index
            for index in chosen
            if names[index] in wanted or (index < len(addresses) and addresses[index] in wanted)
        ]
        # Several nodes may share one address: one name means one node.
        if wanted and len(chosen) > len(wanted):
            chosen = chosen[: len(wanted)]
        if not chosen:
            raise Trouble(f"{asked} is not a node of this job: {','.join(names)}")
    unwanted = expanded(options.get("exclude") or "")
    chosen = [index for index in chosen if names[index] not in unwanted]
    chosen = chosen[options.number("relative") or 0 :]
    if not chosen:
        raise Trouble("no nodes of the job are left for this step")
    return chosen


def _number(variable: str) -> int | None:
    value = os.environ.get(variable, "")
    return int(value) if value.isdigit() and int(value) else None
