"""The last known state of the database."""

from __future__ import annotations

import time
from dataclasses import dataclass

from danlu.store.errors import StoreError


@dataclass(frozen=True, slots=True)
class Health:
    ok: bool
    since: float
    problem: StoreError | None = None


class Pulse:
    """Where the threads report it. Replacing one value needs no lock."""

    def __init__(self) -> None:
        self.health = Health(True, time.time())

    def good(self) -> None:
        if not self.health.ok:
            self.health = Health(True, time.time())

    def bad(self, problem: StoreError) -> None:
        before = self.health
        same = not before.ok and type(before.problem) is type(problem)
        self.health = Health(False, before.since if same else time.time(), problem)
