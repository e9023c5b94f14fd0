"""Statistics from ended jobs: run times, accuracy of estimates, and usage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from danlu.control.live_job import LiveJob, shapes_of
from danlu.sched.api import Eta, TaskShape
from danlu.sched.estimate.history import Book, History
from danlu.sched.order.queue_order import decayed
from danlu.spec.codec import from_values
from danlu.store.rows import AttemptRow, JobRow

CAREFUL = 0.9  # plan around the 90th percentile of run times
REMEMBERED = 2000  # ended jobs to load after a restart


class Learning:
    def __init__(self, half_life: float = 7 * 86_400.0) -> None:
        self.half_life = half_life
        self._book = Book()
        self._users: dict[str, _Use] = {}
        self._groups: dict[str, _Use] = {}
        self._told: dict[str, tuple[float, float]] = {}  # job -> when an estimate was first given

    def recall(self, rows: Iterable[JobRow]) -> list[tuple[TaskShape, ...]]:
        """Loads jobs that ended before this server started, oldest first; returns their shapes."""
        found = []
        for row in rows:
            if row.started_at is not None and row.ended_at is not None:
                spec = from_values(row.spec)
                run = max(0.0, row.ended_at - row.started_at)
                shapes = shapes_of(spec)
                found.append(shapes)
                self._book.ended(row.owner, row.name, shapes, spec.time_limit, run)
                self._charge(row, shapes, run, row.ended_at)
        return found

    def ended(self, job: LiveJob, attempt: AttemptRow, at: float) -> None:
        if attempt.started_at is None:
            return
        end = attempt.ended_at or at
        run = max(0.0, end - attempt.started_at)
        row = job.row
        if attempt.stop is None and all(task["exit_code"] == 0 for task in attempt.tasks):
            # Stopped and failed jobs say nothing about how long such a job runs.
            self._book.ended(row.owner, row.name, job.shapes, job.spec.time_limit, run)
        self._charge(row, job.shapes, run, end)

    def expected(
        self, owner: str, name: str, shapes: tuple[TaskShape, ...], limit: float | None
    ) -> float | None:
        """The expected run time, or None if there are too few similar jobs."""
        return self._book.expected(owner, name, shapes, limit, CAREFUL)

    def told(self, job_id: str, eta: Eta | None, at: float) -> None:
        """Remembers an estimate that was shown, to compare it with the actual start."""
        if eta is not None and eta.p50 is not None and len(self._told) < REMEMBERED:
            self._told.setdefault(job_id, (at, eta.p50))

    def started(self, job_id: str, at: float) -> None:
        told = self._told.pop(job_id, None)
        if told is not None:
            asked, estimate = told
            self._book.waited(max(0.0, estimate - asked), max(0.0, at - asked))

    def history(self) -> History:
        return self._book.history()

    def used(self, running: Iterable[LiveJob], now: float) -> tuple[Mapping[str, float], ...]:
        """Recent GPU-seconds by user and group, including running jobs."""
        users = {name: use.at(now, self.half_life) for name, use in self._users.items()}
        groups = {name: use.at(now, self.half_life) for name, use in self._groups.items()}
        for job in running:
            since = job.attempt.started_at if job.attempt is not None else None
            if since is None:
                continue
            row = job.row
            seconds = _gpus(job.shapes) * max(0.0, now - since)
            users[row.owner] = users.get(row.owner, 0.0) + seconds
            if row.group is not None:
                groups[row.group] = groups.get(row.group, 0.0) + seconds
        return users, groups

    def _charge(self, row: JobRow, shapes: tuple[TaskShape, ...], run: float, at: float) -> None:
        seconds = _gpus(shapes) * run
        self._users.setdefault(row.owner, _Use()).add(seconds, at, self.half_life)
        if row.group is not None:
            self._groups.setdefault(row.group, _Use()).add(seconds, at, self.half_life)


class _Use:
    """Exponential decay with the configured half-life."""

    __slots__ = ("_amount", "_at")

    def __init__(self) -> None:
        self._amount = 0.0
        self._at = 0.0

    def add(self, seconds: float, at: float, half_life: float) -> None:
        if at >= self._at:
            self._amount = decayed(self._amount, at - self._at, half_life) + seconds
            self._at = at
        else:
            self._amount += decayed(seconds, self._at - at, half_life)

    def at(self, now: float, half_life: float) -> float:
        return decayed(self._amount, max(0.0, now - self._at), half_life)


def _gpus(shapes: tuple[TaskShape, ...]) -> float:
    return sum(shape.amount for shape in shapes) / 1000
