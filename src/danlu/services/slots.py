"""Limits on what one user may keep open at once, such as streams and terminals."""

from __future__ import annotations

from collections import Counter

from danlu.access.errors import Crowded
from danlu.spec.text import Text


class Slot:
    """Freed when dropped, even if its holder never started."""

    def __init__(self, held: Counter[str], user: str) -> None:
        self._held = held
        self._user: str | None = user
        held[user] += 1

    def free(self) -> None:
        if self._user is not None:
            self._held[self._user] -= 1
            if not self._held[self._user]:
                del self._held[self._user]
            self._user = None

    __del__ = free


class Slots:
    def __init__(self, most: int, what: Text) -> None:
        self._most = most
        self._what = what
        self._held: Counter[str] = Counter()

    def take(self, user: str) -> Slot:
        """Raises Crowded at the limit."""
        if self._held[user] >= self._most:
            raise Crowded(self._most, self._what)
        return Slot(self._held, user)
