"""State that the rules of a queue keep between passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from danlu.sched.api import TaskShape
    from danlu.spec.placement import Placement


@dataclass(frozen=True, slots=True)
class Entry:
    """A job in the strict order that is followed beside the real one: when it would start there."""

    job_id: str
    order: tuple[int, ...]
    submitted: float
    shapes: tuple[TaskShape, ...]
    run: float
    at: float
    begun: float | None = None  # when it really started
    owner: str = ""
    places: tuple[Placement, ...] = ()  # where it would start there, if that is followed by node
    queue: str = ""
    elsewhere: bool = False  # it really started on time, but not there

    @property
    def end(self) -> float:
        return self.at + self.run


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What came in so far: how much each size suffers from a second of waiting, and when."""

    since: float
    seen: int = 0  # the last job counted
    urgency: Mapping[int, float] = field(default_factory=dict)  # amount -> sum of 1 / run time
    hours: tuple[float, ...] = (0.0,) * 24  # how many came in which hour of the day
    watched: tuple[float, ...] = (0.0,) * 24  # how many hours were watched
    until: float = 0.0


@dataclass(frozen=True, slots=True)
class Memory:
    entries: tuple[Entry, ...] = ()
    order: tuple[str, ...] = ()  # the plan's order of jobs
    lane: int = 0  # what long jobs leave free for short ones
    backlog: float = 0.0  # seconds of work that waited at the worst moment
    arrivals: Arrivals | None = None
    passes: int = 0
