"""Usage of jobs and nodes, for users who may see them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from danlu.access.errors import NotThere, Unfit
from danlu.access.principal import Principal
from danlu.control.controller import Controller
from danlu.metrics import reader
from danlu.metrics.archive import Window, window
from danlu.metrics.series import Series
from danlu.metrics.values import Kind, Sample, Subject
from danlu.metrics.values import Values as Measured
from danlu.services.found import Found
from danlu.spec.text import Text

_HOUR = 3600.0


class MetricsAway(Exception):
    """Metrics cannot be read at the moment."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The time range and the maximum number of points; None for the default."""

    since: float | None = None
    until: float | None = None
    points: int = 200


@dataclass(frozen=True, slots=True)
class JobUsage:
    shown: Window
    series: list[Series]
    tasks: list[Sample]  # current usage of running tasks


@dataclass(frozen=True, slots=True)
class GpuUsage:
    index: int
    now: Measured
    series: list[Series]


@dataclass(frozen=True, slots=True)
class NodeUsage:
    shown: Window
    now: Measured
    series: list[Series]
    gpus: list[GpuUsage] = field(default_factory=list)


class Metrics:
    def __init__(self, controller: Controller, found: Found) -> None:
        self._context = controller.context
        self._found = found

    async def job(self, who: Principal, ref: str, asked: Asked, task: int | None) -> JobUsage:
        """For one task, or the sum of all. Raises NotThere, Clash, Unfit, MetricsAway."""
        row = await self._found.one(who, ref)
        shown = _window(asked, row.started_at or row.submitted_at, row.ended_at or time.time())
        latest = [
            sample
            for sample in self._context.sampler.all_latest()
            if sample.subject.kind is Kind.TASK
            and sample.subject.owner == row.id
            and task in (None, sample.subject.part)
        ]
        latest.sort(key=lambda sample: sample.subject.part)
        try:
            series = await self._context.metrics.read(
                lambda archive: reader.of_job(archive, row.id, shown, task)
            )
        except OSError as error:
            raise MetricsAway(str(error)) from error
        return JobUsage(shown, series, latest)

    async def node(self, who: Principal, name: str, asked: Asked) -> NodeUsage:
        """For a node and each of its GPUs. Visible to all users, like the holders of GPUs."""
        if name not in {node.name for node in self._context.ledger.nodes()}:
            raise NotThere(Text(f"node {name}", f"节点 {name}"))
        end = time.time() if asked.until is None else asked.until
        shown = _window(asked, max(0.0, end - _HOUR), end)
        try:
            series, gpus = await self._context.metrics.read(
                lambda archive: (
                    reader.of_node(archive, name, shown),
                    reader.of_gpus(archive, name, shown),
                )
            )
        except OSError as error:
            raise MetricsAway(str(error)) from error
        latest = self._context.sampler.latest
        return NodeUsage(
            shown,
            latest(Subject(Kind.NODE, name)),
            series,
            [
                GpuUsage(index, latest(Subject(Kind.GPU, name, index)), lines)
                for index, lines in gpus.items()
            ],
        )


def _window(asked: Asked, since: float, until: float) -> Window:
    first = since if asked.since is None else asked.since
    last = until if asked.until is None else asked.until
    if last < first and asked.since is not None and asked.until is not None:
        raise Unfit(
            "until", Text("is before since: swap the two times", "早于 since：请交换两个时间")
        )
    return window(first, max(first, last), asked.points, time.time())
