"""What is known about the sizes of folders without looking: what was measured and when, what has
been written since, what uploads on their way will take, and the quotas they count towards.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from danlu.services.file_operations import Operation
from danlu.services.folder_quotas import FolderQuotas, Key

Values = dict[str, Any]
Place = tuple[str, str]  # who asks, and the folder on the machine
Reserve = Callable[[int], None]
GOOD_FOR = 60.0
GOOD_TIMES = 20
"""Seconds for which a measurement is shown, or so many times as long as it took: a folder that
takes minutes is not measured again for everybody who looks."""
REFUSES_FOR = 20.0  # seconds for which a measurement may refuse something
_MOST = 10_000  # measurements remembered
_MOST_WRITES = 1000  # of a folder, told apart
_UNMEASURED: Values = {
    "size": 0,
    "files": 0,
    "folders": 0,
    "children": [],
    "complete": False,
    "measured_at": None,
}


@dataclass(slots=True)
class Measured:
    """The last measurement of a folder."""

    values: Values
    operation: Operation | None = None
    took: float = 0.0  # seconds

    @property
    def at(self) -> float | None:
        at = self.values["measured_at"]
        return None if at is None else float(at)


class FolderSizes:
    def __init__(self, quotas: FolderQuotas | None) -> None:
        self._quotas = quotas
        self._measured: dict[Place, Measured] = {}
        self._written: dict[str, list[tuple[float, int]]] = {}
        self._freed: dict[str, float] = {}  # when somebody last deleted something
        self._reserved: Counter[Key] = Counter()

    # -- measurements -------------------------------------------------------------------------

    def known(self, place: Place) -> Measured | None:
        return self._measured.get(place)

    def begin(self, place: Place) -> Measured:
        """What the coming measurement is kept in."""
        if len(self._measured) > _MOST:
            self._measured.clear()
        return self._measured.setdefault(place, Measured(dict(_UNMEASURED)))

    def measured(
        self, known: Measured, values: Values, whose: Key | None, took: float = 0.0
    ) -> None:
        """`whose`: who has a quota for the whole of this folder."""
        known.values, known.took = values, took
        if whose and self._quotas is not None and values["complete"]:
            self._quotas.measured(whose, int(values["size"]), float(values["measured_at"]))

    def forget(self, place: Place) -> None:
        self._measured.pop(place, None)

    def is_outdated(self, known: Measured, name: str, source: str) -> bool:
        """Whether whoever asks is better told anew: it is long ago, or they changed something."""
        if known.at is None:
            return True
        written = self._written.get(source)
        changed = max(self._freed.get(name, 0.0), written[-1][0] if written else 0.0)
        return known.at < max(changed, time.time() - max(GOOD_FOR, GOOD_TIMES * known.took))

    def is_old(self, at: float | None, name: str) -> bool:
        """Whether much may have changed since, as after this person has deleted something."""
        since = max(time.time() - REFUSES_FOR, self._freed.get(name, 0.0))
        return at is None or at < since

    # -- changes since ------------------------------------------------------------------------

    def wrote(self, source: str, size: int) -> None:
        lines = self._written.setdefault(source, [])
        lines.append((time.time(), size))
        if len(lines) > _MOST_WRITES:
            lines[:2] = [(lines[1][0], lines[0][1] + lines[1][1])]

    def freed(self, name: str) -> None:
        self._freed[name] = time.time()

    # -- quotas -------------------------------------------------------------------------------

    async def limit(self, key: Key | None) -> int | None:
        return None if self._quotas is None else await self._quotas.limit(key)

    async def used(
        self, name: str, source: str, key: Key | None
    ) -> tuple[int | None, float | None]:
        """As last measured, with what has come since; and when that was."""
        known = self._measured.get((name, source))
        at = known.at if known is not None else None
        size = int(known.values["size"]) if known is not None and at else 0
        if self._quotas is not None and key is not None:
            counted = await self._quotas.counted(key)
            if counted is not None and counted.at > (at or 0):
                size, at = counted.size, counted.at
        if not at:
            return None, None
        since = sum(size for when, size in self._written.get(source, ()) if when > at)
        return size + since, float(at)

    @contextmanager
    def reserving(self, key: Key | None, size: int) -> Iterator[Reserve]:
        """Keeps room in the quota for an upload on its way, and for more; without a key there is
        none.
        """
        held = 0

        def reserve(more: int) -> None:
            nonlocal held
            if key is not None:
                held += more
                self._reserved[key] += more

        reserve(size)
        try:
            yield reserve
        finally:
            if key is not None:
                self._reserved[key] -= held
                if self._reserved[key] <= 0:
                    del self._reserved[key]

    def reserved(self, key: Key | None) -> int:
        return 0 if key is None else self._reserved[key]
