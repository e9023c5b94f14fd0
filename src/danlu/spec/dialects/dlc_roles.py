"""Roles of a DLC job: what their counts are called, and what an instance type's name says."""

from __future__ import annotations

import re
from dataclasses import dataclass

ROLES = ("master", "chief", "head", "worker", "ps", "evaluator", "graphlearn")
"""In the order of their ranks: whoever leads comes first."""

COUNTS = {
    "worker": ("workers", "worker_count"),
    "master": ("masters", "master_count"),
    "ps": ("ps", "ps_count"),
    "chief": ("chief", "chief_count"),
    "evaluator": ("evaluators", "evaluator_count"),
    "graphlearn": ("graphlearns", "graphlearn_count"),
    "head": ("heads", "head_count"),
}
RESOURCES = ("image", "spec", "cpu", "gpu", "gpu_type", "memory", "shared_memory")

KINDS = {
    "pytorchjob": "PyTorchJob",
    "tfjob": "TFJob",
    "xgboostjob": "XGBoostJob",
    "rayjob": "RayJob",
    "batchjob": "BatchJob",
    "mpijob": "MPIJob",
    "elasticbatchjob": "ElasticBatchJob",
    "oneflowjob": "OneFlowJob",
    "slurmjob": "SlurmJob",
    "custom": "Custom",
}

# Family -> model of its cards, CPUs and GiB that go with one card at the smallest size.
_CARDS = {
    "gn5": "P100",
    "gn5i": "P4",
    "gn6v": "V100",
    "gn6e": "V100",
    "gn6i": "T4",
    "gn7": "A100",
    "gn7e": "A100",
    "gn7i": "A10",
    "gn7s": "A30",
    "ebmgn7": "A100",
    "ebmgn7e": "A100",
    "ebmgn7i": "A10",
    "ebmgn6v": "V100",
    "ebmgn6e": "V100",
    "ebmgn6i": "T4",
}
_GIB_PER_CPU = {"c": 2, "g": 4, "r": 8}
_SIZE = re.compile(r"(\d{0,3})x?large", re.ASCII)
_CARD_SIZE = re.compile(r"c(\d{1,3})g(\d)(?:m(\d+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Machine:
    """What an instance type has; None where its name does not say."""

    cpus: int
    memory_gib: int | None = None
    gpus: int = 0
    model: str | None = None


def machine_of(spec: str) -> Machine | None:
    """`ecs.gn6v-c8g1.2xlarge`: 8 CPUs and one V100. None: the name says nothing known."""
    parts = spec.removeprefix("ecs.").split(".")
    if len(parts) != 2:
        return None
    family, _, shape = parts[0].partition("-")
    cpus = _cpus_of(parts[1])
    if cpus is None:
        return None
    if family in _CARDS:
        size = _CARD_SIZE.fullmatch(shape)
        gpus = max(1, cpus // int(size[1])) * int(size[2]) if size and int(size[1]) else 8
        return Machine(cpus, None, gpus, _CARDS[family])
    letter = re.fullmatch(r"([cgr])\d\w*", family)
    if letter is None:
        return None
    return Machine(cpus, cpus * _GIB_PER_CPU[letter[1]])


def _cpus_of(size: str) -> int | None:
    if size in ("small", "medium"):
        return 1
    match = _SIZE.fullmatch(size)
    if match is None:
        return None
    return 2 if size == "large" else 4 * int(match[1] or 1)
