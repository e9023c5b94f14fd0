"""With whom environments are shared, by their jobs.

In memory, since open connections ask again and again whether they may stay.
"""

from __future__ import annotations

from collections.abc import Iterable

from danlu.store.rows import EnvironmentRow

NOBODY: frozenset[str] = frozenset()


class Shares:
    """Who is in it and which jobs there are change independently, and so never out of order."""

    def __init__(self) -> None:
        self._people: dict[str, frozenset[str]] = {}  # by environment
        self._environments: dict[str, str] = {}  # by job

    def take_over(self, rows: Iterable[EnvironmentRow]) -> None:
        for row in rows:
            self.set(row.id, row.shared)
            if row.job_id is not None:
                self._environments[row.job_id] = row.id

    def set(self, environment: str, people: Iterable[str]) -> None:
        found = frozenset(people)
        if found:
            self._people[environment] = found
        else:
            self._people.pop(environment, None)

    def started(self, environment: str, job_id: str) -> None:
        """A job's number is never used again, so this may come before the job is on disk."""
        former = [job for job, of in self._environments.items() if of == environment]
        for job in former[:-1]:  # the last one may still be ending
            del self._environments[job]
        self._environments[job_id] = environment

    def of(self, job_id: str) -> frozenset[str]:
        return self._people.get(self._environments.get(job_id, ""), NOBODY)
