"""Throttles guessing. Bounded in memory, forgets over time, takes the clock as an argument."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

MOST_KEYS = 10_000


@dataclass(slots=True)
class _Count:
    tries: float
    at: float
    until: float = 0.0


class Throttle:
    """The first few attempts are free; each further one doubles the wait."""

    def __init__(
        self, free: int, most: float, leak: float, first: float = 1.0, room: int = MOST_KEYS
    ) -> None:
        """`most`: longest wait in seconds. `leak`: seconds after which one attempt is forgotten."""
        self._free = free
        self._most = most
        self._leak = leak
        self._first = first
        self._room = room
        self._counts: OrderedDict[Hashable, _Count] = OrderedDict()

    def wait(self, key: Hashable, now: float) -> float:
        """Seconds until the next attempt is allowed; 0: now."""
        count = self._counts.get(key)
        return 0.0 if count is None else max(0.0, count.until - now)

    def charge(self, key: Hashable, now: float) -> None:
        """Counted before the attempt, so that thousands arriving at once are counted too."""
        count = self._counts.get(key)
        if count is None:
            count = self._counts[key] = _Count(0.0, now)
            if len(self._counts) > self._room:
                self._counts.popitem(last=False)
        else:
            count.tries = max(0.0, count.tries - (now - count.at) / self._leak)
            self._counts.move_to_end(key)
        count.tries += 1
        count.at = now
        over = count.tries - self._free
        if over > -0.001:
            count.until = now + min(self._most, self._first * 2.0 ** min(over, 40.0))

    def refund(self, key: Hashable, tries: float = 1.0) -> None:
        """These were not guesses."""
        count = self._counts.get(key)
        if count is not None:
            count.tries = max(0.0, count.tries - tries)
            count.until = 0.0

    def clear(self, key: Hashable) -> float:
        """How many attempts have been forgotten since."""
        count = self._counts.pop(key, None)
        return 0.0 if count is None else count.tries

    def __len__(self) -> int:
        return len(self._counts)
