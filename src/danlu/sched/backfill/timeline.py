"""Free capacity of a queue over time, summed over its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from operator import add as plus
from operator import ge, sub

from danlu.sched.api import Running, Waiting

Amounts = tuple[int, ...]
GRACE = 60.0  # overdue jobs are always expected to end within a minute


def run_of(job: Waiting) -> float | None:
    """The planned run time: learned, at most its limit. None: unknown."""
    known = [run for run in (job.expected, job.time_limit) if run is not None]
    return max(1.0, min(known)) if known else None


def end_of(job: Running, now: float) -> float:
    """When it is planned to end."""
    likely, latest = job.expected_end, job.latest_end
    if likely is not None and likely > now:
        return likely
    if latest is not None:
        return latest if latest > now else now + GRACE
    # A job that outlasted all similar ones is expected to go on in proportion to its run time.
    return inf if likely is None else now + max(GRACE, (now - job.since) / 2)


class Line:
    """One scarce resource: how much is free from each time on. Times are unique."""

    __slots__ = ("free", "times")

    def __init__(self, now: float, free: Amounts, releases: Iterable[tuple[float, Amounts]]):
        self.times = [now]
        self.free = [free[0]]
        level = free[0]
        for end, amounts in sorted(releases):
            if end == inf:
                break
            level += amounts[0]
            if end <= self.times[-1]:
                self.free[-1] = level
            else:
                self.times.append(end)
                self.free.append(level)

    def copy(self) -> Line:
        twin = Line.__new__(Line)
        twin.times, twin.free = self.times[:], self.free[:]
        return twin

    def place(self, need: Amounts, run: float, spare: int = 0) -> float:
        """Takes the earliest room for `need` (with `spare` left over) and returns its start."""
        times, free = self.times, self.free
        amount = need[0]
        level = amount + spare
        if level > free[-1]:
            return inf
        count = len(times)
        at = 0
        while True:
            while free[at] < level:
                at += 1
            first = at
            end = times[at] + run
            at += 1
            while at < count and times[at] < end and free[at] >= level:
                at += 1
            if at == count or times[at] >= end:
                break
        for i in range(first, at):
            free[i] -= amount
        if end != inf and (at == count or times[at] != end):
            times.insert(at, end)
            free.insert(at, free[at - 1] + amount)
        return times[first]

    def start(self, need: Amounts, run: float) -> bool:
        """Takes `need` from the start; returns False, without taking it, if it is not free."""
        times, free = self.times, self.free
        amount, count, end = need[0], len(times), times[0] + run
        at = 0
        while at < count and times[at] < end:
            if free[at] < amount:
                return False
            at += 1
        for i in range(at):
            free[i] -= amount
        if end != inf and (at == count or times[at] != end):
            times.insert(at, end)
            free.insert(at, free[at - 1] + amount)
        return True


class Lines:
    """Several scarce resources, which is slower. `spare` applies to the first."""

    __slots__ = ("free", "times")

    def __init__(self, now: float, free: Amounts, releases: Iterable[tuple[float, Amounts]]):
        self.times = [now]
        self.free = [free]
        level = free
        for end, amounts in sorted(releases):
            if end == inf:
                break
            level = add(level, amounts)
            if end <= self.times[-1]:
                self.free[-1] = level
            else:
                self.times.append(end)
                self.free.append(level)

    def copy(self) -> Lines:
        twin = Lines.__new__(Lines)
        twin.times, twin.free = self.times[:], self.free[:]
        return twin

    def place(self, need: Amounts, run: float, spare: int = 0) -> float:
        times, free = self.times, self.free
        level = (need[0] + spare, *need[1:])
        if not covers(free[-1], level):
            return inf
        at = 0
        while True:
            while not covers(free[at], level):
                at += 1
            first, end = at, times[at] + run
            at += 1
            while at < len(times) and times[at] < end and covers(free[at], level):
                at += 1
            if at == len(times) or times[at] >= end:
                break
        self._take(first, at, end, need)
        return times[first]

    def start(self, need: Amounts, run: float) -> bool:
        times, end, at = self.times, self.times[0] + run, 0
        while at < len(times) and times[at] < end:
            if not covers(self.free[at], need):
                return False
            at += 1
        self._take(0, at, end, need)
        return True

    def _take(self, first: int, last: int, end: float, need: Amounts) -> None:
        free = self.free
        before = free[last - 1]
        for at in range(first, last):
            free[at] = take(free[at], need)
        if end != inf and (last == len(free) or self.times[last] != end):
            self.times.insert(last, end)
            free.insert(last, before)


def profile(
    now: float, free: Amounts, releases: Iterable[tuple[float, Amounts]], scarce: Sequence[int]
) -> Line | Lines:
    kind = Line if len(scarce) == 1 else Lines
    return kind(now, pick(free, scarce), [(end, pick(a, scarce)) for end, a in releases])


def coarse(releases: Iterable[tuple[float, Amounts]], most: int) -> list[tuple[float, Amounts]]:
    """Merges releases that are close together, never making one earlier."""
    ordered = sorted(releases)
    if len(ordered) <= most:
        return ordered
    size = -(-len(ordered) // most)
    groups = (ordered[first : first + size] for first in range(0, len(ordered), size))
    return [
        (group[-1][0], tuple(map(sum, zip(*(a for _, a in group), strict=True))))
        for group in groups
    ]


def pick(amounts: Amounts, scarce: Sequence[int]) -> Amounts:
    return tuple([amounts[place] for place in scarce])


def covers(free: Amounts, need: Amounts) -> bool:
    return all(map(ge, free, need))


def add(left: Amounts, right: Amounts) -> Amounts:
    return tuple(map(plus, left, right))


def take(left: Amounts, right: Amounts) -> Amounts:
    return tuple(map(sub, left, right))
