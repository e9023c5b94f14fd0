"""A placed gang, as input for the variables of other platforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from danlu.engines.api import Launch, Origin, TaskLaunch
from danlu.spec.job import JobSpec
from danlu.spec.placement import Placement


@dataclass(frozen=True, slots=True)
class Gang:
    launch: Launch
    origin: Origin
    places: Sequence[Placement | None]  # per task
    hosts: Sequence[str]  # the address of each task's node
    labelled: Sequence[Mapping[str, Sequence[int]]]  # per task: label -> ports
    peers: Sequence[int | None]  # per task: the port for its peers

    @property
    def spec(self) -> JobSpec:
        return self.origin.spec

    @property
    def tasks(self) -> Sequence[TaskLaunch]:
        return self.launch.tasks

    def node(self, task: int) -> str:
        place = self.places[task]
        return place.node if place is not None else ""

    def gpus(self, task: int) -> int:
        place = self.places[task]
        chosen = len(place.gpus) if place is not None else 0
        return chosen or self.tasks[task].resources.gpus.count

    def of_role(self, role: str) -> list[TaskLaunch]:
        return [task for task in self.tasks if task.role == role]


def megabytes(size: int) -> str:
    return str(size >> 20)


def whole(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)
