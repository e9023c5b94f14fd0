"""Ways into tasks. Each part yields rows of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench import doors_web
from bench.measure import Options
from bench.table import Row

SUMMARY = "web doors against a direct connection to the program"

PARTS: tuple[Callable[[Options], Iterator[Row]], ...] = (doors_web.rows,)


def run(options: Options) -> Iterator[Row]:
    for part in PARTS:
        yield from part(options)
