"""GPU allocation of a published packing experiment, pod by pod, against the paper."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.measure import Options, note
from bench.table import Goal, Row
from danlu.sched.api import GpuState, Mix, NodeState, Policy, TaskShape
from danlu.sched.place.mix import MixLearner
from danlu.sched.place.place import Room

SUMMARY = "GPU allocation of the openb workloads, against FGD (USENIX ATC'23)"
WORKLOADS = ("default", "gpuspec33", "multigpu50", "gpushare60")
SEEDS = range(42, 52)
OVERLOAD = 1.3
KNOWN = 1000  # pods known before the first one is placed
_GOALS = {"default": (96.0, 95.8)}  # with a known mix, from a cold start


@dataclass(frozen=True, slots=True)
class Pods:
    name: str
    shapes: Sequence[TaskShape]


def run(options: Options) -> Iterator[Row]:
    folder = data_folder() / "openb"
    if not folder.is_dir():
        note(f"no workloads at {folder}; DANLU_DATA names the folder that has openb/")
        return
    nodes = read_nodes(folder / "openb_node_list_gpu_node.csv")
    published = read_published(folder / "published_allocation.csv")
    files = [Path(name) for name in options.pods] or [
        folder / f"openb_pod_list_{name}.csv" for name in WORKLOADS
    ]
    missing = [str(path) for path in files if not path.is_file()]
    if missing:
        note(f"no such pod list: {', '.join(missing)}")
        raise SystemExit(2)
    rounds = options.times(len(SEEDS), 2)
    for path in files:
        pods = Pods(path.stem.removeprefix("openb_pod_list_"), read_pods(path))
        anchor = published.get(path.stem)
        for cold in (False, True):
            yield _row(pods, nodes, anchor, cold, rounds)


def _row(
    pods: Pods, nodes: Sequence[NodeState], anchor: float | None, cold: bool, rounds: int
) -> Row:
    filled = [allocation(pods.shapes, nodes, seed, cold) for seed in SEEDS[:rounds]]
    goals = _GOALS.get(pods.name)
    if goals is not None:
        goal = Goal("at least", goals[cold], "%")
    else:
        goal = None if anchor is None or cold else Goal("at least", anchor, "%")
    how = "cold start" if cold else f"{KNOWN:,} pods known"
    mean = float(np.mean(filled))
    return Row(f"{pods.name}, {how} (%)", mean, anchor, "FGD, published", goal, digits=2)


def allocation(
    shapes: Sequence[TaskShape], nodes: Sequence[NodeState], seed: int, cold: bool
) -> float:
    """Percent of all GPUs in use when 130 % of them have been requested."""
    rng = np.random.default_rng(seed)
    capacity = sum(len(node.gpus) for node in nodes) * 1000
    order = arrivals(shapes, rng, int(OVERLOAD * capacity))
    shuffled = [nodes[int(at)] for at in rng.permutation(len(nodes))]
    learner = MixLearner()
    room = Room(shuffled, Policy().place, None if cold else earlier(shapes, seed))
    used = 0
    for at in order:
        shape = shapes[at]
        if cold:
            before = learner.mix
            learner.add(shape)
            if learner.mix is not None and learner.mix is not before:
                room.learn(learner.mix)
        if room.place((shape,)) is not None:
            used += shape.amount
    return 100 * used / capacity


def arrivals(shapes: Sequence[TaskShape], rng: np.random.Generator, limit: int) -> list[int]:
    """Every pod once in random order, repeated or cut off at the limit."""
    order = [int(at) for at in rng.permutation(len(shapes))]
    asked = sum(shapes[at].amount for at in order)
    if asked > limit:
        while asked > limit:
            asked -= shapes[order.pop(int(rng.integers(len(order))))].amount
        return order
    while True:
        at = int(rng.integers(len(shapes)))
        asked += shapes[at].amount
        if asked > limit:
            return order
        order.append(at)


def earlier(shapes: Sequence[TaskShape], seed: int) -> Mix:
    """A separate sample: known pods differ from those to place."""
    rng = np.random.default_rng([seed, KNOWN])
    return Mix(Counter(shapes[int(at)] for at in rng.integers(0, len(shapes), KNOWN)))


def data_folder() -> Path:
    beside = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    return Path(os.environ.get("DANLU_DATA") or beside)


def read_nodes(path: Path) -> list[NodeState]:
    nodes = []
    for row in _rows(path):
        gpus = tuple(GpuState(index, row["model"]) for index in range(int(row["gpu"])))
        cpus, memory = int(row["cpu_milli"]) / 1000, int(row["memory_mib"]) << 20
        nodes.append(NodeState(row["sn"], cpus, memory, cpus, memory, gpus))
    return nodes


def read_pods(path: Path) -> list[TaskShape]:
    known: dict[TaskShape, TaskShape] = {}
    return [known.setdefault(shape, shape) for shape in map(_shape, _rows(path))]


def read_published(path: Path) -> dict[str, float]:
    """The result of the paper's own policy."""
    if not path.exists():
        return {}
    return {
        row["workload"]: float(row["alloc_pct_at_130"])
        for row in _rows(path)
        if row["policy"].endswith("FGD")
    }


def _shape(row: dict[str, str]) -> TaskShape:
    count, share = int(row["num_gpu"]), int(row["gpu_milli"])
    part = share if count == 1 and share < 1000 else 0
    models = frozenset((row.get("gpu_spec") or "").split("|")) - {""} if count else frozenset()
    return TaskShape(
        cpus=int(row["cpu_milli"]) / 1000,
        memory=int(row["memory_mib"]) << 20,
        gpus=0 if part else count,
        share=part,
        models=models,
    )


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
