"""Somebody else, who goes on working while an attack runs."""

from __future__ import annotations

import threading
import time
from typing import Self

from tests.api.people_harness import Someone

TOO_LONG = 5.0
"""Seconds for one small answer. Far above what a busy machine needs, far below what a server that
stands still takes: every attack here held it up for longer before it was mended."""


class Witness:
    def __init__(self, person: Someone) -> None:
        self._person = person
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self.took: list[float] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _ask(self) -> None:
        while not self._over.is_set():
            begun = time.monotonic()
            self._person.http.get("/whoami").raise_for_status()
            self.took.append(time.monotonic() - begun)
            time.sleep(0.02)

    @property
    def longest(self) -> float:
        return max(self.took)
