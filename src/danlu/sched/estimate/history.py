"""Actual run times, learned from ended jobs, and the accuracy of past estimates."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from danlu.sched.api import TaskShape

Key = tuple[object, ...]
Shapes = tuple[TaskShape, ...]
ENOUGH = 3  # minimum number of similar runs
BRIEF = 60.0  # seconds; shorter jobs say nothing about how people choose their time limits
MANY = 5  # minimum number of runs to learn how much of their time limits jobs use
_EACH, _ALL = 50, 5000  # values kept per kind and in total


@dataclass(frozen=True, slots=True)
class History:
    """The part that snapshots contain. All sequences are sorted."""

    ratios: Sequence[float] = ()  # run time / time limit
    runs: Sequence[float] = ()  # of all jobs
    kinds: Mapping[Key, Sequence[float]] = field(default_factory=dict)
    errors: Sequence[float] = ()  # (wait + a minute) / (predicted wait + a minute)

    def likely(self, keys: Sequence[Key], limit: float | None, ran: float = 0.0) -> float | None:
        """The median run time of such jobs, given that this one has run for `ran` already."""
        for key in keys[:1]:  # runs of other sizes say nothing about this one
            known = self.kinds.get(key, ())
            if len(known) >= ENOUGH:
                longer = beyond(known, 0.5, ran)
                if longer is not None:
                    return longer if limit is None else min(limit, longer)
        if limit is None:
            return None  # run times of unrelated jobs are no basis for an estimate
        ratio = beyond(self.ratios, 0.5, ran / limit) if len(self.ratios) >= MANY else None
        return limit if ratio is None else ratio * limit

    def samples(self, keys: Sequence[Key], limit: float | None) -> int:
        """The number of ended jobs `likely` is based on."""
        for key in keys[:1]:
            if len(self.kinds.get(key, ())) >= ENOUGH:
                return len(self.kinds[key])
        return len(self.ratios) if limit is not None and len(self.ratios) >= MANY else 0


def beyond(values: Sequence[float], share: float, least: float) -> float | None:
    """The quantile of the values above `least`; None if there are none."""
    first = bisect_right(values, least)
    count = len(values) - first
    return values[first + min(count - 1, int(share * count))] if count else None


def quantile(values: Sequence[float], share: float) -> float | None:
    """Conservative: with few values, rather too high."""
    if not values:
        return None
    place = ceil(share * (len(values) + 1)) - 1
    return values[min(len(values) - 1, max(0, place))]


def keys_of(owner: str, name: str, shapes: Shapes) -> tuple[Key, ...]:
    """Keys by which jobs are compared, most specific first. Unnamed jobs are not comparable."""
    if not name:
        return ()
    size = (len(shapes), sum(shape.amount for shape in shapes))
    return ((owner, name, size), (owner, name))


class Book:
    """Collects run times on the server; `history()` is what decisions get."""

    def __init__(self) -> None:
        self._ratios = _Sorted(_ALL)
        self._runs = _Sorted(_ALL)
        self._errors = _Sorted(_ALL)
        self._kinds: dict[Key, _Sorted] = {}

    def ended(self, owner: str, name: str, shapes: Shapes, limit: float | None, run: float) -> None:
        self._runs.add(run)
        if limit and run >= BRIEF:
            self._ratios.add(min(1.0, run / limit))
        for key in keys_of(owner, name, shapes):
            kind = self._kinds.get(key)
            if kind is None:
                if len(self._kinds) >= _ALL:
                    del self._kinds[next(iter(self._kinds))]
                kind = self._kinds[key] = _Sorted(_EACH)
            kind.add(run)

    def waited(self, predicted: float, waited: float) -> None:
        """How a start-time estimate came out."""
        self._errors.add((waited + 60.0) / (predicted + 60.0))

    def expected(
        self, owner: str, name: str, shapes: Shapes, limit: float | None, share: float = 0.5
    ) -> float | None:
        """The quantile of the run times of such jobs; None if there are too few."""
        for key in keys_of(owner, name, shapes):
            kind = self._kinds.get(key)
            if kind is not None and len(kind.values) >= ENOUGH:
                found = quantile(kind.values, share)
                return found if limit is None or found is None else min(limit, found)
        return None

    def history(self) -> History:
        """A view, not a copy: use it before more runs are added."""
        kinds = {key: kind.values for key, kind in self._kinds.items()}
        return History(self._ratios.values, self._runs.values, kinds, self._errors.values)


class _Sorted:
    """The most recent values, sorted."""

    __slots__ = ("_last", "_most", "values")

    def __init__(self, most: int) -> None:
        self._most = most
        self._last: deque[float] = deque()
        self.values: list[float] = []

    def add(self, value: float) -> None:
        self._last.append(value)
        insort(self.values, value)
        if len(self._last) > self._most:
            oldest = self._last.popleft()
            del self.values[bisect_right(self.values, oldest) - 1]
