"""Interleaved measurements and their medians."""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    rounds: int | None = None  # None: the benchmark's default
    quick: bool = False
    pods: tuple[str, ...] = ()  # files to pack instead of the default
    trace: str | None = None  # a file to replay instead of the default

    def times(self, usual: int, quick: int) -> int:
        return self.rounds or (quick if self.quick else usual)


def in_turns(
    rounds: int, subjects: Mapping[str, Callable[[], float]], warm_up: int = 1
) -> dict[str, list[float]]:
    """Measures every subject once per round, so that disturbances affect all of them."""
    for _ in range(warm_up):
        for subject in subjects.values():
            subject()
    results: dict[str, list[float]] = {name: [] for name in subjects}
    for number in range(rounds):
        # The first one is affected by the round before: rotate the order.
        names = list(subjects)[:: 1 if number % 2 == 0 else -1]
        for name in names:
            results[name].append(subjects[name]())
    return results


def timed(action: Callable[[], object]) -> Callable[[], float]:
    def measure() -> float:
        start = time.perf_counter()
        action()
        return time.perf_counter() - start

    return measure


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of the samples does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def note(text: str) -> None:
    """Prints to stderr; stdout is for results."""
    print(f"bench/run: {text}", file=sys.stderr, flush=True)
