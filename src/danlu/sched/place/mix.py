"""Learns the usual mix of requests from the most recent ones."""

from __future__ import annotations

from collections import Counter, deque

from danlu.sched.api import ANY, Mix, TaskShape

REMEMBERED = 4000
_FIRST = 20  # fewer requests say little about future ones


class MixLearner:
    """Counts requests; creates a new `Mix` only after enough new ones."""

    def __init__(self) -> None:
        self._last: deque[TaskShape] = deque(maxlen=REMEMBERED)
        self._seen = 0
        self._next = _FIRST
        self.mix: Mix | None = None

    def add(self, shape: TaskShape) -> None:
        self._last.append(shape)
        self._seen += 1
        if self._seen >= self._next:
            self._next = min(self._seen * 3 // 2, self._seen + REMEMBERED // 2)
            self.mix = Mix(Counter(plain(shape) for shape in self._last))


def plain(shape: TaskShape) -> TaskShape:
    """Without restrictions to certain nodes; only sizes and models matter here."""
    if shape.include or shape.exclude or shape.labels or shape.volumes or shape.indexes:
        return TaskShape(
            shape.cpus, shape.memory, shape.gpus, shape.share, shape.model, shape.models, (), ANY
        )
    return shape
