"""Completion rules: when the outcome of a gang is decided, and how. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from danlu.control.outcome import ENDED, succeeded
from danlu.engines.api import Phase, TaskSeen
from danlu.spec.job import JobSpec, Processes, Role


@dataclass(frozen=True, slots=True)
class Ruling:
    """`culprit` is None if it succeeded."""

    culprit: TaskSeen | None = None


def ruling(tasks: Sequence[TaskSeen], spec: JobSpec) -> Ruling | None:
    """The outcome decided by the ended tasks, or None if it is still open.

    Tasks count in the order in which they ended, so the answer stays the same when the rest of the
    gang is stopped afterwards or a restarted server evaluates it again.
    """
    places = [(role, index) for role in spec.roles for index in range(role.count)]
    ended = [task for task in tasks if task.phase in ENDED]
    counts: dict[tuple[str, bool], int] = {}
    for task in sorted(ended, key=lambda t: (t.ended_at or float("inf"), t.task)):
        role, index = places[task.task] if task.task < len(places) else (spec.roles[-1], 0)
        well = succeeded(task)
        key = (role.name, well)
        counts[key] = counts.get(key, 0) + 1
        if task.phase is not Phase.EXITED or _decides(role, index, well, counts[key]):
            return Ruling(None if well else task)
    return Ruling() if len(ended) == len(tasks) else None


def _decides(role: Role, index: int, well: bool, count: int) -> bool:
    if role.processes is Processes.BATCH:
        # The script is the job; the other tasks only wait for its srun.
        return index == 0 or not well
    needed = role.min_succeeded if well else role.min_failed
    return bool(needed) and count >= needed
