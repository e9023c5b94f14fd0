"""The jobs that have not ended, counted by owner."""

from __future__ import annotations

from collections import Counter

from danlu.control.live_job import LiveJob


class LiveJobs(dict[str, LiveJob]):
    """By id. How many somebody has is asked with every submission, and costs no search."""

    def __init__(self) -> None:
        super().__init__()
        self._owned: Counter[str] = Counter()

    def count(self, owner: str) -> int:
        return self._owned[owner]

    def __setitem__(self, job_id: str, job: LiveJob) -> None:
        self.remove(job_id)
        super().__setitem__(job_id, job)
        self._owned[job.row.owner] += 1

    def remove(self, job_id: str) -> None:
        """Does nothing if it is not there."""
        job = super().pop(job_id, None)
        if job is None:
            return
        owner = job.row.owner
        self._owned[owner] -= 1
        if not self._owned[owner]:
            del self._owned[owner]
