"""Who is in which job right now: an idle job is not stopped while somebody is."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Container
from typing import Protocol

from danlu.control.live_job import LiveJob


class Presence:
    """Connections by job: terminals, SSH, web pages."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._left: dict[str, float] = {}
        self._begun = time.monotonic()

    def enter(self, job_id: str) -> Callable[[], None]:
        """Returns what to call when the connection is gone; calling it again does nothing."""
        self._count[job_id] += 1
        inside = True

        def leave() -> None:
            nonlocal inside
            if inside:
                inside = False
                self._count[job_id] -= 1
                if not self._count[job_id]:
                    del self._count[job_id]
                self.touch(job_id)

        return leave

    def count(self, job_id: str) -> int:
        return self._count.get(job_id, 0)

    def touch(self, job_id: str) -> None:
        """Somebody is about to come, or has just left."""
        self._left[job_id] = time.monotonic()

    def idle(self, job_id: str) -> float:
        """Seconds since the last one left; what was before the server started is not known."""
        if self.count(job_id):
            return 0.0
        return time.monotonic() - self._left.get(job_id, self._begun)

    def forget(self, living: Container[str]) -> None:
        """Those of jobs that have ended."""
        self._left = {job: at for job, at in self._left.items() if job in living}


class Kernels(Protocol):
    """Knows whether a job computes for somebody who is not connected: a busy notebook kernel."""

    async def busy(self, job: LiveJob) -> bool: ...
