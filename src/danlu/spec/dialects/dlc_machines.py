"""Alibaba Cloud's instance types: what a machine of a DLC job has, by its name."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Family -> GPU model.
_MODELS = {
    "gn5": "P100",
    "gn5i": "P4",
    "gn6v": "V100",
    "gn6e": "V100",
    "gn6i": "T4",
    "gn7": "A100",
    "gn7e": "A100",
    "gn7i": "A10",
    "gn7s": "A30",
    "ebmgn6v": "V100",
    "ebmgn6e": "V100",
    "ebmgn6i": "T4",
    "ebmgn7": "A100",
    "ebmgn7e": "A100",
    "ebmgn7i": "A10",
}
# Family -> CPUs that go with one GPU (the 32 of c32g1) -> GiB that go with them.
_GIB: dict[str, dict[int, float]] = {
    "gn5": {4: 30, 8: 60, 28: 112},
    "gn5i": {2: 8, 4: 16, 8: 32, 16: 64, 28: 112},
    "gn6v": {8: 32},
    "gn6e": {12: 92},
    "gn6i": {4: 15, 8: 31, 16: 62, 24: 93, 40: 155},
    "gn7": {12: 94, 13: 94.5},
    "gn7e": {16: 125},
    "gn7i": {8: 30, 16: 60, 32: 188, 48: 310, 56: 346},
    "gn7s": {8: 60, 16: 120, 32: 250, 48: 380, 56: 440},
}
# CPUs, GiB and GPUs of types whose name does not follow the rule.
_EXACT = {
    "gn5-c8g1.14xlarge": (54, 480, 8),
    "gn6v-c10g1.20xlarge": (82, 336, 8),
    "ebmgn6v.24xlarge": (96, 384, 8),
    "ebmgn6e.24xlarge": (96, 768, 8),
    "ebmgn6i.24xlarge": (96, 384, 4),
    "ebmgn7.26xlarge": (104, 768, 8),
    "ebmgn7e.32xlarge": (128, 1024, 8),
    "ebmgn7i.32xlarge": (128, 768, 4),
}
_GIB_PER_CPU = {"c": 2, "g": 4, "r": 8}
_SIZE = re.compile(r"(\d{0,3})x?large", re.ASCII)
_PER_GPU = re.compile(r"c(\d{1,3})g(\d)(?:m\d+)?", re.ASCII)
_GPUS = re.compile(r"(\d{1,2})x", re.ASCII)


@dataclass(frozen=True, slots=True)
class Machine:
    """The resources of an instance type; None if its name does not tell."""

    cpus: int
    memory_gib: int | None = None
    gpus: int = 0
    model: str | None = None


def machine_of(spec: str) -> Machine | None:
    """`ecs.gn6v-c8g1.2xlarge`: 8 CPUs, 32 GiB and one V100. None: unknown name."""
    name = spec.removeprefix("ecs.")
    family, _, shape = name.partition(".")[0].partition("-")
    model = _MODELS.get(family)
    if name in _EXACT:
        cpus, gib, gpus = _EXACT[name]
        return Machine(cpus, gib, gpus, model)
    parts = name.split(".")
    found = _cpus_of(parts[1]) if len(parts) == 2 else None
    if found is None:
        return None
    if model is not None:
        return _with_gpus(found, family, shape, model)
    letter = re.fullmatch(r"([cgr])\d\w*", family)
    return None if letter is None else Machine(found, found * _GIB_PER_CPU[letter[1]])


def _with_gpus(cpus: int, family: str, shape: str, model: str) -> Machine:
    if several := _GPUS.fullmatch(shape):  # gn7i-4x.8xlarge
        return Machine(cpus, 4 * cpus, int(several[1]), model)
    size = _PER_GPU.fullmatch(shape)
    if size is None or not int(size[1]):
        return Machine(cpus, None, 8, model)
    each = int(size[1])
    gib = _GIB.get(family, {}).get(each)
    memory = None if gib is None else round(gib * cpus / each)
    return Machine(cpus, memory, max(1, cpus // each) * int(size[2]), model)


def _cpus_of(size: str) -> int | None:
    if size in ("small", "medium"):
        return 1
    match = _SIZE.fullmatch(size)
    if match is None:
        return None
    return 2 if size == "large" else 4 * int(match[1] or 1)
