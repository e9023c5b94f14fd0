"""Reads series in worker threads, a few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from danlu.metrics.archive import Archive, Window
from danlu.metrics.series import Series, series_of
from danlu.metrics.values import Kind

_AT_ONCE = 2  # long series keep a worker busy; leave the others free
T = TypeVar("T")


class Reader:
    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def read(self, work: Callable[[Archive], T]) -> T:
        """Raises OSError if the file cannot be read."""
        async with self._turns:
            return await asyncio.to_thread(work, self._archive)


def of_job(archive: Archive, job: str, shown: Window, task: int | None) -> list[Series]:
    """For one task, or all together."""
    return series_of(archive.read(Kind.TASK, job, shown, task), shown)


def of_node(archive: Archive, node: str, shown: Window) -> list[Series]:
    return series_of(archive.read(Kind.NODE, node, shown), shown)


def of_gpus(archive: Archive, node: str, shown: Window) -> dict[int, list[Series]]:
    found = archive.read(Kind.GPU, node, shown)
    return {index: series_of({index: rows}, shown) for index, rows in sorted(found.items())}
