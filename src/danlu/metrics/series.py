"""Archive rows as evenly spaced series. Unknown values are None."""

from __future__ import annotations

from typing import NamedTuple

from danlu.metrics.archive import Bucket, Found, Row, Window
from danlu.metrics.values import METRICS

_AVERAGED = frozenset({"gpu", "temperature"})  # mean over tasks; all others are summed
Points = list[float | None]


class Series(NamedTuple):
    """One metric. Over several tasks, minimum and maximum are unknown."""

    name: str
    unit: str
    mean: Points
    low: Points | None
    high: Points | None


def series_of(found: Found, shown: Window) -> list[Series]:
    """All parts together."""
    if len(found) == 1:
        return _single(next(iter(found.values())), shown)
    lines = []
    for name in METRICS:
        mean: Points = [_together(name, found, index) for index in range(shown.size)]
        if any(value is not None for value in mean):
            lines.append(Series(name, METRICS[name], mean, None, None))
    return lines


def _single(rows: dict[int, Row], shown: Window) -> list[Series]:
    lines = []
    nothing = Bucket(None, None, None)
    for name, unit in METRICS.items():
        line = [rows.get(index, {}).get(name, nothing) for index in range(shown.size)]
        if any(bucket.mean is not None for bucket in line):
            lines.append(
                Series(
                    name,
                    unit,
                    [bucket.mean for bucket in line],
                    [bucket.low for bucket in line],
                    [bucket.high for bucket in line],
                )
            )
    return lines


def _together(name: str, found: Found, index: int) -> float | None:
    values = [
        bucket.mean
        for rows in found.values()
        if (bucket := rows.get(index, {}).get(name)) is not None and bucket.mean is not None
    ]
    if not values:
        return None
    return round(sum(values) / (len(values) if name in _AVERAGED else 1), 3)
