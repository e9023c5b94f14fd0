"""Packing for the jobs that usually come.

Which hole is best filled depends on what will come to fill the rest. From the shapes people asked
for lately, a table is worked out (`waste.py`): the waste to expect of the free part of a card,
given the CPUs that are left for it, if the best of the next requests fills it (and the best of the
next ones what then remains). A task goes where the sum of expected waste grows least.

Holes of one size share those who could fill them: the more there are, the less each can choose. And
an idle card can hardly choose: a job that fits is never refused, so it goes to whoever comes first,
good fit or not. `OPENING` is that loss: a share that opens an idle card is charged less by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from danlu.sched.api import WHOLE, Mix
from danlu.sched.free import Need
from danlu.sched.waste import (
    CPU_STEP,
    CPU_STEPS,
    GRAIN,
    LEVELS,
    Crowds,
    crowds,
    waste_tables,
)

if TYPE_CHECKING:
    from danlu.sched.place import Room

OPENING = 50.0
_LOOK_EVERY = 100  # changes, until the holes are counted again
_FULLER = 3e-4  # of two nodes that lose as much, the fuller one: large holes stay large
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


def learned_index(room: Room, mix: Mix) -> LearnedIndex:
    return LearnedIndex(room, mix)


class _Scores:
    """What each node would cost one kind of task, and up to which change this is true."""

    __slots__ = ("card", "seen", "value")

    def __init__(self, value: _Floats, card: _Ints | None, seen: int) -> None:
        self.value = value
        self.card = card
        self.seen = seen


class LearnedIndex:
    def __init__(self, room: Room, mix: Mix) -> None:
        self._room = room
        count = len(room.nodes)
        width = max((len(room.room_of(at).cards) for at in range(count)), default=1) or 1
        self._cpus = np.zeros(count)
        self._memory = np.zeros(count)
        self._cards = np.zeros((count, width), np.int64)
        self._usable = np.zeros(count, bool)
        self._before = np.zeros(count)
        self._mix = mix
        self._models = sorted({m for at in range(count) for m in room.room_of(at).models})
        self._tables = np.zeros(1)
        self._table = np.zeros((count, 1), np.int64)
        self._crowds: Crowds = ()
        self._log: list[int] = []  # nodes in the order they changed
        self._scores: dict[tuple[int, int], _Scores] = {}
        self._accepts: dict[int, NDArray[np.bool_]] = {}  # which cards a need accepts
        self._kept: list[object] = []  # whatever an id stands for stays alive
        for at in range(count):
            self._read(at)
        self._learn()

    def _learn(self) -> None:
        """What holes are worth depends on how many of them there are."""
        holes = np.bincount(self._cards.reshape(-1) // GRAIN, minlength=LEVELS)
        crowded = crowds(holes)
        if crowded == self._crowds:
            return
        self._crowds = crowded
        tables = waste_tables(self._mix, self._models, crowded)
        # [table, part, CPUs] in one line, and one more, so that there is always a next entry.
        self._tables = np.append(tables.values.reshape(-1), 0.0)
        for at in range(len(self._cpus)):
            own = self._room.room_of(at).models
            self._table[at, 0] = (tables.of[own[0]] if own else 0) * tables.size
        self._before = self._value(slice(None), self._cpus, self._cards, self._cards.sum(axis=1))
        self._scores.clear()

    def find(self, need: Need, suitable: bytearray | None) -> tuple[int, tuple[int, ...]] | None:
        scores = self._scored(need, suitable)
        best = int(scores.value.argmin())
        if scores.value[best] == np.inf:
            return None
        if scores.card is None:
            return best, ()
        return best, (int(scores.card[best]),)

    def changed(self, at: int) -> None:
        self._read(at)
        one = slice(at, at + 1)
        total = self._cards[one].sum(axis=1)
        self._before[at] = self._value(one, self._cpus[one], self._cards[one], total)[0]
        self._log.append(at)
        if len(self._log) % _LOOK_EVERY == 0:
            self._learn()

    def _read(self, at: int) -> None:
        free = self._room.room_of(at)
        self._cpus[at] = free.millicpus
        self._memory[at] = free.memory
        self._cards[at, : len(free.cards)] = free.cards
        self._usable[at] = free.usable

    def _scored(self, need: Need, suitable: bytearray | None) -> _Scores:
        key = (id(need), id(suitable))
        scores = self._scores.get(key)
        if scores is None:
            self._kept.append((need, suitable))
            value, card = self._score(need, suitable, np.arange(len(self._cpus)))
            scores = self._scores[key] = _Scores(value, card, len(self._log))
            return scores
        if scores.seen < len(self._log):
            fresh = self._log[scores.seen :]
            rows = np.array(fresh if len(fresh) < 8 else list(set(fresh)))
            value, card = self._score(need, suitable, rows)
            scores.value[rows] = value
            if scores.card is not None and card is not None:
                scores.card[rows] = card
            scores.seen = len(self._log)
        return scores

    def _score(
        self, need: Need, suitable: bytearray | None, rows: _Ints
    ) -> tuple[_Floats, _Ints | None]:
        """The growth of waste on these nodes, infinite where it does not fit; and which card."""
        cpus = self._cpus[rows] - need.millicpus
        cards = self._cards[rows]
        accepted = self._accepted(need, rows)
        fits = self._usable[rows] & (cpus >= 0) & (self._memory[rows] >= need.memory)
        if suitable is not None:
            fits &= np.frombuffer(suitable, np.uint8)[rows].astype(bool)
        total = cards.sum(axis=1)
        card: _Ints | None = None
        if need.share:
            after, card = self._with_share(need, rows, cpus, cards, total, accepted)
        elif need.cards:
            idle = (cards == WHOLE) & accepted
            fits &= idle.sum(axis=1) >= need.cards
            order = idle.cumsum(axis=1)
            left = np.where(idle & (order <= need.cards), 0, cards)
            after = self._value(rows, cpus, left, total - WHOLE * need.cards)
        else:
            after = self._value(rows, cpus, cards, total)
        growth = after - self._before[rows] + _FULLER * total
        return np.where(fits, growth, np.inf), card

    def _with_share(
        self,
        need: Need,
        rows: _Ints,
        cpus: _Floats,
        cards: _Ints,
        total: _Ints,
        accepted: NDArray[np.bool_] | bool,
    ) -> tuple[_Floats, _Ints]:
        """The card that loses least, on each node."""
        each = np.maximum(cpus, 0) / np.maximum(total - need.share, 1)
        now = self._look_up(rows, cards, each)
        then = self._look_up(rows, np.maximum(cards - need.share, 0), each)
        growth = then - now
        growth -= np.where(cards == WHOLE, OPENING, 0.0)
        growth = np.where((cards >= need.share) & accepted, growth, np.inf)
        card = growth.argmin(axis=1)
        return now.sum(axis=1) + growth[np.arange(len(card)), card], card

    def _value(self, rows: slice | _Ints, cpus: _Floats, cards: _Ints, total: _Ints) -> _Floats:
        each = np.maximum(cpus, 0) / np.maximum(total, 1)
        value: _Floats = self._look_up(rows, cards, each).sum(axis=1)
        return value

    def _look_up(self, rows: slice | _Ints, cards: _Ints, each: _Floats) -> _Floats:
        """Expected waste of each card, if the node's CPUs are shared out by what is free."""
        steps = np.minimum(cards * (each / (1000 * CPU_STEP))[:, None], CPU_STEPS - 1)
        low = steps.astype(np.int64)
        place = self._table[rows] + (cards // 10) * CPU_STEPS + low
        here = self._tables[place]
        value: _Floats = here + (steps - low) * (self._tables[place + 1] - here)
        return value

    def _accepted(self, need: Need, rows: _Ints) -> NDArray[np.bool_] | bool:
        if need.any_model:
            return True
        width = self._cards.shape[1]
        known = self._accepts.get(id(need))
        if known is None:
            known = np.zeros((len(self._cpus), width), bool)
            for at in range(len(self._cpus)):
                models = self._room.room_of(at).models
                known[at, : len(models)] = [need.accepts(model) for model in models]
            self._accepts[id(need)] = known
        return known[rows]
