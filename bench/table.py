"""Result rows and their formatting."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

KEYS = ("what", "danlu", "anchor", "anchor_name", "ratio", "goal", "met")
HEADINGS = ("what", "Danlu", "anchor", "anchor's name", "ratio", "goal", "met")


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound on the ratio if the unit is "x", otherwise on Danlu's own figure."""

    bound: Literal["at most", "at least"]
    number: float
    unit: str

    def __str__(self) -> str:
        return f"{self.bound} {self.number:,g} {self.unit}"

    def met_by(self, value: float) -> bool:
        return value <= self.number if self.bound == "at most" else value >= self.number


@dataclass(frozen=True, slots=True)
class Row:
    what: str  # includes the unit
    danlu: float | None  # None: it failed
    anchor: float | None = None
    anchor_name: str | None = None
    goal: Goal | None = None
    digits: int | None = None  # decimals, if three significant digits would hide the difference

    @property
    def ratio(self) -> float | None:
        return self.danlu / self.anchor if self.danlu is not None and self.anchor else None

    @property
    def met(self) -> bool | None:
        """None: no goal, or no anchor to compare with."""
        if self.goal is None:
            return None
        if self.danlu is None:
            return False
        judged = self.ratio if self.goal.unit == "x" else self.danlu
        return None if judged is None else self.goal.met_by(judged)

    def values(self) -> dict[str, Any]:
        goal = None if self.goal is None else str(self.goal)
        danlu, anchor = (self._shown(value) for value in (self.danlu, self.anchor))
        figures = (self.what, danlu, anchor, self.anchor_name)
        return dict(zip(KEYS, (*figures, _round(self.ratio), goal, self.met), strict=True))

    def _shown(self, value: float | None) -> float | None:
        if value is None or self.digits is None:
            return _round(value)
        return round(value, self.digits)


def as_json(row: Row) -> str:
    return json.dumps(row.values(), ensure_ascii=False)


def as_table(rows: Sequence[Row]) -> str:
    cells = [HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(_width(line[column]) for line in cells) for column in range(len(HEADINGS))]
    lines = [
        "  ".join(
            _fit(text, widths[column], column in (1, 2, 4)) for column, text in enumerate(line)
        )
        for line in cells
    ]
    return "\n".join(line.rstrip() for line in lines)


def _cells(row: Row) -> tuple[str, ...]:
    values = row.values()
    ratio = _figure(values["ratio"]) + (" x" if values["ratio"] is not None else "")
    met = {None: "-", True: "yes", False: "NO"}[values["met"]]
    return (
        row.what,
        _figure(values["danlu"]),
        _figure(values["anchor"]),
        row.anchor_name or "-",
        ratio,
        values["goal"] or "-",
        met,
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:,.10g}"


def _round(value: float | None) -> float | None:
    """Three significant digits, but never less than the whole number."""
    if value is None or value == 0:
        return value
    for limit, digits in ((100, 0), (10, 1), (1, 2)):
        if abs(value) >= limit:
            return round(value, digits or None)
    return float(f"{value:.3g}")


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _fit(text: str, width: int, right: bool) -> str:
    gap = " " * (width - _width(text))
    return gap + text if right else text + gap
