"""Since when GPUs have been unused."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from danlu.metrics.tables import FINE, MIDDLE
from danlu.metrics.values import Kind, Sample, Subject

BUSY = 0.02  # utilisation from which a GPU counts as used

_LAST_BUSY = " UNION ALL ".join(
    f"SELECT owner, part, at, {high} AS high, {level.step} AS step FROM {level.table} "  # noqa: S608
    f"JOIN subjects ON subjects.id = {level.table}.subject WHERE kind = 'gpu'"
    for level, high in ((FINE, "gpu"), (MIDDLE, "gpu_max"))
)
_SINCE = (
    "SELECT owner, part, coalesce(max(iif(high >= ?, at + step, NULL)), min(at)) "  # noqa: S608
    f"FROM ({_LAST_BUSY}) WHERE high IS NOT NULL GROUP BY 1, 2"
)


class Idle:
    """Follows the samples. What was before the server started comes from the archive."""

    def __init__(self) -> None:
        self._since: dict[Subject, float] = {}
        self._before: dict[Subject, float] = {}

    def recall(self, path: Path) -> None:
        """Blocking. Without an archive, everything counts from now."""
        if not path.exists():
            return
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA query_only = ON")
            for owner, part, since in db.execute(_SINCE, (BUSY,)):
                self._before[Subject(Kind.GPU, owner, part)] = float(since)

    def take(self, samples: Iterable[Sample]) -> None:
        before = self._before
        for sample in samples:
            if sample.subject.kind is not Kind.GPU or "gpu" not in sample.values:
                continue
            if sample.values["gpu"] >= BUSY:
                self._since.pop(sample.subject, None)
            else:
                since = before.get(sample.subject, sample.at)
                self._since.setdefault(sample.subject, min(since, sample.at))
            before.pop(sample.subject, None)

    def since(self, subject: Subject) -> float | None:
        """None: it is in use, or not measured."""
        return self._since.get(subject)
