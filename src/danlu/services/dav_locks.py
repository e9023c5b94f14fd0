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
MOST_SHARED = 20
"""Shared locks that may bind one thing: all of them are told with it."""
MOST_OWNER = 500  # characters of what a client says about itself


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

    @property
    def holds(self) -> bool:
        return self.until >= time.monotonic()


class DavLocks:
    """Looked up by place: every entry of a listing asks for its own."""

    def __init__(self) -> None:
        self._by_token: dict[str, Lock] = {}
        self._by_place: dict[str, list[Lock]] = {}
        self._by_user: dict[str, set[str]] = {}

    def of(self, place: str, below: bool = False) -> list[Lock]:
        """Those that bind a place: its own, and deep ones above. `below`: also those in it."""
        if not self._by_place:
            return []
        found = list(self._by_place.get(place, ()))
        above = place
        while above := above.rpartition("/")[0]:
            found += [lock for lock in self._by_place.get(above, ()) if lock.deep]
        if below:
            inside = f"{place}/"
            for other, locks in self._by_place.items():
                if other.startswith(inside):
                    found += locks
        return [lock for lock in found if lock.holds]

    def add(self, lock: Lock) -> bool:
        """False: others are in the way."""
        others = self.of(lock.place, below=lock.deep)
        if any(lock.exclusive or other.exclusive for other in others):
            return False
        if len(others) >= MOST_SHARED:
            return False
        mine = self._by_user.setdefault(lock.user, set())
        for over in [self._by_token[token] for token in mine if not self._by_token[token].holds]:
            self._drop(over)
        if len(mine) >= MOST:
            raise Crowded(MOST, Text("WebDAV locks", "WebDAV 锁"))
        mine.add(lock.token)
        self._by_token[lock.token] = lock
        self._by_place.setdefault(lock.place, []).append(lock)
        return True

    def refresh(self, token: str, place: str, user: str, seconds: float) -> Lock | None:
        lock = self._own(token, place, user)
        if lock is not None:
            lock.until = time.monotonic() + seconds
        return lock

    def remove(self, token: str, place: str, user: str) -> bool:
        lock = self._own(token, place, user)
        if lock is not None:
            self._drop(lock)
        return lock is not None

    def forget(self, place: str) -> None:
        """Of what was deleted or moved away."""
        for lock in self.of(place, below=True):
            if lock.place == place or lock.place.startswith(f"{place}/"):
                self._drop(lock)

    def _own(self, token: str, place: str, user: str) -> Lock | None:
        lock = self._by_token.get(token)
        known = lock is not None and lock.user == user and lock in self.of(place)
        return lock if known else None

    def _drop(self, lock: Lock) -> None:
        del self._by_token[lock.token]
        self._by_user[lock.user].discard(lock.token)
        here = self._by_place[lock.place]
        here.remove(lock)
        if not here:
            del self._by_place[lock.place]
