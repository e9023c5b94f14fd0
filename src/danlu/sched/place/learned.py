"""Packs for the usual mix of requests.

Which gap is best to fill depends on the requests that will fill the rest. From recent requests,
`waste.py` computes a table: the expected waste of the free part of a GPU, given the CPUs left for
it, if the best of the next requests fills it (and the best of the following ones the remainder). A
task is placed where the total expected waste grows least.

Gaps of the same size compete for the requests that could fill them: the more gaps, the fewer
choices each has. An idle GPU has hardly any choice, because a job that fits is never refused.
`OPENING` accounts for that: a share that opens an idle GPU is charged less.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from danlu.sched.api import WHOLE, Mix
from danlu.sched.place.free import Need
from danlu.sched.place.node_waste import DIGITS, FULLER, OPENING, NodeWaste
from danlu.sched.place.waste import CPU_STEP, CPU_STEPS, GRAIN, LEVELS, crowds

if TYPE_CHECKING:
    from danlu.sched.place.place import Room

_ONE_BY_ONE = 32  # nodes that changed; more are faster as arrays
_LOOK_EVERY = 100  # changes between recounts of the gaps
_MANY = 2000  # on more nodes, they are recounted less often: the same part has changed by then
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
_State = tuple[int, int, tuple[int, ...], tuple[str, ...], bool]


class _Scores:
    """The cost of a task on each node, valid up to the change `seen`."""

    __slots__ = ("gpu", "known", "seen", "value")

    def __init__(
        self, value: _Floats, gpu: _Ints | None, seen: int, known: dict[int, tuple[float, int]]
    ) -> None:
        self.value = value
        self.gpu = gpu
        self.seen = seen
        self.known = known  # by state


class LearnedIndex:
    def __init__(self, room: Room, mix: Mix) -> None:
        self._room = room
        count = len(room.nodes)
        width = max((len(room.room_of(at).gpus) for at in range(count)), default=1) or 1
        self._cpus = np.zeros(count)
        self._memory = np.zeros(count)
        self._gpus = np.zeros((count, width), np.int64)
        self._usable = np.zeros(count, bool)
        self._before = np.zeros(count)
        # Nodes that are alike, of which there are many, are scored once. States are never reused.
        self._states: dict[_State, int] = {}
        self._state = np.zeros(count, np.int64)
        self._state_of = [0] * count  # the same, faster to read one by one
        self._before_of: dict[int, float] = {}  # by state
        models = sorted({m for at in range(count) for m in room.room_of(at).models})
        self._waste = NodeWaste(mix, models)
        self._tables = np.zeros(1)
        self._table = np.zeros((count, 1), np.int64)
        self._log: list[int] = []  # nodes in the order they changed
        self._look_every = _LOOK_EVERY if count <= _MANY else count // 5
        self._scores: dict[tuple[int, int], _Scores] = {}
        self._accepts: dict[int, NDArray[np.bool_]] = {}  # GPUs each need accepts
        self._kept: list[object] = []  # keeps objects alive whose ids are keys
        for at in range(count):
            self._read(at)
        self._table[:, 0] = [self._waste.table_of(room.room_of(at)) for at in range(count)]
        self._learn()

    def _learn(self) -> None:
        """Updates the tables, which depend on the number of gaps of each size."""
        holes = np.bincount(self._gpus.reshape(-1) // GRAIN, minlength=LEVELS)
        if not self._waste.learn(crowds(holes)):
            return
        self._tables = np.array(self._waste.tables.flat)
        _, rows, back = self._distinct()
        gpus = self._gpus[rows]
        self._before = self._value(rows, self._cpus[rows], gpus, gpus.sum(axis=1))[back]
        self._before_of.clear()
        self._scores.clear()

    def _distinct(self) -> tuple[_Ints, _Ints, _Ints]:
        """The states there are, a node of each, and for each node where its state is in them."""
        one = np.full(len(self._states), -1)
        one[self._state] = np.arange(len(self._state))
        used = np.flatnonzero(one >= 0)
        place = np.zeros(len(one), np.int64)
        place[used] = np.arange(len(used))
        return used, one[used], place[self._state]

    def find(self, need: Need, suitable: bytearray | None) -> tuple[int, tuple[int, ...]] | None:
        scores = self._scored(need, suitable)
        best = int(scores.value.argmin())
        if scores.value[best] == np.inf:
            return None
        if scores.gpu is None:
            return best, ()
        return best, (int(scores.gpu[best]),)

    def changed(self, at: int) -> None:
        self._read(at)
        self._before[at] = self._waste_of(at)
        self._log.append(at)
        if len(self._log) % self._look_every == 0:
            self._learn()

    def _read(self, at: int) -> None:
        free = self._room.room_of(at)
        self._cpus[at] = free.millicpus
        self._memory[at] = free.memory
        self._gpus[at, : len(free.gpus)] = free.gpus
        self._usable[at] = free.usable
        state = (free.millicpus, free.memory, tuple(free.gpus), free.models, free.usable)
        number = self._states.setdefault(state, len(self._states))
        self._state[at] = self._state_of[at] = number

    def _waste_of(self, at: int) -> float:
        """The expected waste of a node as it is."""
        state = self._state_of[at]
        waste = self._before_of.get(state)
        if waste is None:
            waste = self._before_of[state] = self._waste.now(self._room.room_of(at))
        return waste

    def _scored(self, need: Need, suitable: bytearray | None) -> _Scores:
        key = (id(need), id(suitable))
        scores = self._scores.get(key)
        if scores is None:
            self._kept.append((need, suitable))
            scores = self._scores[key] = self._score_all(need, suitable)
            return scores
        if scores.seen < len(self._log):
            changed = set(self._log[scores.seen :])
            if len(changed) <= _ONE_BY_ONE:
                self._rescore(scores, need, suitable, changed)
            else:
                rows = np.array(sorted(changed))
                value, gpu = self._score(need, rows)
                scores.value[rows] = np.where(_mask(suitable, rows), value, np.inf)
                if scores.gpu is not None and gpu is not None:
                    scores.gpu[rows] = gpu
            scores.seen = len(self._log)
        return scores

    def _rescore(
        self, scores: _Scores, need: Need, suitable: bytearray | None, changed: set[int]
    ) -> None:
        """Like `_score`, for the few nodes that changed: small arrays are slow."""
        known, states = scores.known, self._state_of
        for at in changed:
            value, gpu = inf, 0
            if suitable is None or suitable[at]:
                found = known.get(states[at])
                if found is None:
                    free, before = self._room.room_of(at), self._waste_of(at)
                    found = known[states[at]] = self._waste.growth(free, need, before)
                value, gpu = found
            scores.value[at] = value
            if scores.gpu is not None:
                scores.gpu[at] = gpu

    def _score_all(self, need: Need, suitable: bytearray | None) -> _Scores:
        states, rows, back = self._distinct()
        value, gpu = self._score(need, rows)
        gpus = [0] * len(rows) if gpu is None else gpu.tolist()
        known = dict(zip(states.tolist(), zip(value.tolist(), gpus, strict=True), strict=True))
        every = np.where(_mask(suitable, slice(None)), value[back], np.inf)
        return _Scores(every, None if gpu is None else gpu[back], len(self._log), known)

    def _score(self, need: Need, rows: _Ints) -> tuple[_Floats, _Ints | None]:
        """The growth of waste per node (infinite if it does not fit), and the GPU for a share."""
        cpus = self._cpus[rows] - need.millicpus
        gpus = self._gpus[rows]
        accepted = self._accepted(need, rows)
        fits = self._usable[rows] & (cpus >= 0) & (self._memory[rows] >= need.memory)
        total = gpus.sum(axis=1)
        gpu: _Ints | None = None
        if need.share:
            after, gpu = self._with_share(need, rows, cpus, gpus, total, accepted)
        elif need.gpus:
            idle = (gpus == WHOLE) & accepted
            fits &= idle.sum(axis=1) >= need.gpus
            order = idle.cumsum(axis=1)
            left = np.where(idle & (order <= need.gpus), 0, gpus)
            after = self._value(rows, cpus, left, total - WHOLE * need.gpus)
        else:
            after = self._value(rows, cpus, gpus, total)
        growth = np.round(after - self._before[rows] + FULLER * total, DIGITS)
        return np.where(fits, growth, np.inf), gpu

    def _with_share(
        self,
        need: Need,
        rows: _Ints,
        cpus: _Floats,
        gpus: _Ints,
        total: _Ints,
        accepted: NDArray[np.bool_] | bool,
    ) -> tuple[_Floats, _Ints]:
        """The best GPU on each node."""
        each = np.maximum(cpus, 0) / np.maximum(total - need.share, 1)
        now = self._look_up(rows, gpus, each)
        then = self._look_up(rows, np.maximum(gpus - need.share, 0), each)
        growth = then - now
        growth -= np.where(gpus == WHOLE, OPENING, 0.0)
        growth = np.where((gpus >= need.share) & accepted, growth, np.inf)
        gpu = growth.argmin(axis=1)
        return now.sum(axis=1) + growth[np.arange(len(gpu)), gpu], gpu

    def _value(self, rows: _Ints, cpus: _Floats, gpus: _Ints, total: _Ints) -> _Floats:
        each = np.maximum(cpus, 0) / np.maximum(total, 1)
        value: _Floats = self._look_up(rows, gpus, each).sum(axis=1)
        return value

    def _look_up(self, rows: _Ints, gpus: _Ints, each: _Floats) -> _Floats:
        """Expected waste per GPU, with CPUs divided in proportion to free GPU capacity."""
        steps = np.minimum(gpus * (each / (1000 * CPU_STEP))[:, None], CPU_STEPS - 1)
        low = steps.astype(np.int64)
        place = self._table[rows] + (gpus // 10) * CPU_STEPS + low
        here = self._tables[place]
        value: _Floats = here + (steps - low) * (self._tables[place + 1] - here)
        return value

    def _accepted(self, need: Need, rows: _Ints) -> NDArray[np.bool_] | bool:
        if need.any_model:
            return True
        width = self._gpus.shape[1]
        known = self._accepts.get(id(need))
        if known is None:
            known = np.zeros((len(self._cpus), width), bool)
            for at in range(len(self._cpus)):
                models = self._room.room_of(at).models
                known[at, : len(models)] = [need.accepts(model) for model in models]
            self._accepts[id(need)] = known
        return known[rows]


def _mask(suitable: bytearray | None, rows: slice | _Ints) -> NDArray[np.bool_] | bool:
    return True if suitable is None else np.frombuffer(suitable, np.bool_)[rows]
