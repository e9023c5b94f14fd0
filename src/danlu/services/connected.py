"""Who is inside which job right now: over SSH, at a terminal, or with a command."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Container


class Connected:
    def __init__(self) -> None:
        self._inside: Counter[str] = Counter()  # by job
        self._left: dict[str, float] = {}
        self._begun = time.monotonic()

    def enter(self, job_id: str) -> Callable[[], None]:
        """Returns what to call at the end, once or more often."""
        self._inside[job_id] += 1
        open_ones = [job_id]

        def leave() -> None:
            if open_ones:
                open_ones.clear()
                self._inside[job_id] -= 1
                self.touch(job_id)

        return leave

    def touch(self, job_id: str) -> None:
        """Somebody is about to come, or has just left."""
        self._left[job_id] = time.monotonic()

    def idle(self, job_id: str) -> float:
        """Seconds since the last one left; what was before the server started is not known."""
        if self._inside[job_id] > 0:
            return 0.0
        return time.monotonic() - self._left.get(job_id, self._begun)

    def forget(self, living: Container[str]) -> None:
        """Those of jobs that have ended."""
        self._left = {job: at for job, at in self._left.items() if job in living}
        self._inside = Counter({job: count for job, count in self._inside.items() if count > 0})
