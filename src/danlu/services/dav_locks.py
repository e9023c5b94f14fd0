"""Locks of WebDAV clients: kept in memory, for a while, and only looked at by that door.

Office programs and macOS ask for them before they write. They protect from other WebDAV clients,
not from tasks, as everywhere.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field

from danlu.access.errors import Crowded
from danlu.spec.text import Text

LONGEST = 3600.0  # seconds until a lock that nobody refreshes ends
MOST = 1000  # of one user
MOST_OWNER = 2000  # characters of what a client says about itself


@dataclass(slots=True)
class Lock:
    place: str  # the server's name of it, not shown
    path: str  # as its owner names it
    user: str
    exclusive: bool
    deep: bool  # also of everything in a folder
    owner: str  # XML that the client wants to see again
    until: float
    token: str = field(default_factory=lambda: f"urn:uuid:{uuid.uuid4()}")

    @property
    def seconds(self) -> int:
        return max(1, round(self.until - time.monotonic()))


class DavLocks:
    def __init__(self) -> None:
        self._by_token: dict[str, Lock] = {}

    def of(self, place: str, below: bool = False) -> list[Lock]:
        """Those that bind a place: its own, and deep ones above. `below`: also those in it."""
        now = time.monotonic()
        for token in [token for token, lock in self._by_token.items() if lock.until < now]:
            del self._by_token[token]
        return [
            lock
            for lock in self._by_token.values()
            if lock.place == place
            or (lock.deep and place.startswith(f"{lock.place}/"))
            or (below and lock.place.startswith(f"{place}/"))
        ]

    def add(self, lock: Lock) -> bool:
        """False: another one is in the way."""
        others = self.of(lock.place, below=lock.deep)
        if any(lock.exclusive or other.exclusive for other in others):
            return False
        if sum(other.user == lock.user for other in self._by_token.values()) >= MOST:
            raise Crowded(MOST, Text("WebDAV locks", "WebDAV 锁"))
        self._by_token[lock.token] = lock
        return True

    def refresh(self, token: str, place: str, user: str, seconds: float) -> Lock | None:
        lock = self._by_token.get(token)
        if lock is None or lock.user != user or lock not in self.of(place):
            return None
        lock.until = time.monotonic() + seconds
        return lock

    def remove(self, token: str, place: str, user: str) -> bool:
        lock = self._by_token.get(token)
        if lock is None or lock.user != user or lock not in self.of(place):
            return False
        del self._by_token[token]
        return True

    def forget(self, place: str) -> None:
        """Of what was deleted or moved away."""
        for lock in self.of(place, below=True):
            if lock.place == place or lock.place.startswith(f"{place}/"):
                self._by_token.pop(lock.token, None)
