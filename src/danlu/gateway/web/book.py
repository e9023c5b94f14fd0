"""Which door is where. Kept in a file, so that the next gateway finds them again.

Programs of one person may leave things behind in a browser (storage, service workers), which belong
to a port and not to a job. So a port stays with the person it was first given to as long as others
are free, and then the one goes on that has been out of use for the longest time.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FILE = "doors.json"
MOST_OF_ONE = 16  # of one person's jobs
STAYS_SECONDS = 600.0  # after its job has ended, to say so


@dataclass(slots=True)
class Door:
    id: str
    job: str
    ref: str
    owner: str
    task: int
    target: str  # a tool, or `port N`
    port: int = 0  # 0: it has a name instead
    used: float = 0.0  # when somebody came last
    over_since: float | None = None  # its job has ended

    @property
    def over(self) -> bool:
        return self.over_since is not None


class Book:
    def __init__(self, folder: Path, first: int, last: int) -> None:
        self._path = folder / FILE
        self._ports = range(first, last + 1)
        self.doors: dict[str, Door] = {}
        self._last: dict[int, tuple[str, float]] = {}  # whose, and until when
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            kept = json.loads(self._path.read_text())
            doors = [Door(**each) for each in kept["doors"]]
            self.doors = {
                each.id: each for each in doors if not each.port or each.port in self._ports
            }
            for port, (owner, when) in kept["last"].items():
                self._last[int(port)] = (str(owner), float(when))

    def at(self, port: int) -> Door | None:
        return next((door for door in self.doors.values() if door.port == port), None)

    def choices(self, door: Door, busy: Callable[[Door], bool]) -> Iterator[int]:
        """Ports for a new door, the best first."""
        taken = {each.port: each for each in self.doors.values()}
        free = [port for port in self._ports if port not in taken or taken[port].over]
        mine = self._of(door.owner)
        if len(mine) < MOST_OF_ONE:
            yield from [port for port in free if self._owner(port) == door.owner]
            yield from [port for port in free if port not in self._last and port not in taken]
            others = [port for port in free if self._owner(port) not in (None, door.owner)]
            yield from sorted(others, key=self._when)
        if (unused := self.gives_way(door.owner, busy)) is not None:
            yield unused.port

    def _of(self, owner: str) -> list[Door]:
        return [each for each in self.doors.values() if each.owner == owner and not each.over]

    def gives_way(self, owner: str, busy: Callable[[Door], bool]) -> Door | None:
        """The one of a person's doors that has not been used for longest."""
        unused = [each for each in self._of(owner) if not busy(each)]
        return min(unused, key=lambda each: each.used, default=None)

    def is_full(self, owner: str) -> bool:
        return len(self._of(owner)) >= MOST_OF_ONE

    def _owner(self, port: int) -> str | None:
        there = self.at(port)
        if there is not None:
            return there.owner
        return self._last[port][0] if port in self._last else None

    def _when(self, port: int) -> float:
        there = self.at(port)
        return there.used if there is not None else self._last[port][1]

    def put(self, door: Door) -> Door | None:
        """Returns the door that was there."""
        before = self.at(door.port) if door.port else None
        if before is not None:
            del self.doors[before.id]
        self.doors[door.id] = door
        self.save()
        return before

    def drop(self, door: Door) -> None:
        if self.doors.pop(door.id, None) is not None:
            if door.port:
                self._last[door.port] = (door.owner, time.time())
            self.save()

    def save(self) -> None:
        for door in self.doors.values():
            if door.port:
                self._last[door.port] = (door.owner, time.time())
        kept: dict[str, Any] = {
            "doors": [asdict(door) for door in self.doors.values()],
            "last": {str(port): when for port, when in self._last.items()},
        }
        draft = self._path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(kept))
        draft.rename(self._path)


def has_doors(folder: Path) -> bool:
    """Whether a gateway that has ended left doors behind that somebody may come back to."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads((folder / FILE).read_text())
        return any(each["over_since"] is None for each in kept["doors"])
    return False
