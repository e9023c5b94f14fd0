"""A placed gang, as the languages look at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from danlu.engines.api import Launch, Origin, Place, TaskLaunch
from danlu.spec.job import JobSpec


@dataclass(frozen=True, slots=True)
class Gang:
    launch: Launch
    origin: Origin
    places: Mapping[int, Place]
    hosts: Sequence[str]  # the address of each task's node
    labelled: Sequence[Mapping[str, Sequence[int]]]  # of each task: label -> ports
    peers: Sequence[int | None]  # of each task: the port that is for its peers

    @property
    def spec(self) -> JobSpec:
        return self.origin.spec

    @property
    def tasks(self) -> Sequence[TaskLaunch]:
        return self.launch.tasks

    def node(self, task: int) -> str:
        place = self.places.get(task)
        return place.node if place is not None else ""

    def cards(self, task: int) -> int:
        place = self.places.get(task)
        if place is None:
            return self.tasks[task].resources.gpus.count
        return len(place.gpus.indexes) or place.gpus.count

    def of_role(self, role: str) -> list[TaskLaunch]:
        return [task for task in self.tasks if task.role == role]


def megabytes(size: int) -> str:
    return str(size >> 20)


def whole(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)
