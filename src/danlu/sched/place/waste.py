"""Expected waste of the free part of a GPU, by its size and the CPUs available for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from danlu.sched.api import WHOLE, Mix, TaskShape
from danlu.sched.place.free import Need

CHOICE = 60  # upcoming requests of which the best fills a gap
IDLE_CHOICE = 8  # the same for an idle GPU, which is taken sooner
SHARED = 1500  # requests that many gaps of the same size share
GRAIN = 10  # thousandths of a GPU
LEVELS = WHOLE // GRAIN + 1
CPU_STEP = 0.5
CPU_STEPS = 129  # up to 64 CPUs for a GPU; more make no difference
_ALIKE = 2  # gaps that differ by up to this many grains count as the same size
_COARSE = 4.0  # counts of gaps are grouped by this factor, so that tables can be cached
_KEPT = 64
_Floats = NDArray[np.float64]
_Kinds = Mapping[tuple[int, int], float]  # (part of a GPU, CPU steps) -> probability
Crowds = tuple[int, ...]
CROWDED = SHARED // CHOICE  # fewer gaps than this never compete
UNCROWDED: Crowds = (0,) * LEVELS


@dataclass(frozen=True, slots=True)
class Tables:
    values: _Floats  # [table, part, CPU steps]
    of: Mapping[str, int]  # model -> its table
    size: int  # entries of one table
    flat: list[float]  # `values` in one line, plus one: interpolation reads the next entry


def crowds(holes: NDArray[np.int64] | Sequence[int]) -> Crowds:
    """How many gaps there are of each size: 0 for few; each step is a factor of `_COARSE`."""
    used = np.asarray(holes, np.float64)
    used[0] = used[-1] = 0.0  # full and idle GPUs are not gaps
    alike = np.convolve(used, np.ones(2 * _ALIKE + 1), "same")
    steps = np.log(np.maximum(alike, 1.0) * CHOICE / SHARED) / np.log(_COARSE) + 1
    return tuple(int(step) for step in np.maximum(np.floor(steps), 0))


def waste_tables(mix: Mix, models: Sequence[str], crowded: Crowds) -> Tables:
    """One table for all models, unless requests name certain models."""
    kept = mix.memo
    if not isinstance(kept, dict):
        kept = {}
        object.__setattr__(mix, "memo", kept)
    key = (tuple(models), crowded)
    tables = kept.pop(key, None)
    if tables is None:
        tables = _tables(mix, models, crowded)
        while len(kept) >= _KEPT:
            del kept[next(iter(kept))]
    kept[key] = tables
    assert isinstance(tables, Tables)
    return tables


def _tables(mix: Mix, models: Sequence[str], crowded: Crowds) -> Tables:
    distinct: list[_Kinds] = []
    of: dict[str, int] = {}
    for model in models:
        kinds = _kinds(mix, model)
        if kinds not in distinct:
            distinct.append(kinds)
        of[model] = distinct.index(kinds)
    choice = [CHOICE / _COARSE ** (step - 0.5) if step else float(CHOICE) for step in crowded]
    choice[-1] = float(IDLE_CHOICE)
    values = np.stack([_expect(kinds, choice) for kinds in distinct or [{}]])
    flat = np.append(values.reshape(-1), 0.0).tolist()
    return Tables(values, of, LEVELS * CPU_STEPS, flat)


def _kinds(mix: Mix, model: str) -> _Kinds:
    """Requests that could use a GPU of this model."""
    total = sum(mix.counts.values()) or 1
    kinds: dict[tuple[int, int], float] = defaultdict(float)
    for shape, count in mix.counts.items():
        if (shape.gpus or shape.share) and Need(shape).accepts(model):
            part = -(-shape.share // GRAIN) if shape.share else WHOLE // GRAIN
            kinds[(part, _cpu_steps(shape))] += count / total
    return dict(sorted(kinds.items()))


def _cpu_steps(shape: TaskShape) -> int:
    return ceil(shape.cpus / (shape.gpus or 1) / CPU_STEP - 1e-9)


def _expect(kinds: _Kinds, choice: Sequence[float]) -> _Floats:
    """Dynamic programming over parts: what remains after the best of the next requests."""
    waste = np.zeros((LEVELS, CPU_STEPS))
    for part in range(1, LEVELS):
        usable = [(size, cpus, p) for (size, cpus), p in kinds.items() if size <= part]
        remains = np.full((len(usable) + 1, CPU_STEPS), float(part * GRAIN))
        likely = np.zeros((len(usable) + 1, CPU_STEPS))
        for row, (size, cpus, probability) in enumerate(usable):
            if cpus < CPU_STEPS:
                remains[row, cpus:] = waste[part - size, : CPU_STEPS - cpus]
                likely[row, cpus:] = probability
        best_first = np.argsort(remains, axis=0, kind="stable")
        remains = np.take_along_axis(remains, best_first, 0)
        likely = np.take_along_axis(likely, best_first, 0)
        # The probability that none of the better requests, up to this row, arrives.
        none_yet = (1 - np.minimum(likely.cumsum(axis=0), 1)) ** choice[part]
        before = np.vstack([np.ones(CPU_STEPS), none_yet[:-1]])
        waste[part] = (remains * (before - none_yet)).sum(axis=0) + part * GRAIN * none_yet[-1]
    return waste
