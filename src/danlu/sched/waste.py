"""The waste to expect of the free part of a card, by what is left and the CPUs there are for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from danlu.sched.api import WHOLE, Mix, TaskShape
from danlu.sched.free import Need

CHOICE = 60  # of so many requests to come, the best will fill a hole
IDLE_CHOICE = 8  # an idle card waits for nobody: of these few, one will take it
SHARED = 1500  # so many requests are shared by holes of the same size, where there are many
GRAIN = 10  # thousandths of a card
LEVELS = WHOLE // GRAIN + 1
CPU_STEP = 0.5
CPU_STEPS = 129  # up to 64 CPUs for a card; more make no difference
_ALIKE = 2  # holes that differ by so many grains are filled by the same requests
_COARSE = 4.0  # counts of holes are told apart by this factor, so that tables can be kept
_KEPT = 64
_Floats = NDArray[np.float64]
_Kinds = Mapping[tuple[int, int], float]  # (part of a card, CPU steps) -> how likely
Crowds = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tables:
    values: _Floats  # [table, part, CPU steps]
    of: Mapping[str, int]  # model -> its table
    size: int  # entries of one table


def crowds(holes: NDArray[np.int64]) -> Crowds:
    """How crowded each size of hole is: 0, not; each further step, so many times more."""
    used = holes.astype(np.float64)
    used[0] = used[-1] = 0.0  # neither full nor idle cards are holes
    alike = np.convolve(used, np.ones(2 * _ALIKE + 1), "same")
    steps = np.log(np.maximum(alike, 1.0) * CHOICE / SHARED) / np.log(_COARSE) + 1
    return tuple(int(step) for step in np.maximum(np.floor(steps), 0))


def waste_tables(mix: Mix, models: Sequence[str], crowded: Crowds) -> Tables:
    """One table for all models, unless people ask for certain ones."""
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
    return Tables(values, of, LEVELS * CPU_STEPS)


def _kinds(mix: Mix, model: str) -> _Kinds:
    """What may come to one card of this model."""
    total = sum(mix.counts.values()) or 1
    kinds: dict[tuple[int, int], float] = defaultdict(float)
    for shape, count in mix.counts.items():
        if (shape.cards or shape.share) and Need(shape).accepts(model):
            part = -(-shape.share // GRAIN) if shape.share else WHOLE // GRAIN
            kinds[(part, _cpu_steps(shape))] += count / total
    return dict(sorted(kinds.items()))


def _cpu_steps(shape: TaskShape) -> int:
    return ceil(shape.cpus / (shape.cards or 1) / CPU_STEP - 1e-9)


def _expect(kinds: _Kinds, choice: Sequence[float]) -> _Floats:
    """From the smallest part up: what remains after the best of the next requests has come."""
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
        # The chance that none of the better requests, up to this row, is among those to come.
        none_yet = (1 - np.minimum(likely.cumsum(axis=0), 1)) ** choice[part]
        before = np.vstack([np.ones(CPU_STEPS), none_yet[:-1]])
        waste[part] = (remains * (before - none_yet)).sum(axis=0) + part * GRAIN * none_yet[-1]
    return waste
