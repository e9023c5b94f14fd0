"""Turns usage reports into samples, and counters into rates."""

from __future__ import annotations

from collections.abc import Mapping

from danlu.engines.api import GpuUsage, NodeUsage, Usage, UsageReport
from danlu.metrics.values import Kind, Sample, Subject

# metric -> its counter
_COUNTERS = {
    "cpu": "cpu_seconds",
    "disk_read": "disk_read",
    "disk_written": "disk_written",
    "net_received": "net_received",
    "net_sent": "net_sent",
}
Counters = Mapping[str, float | None]
_FROM_ZERO: Counters = dict.fromkeys(_COUNTERS, 0)


class Rates:
    """For one engine. Keeps only the counters of the last report."""

    def __init__(self) -> None:
        self._at: float | None = None
        self._before: dict[Subject, Counters] = {}

    def samples(self, report: UsageReport) -> list[Sample]:
        found: list[Sample] = []
        counters: dict[Subject, Counters] = {}
        for ref, task in report.tasks.items():
            subject = Subject(Kind.TASK, ref.job_id, ref.task, ref.attempt_id)
            counters[subject] = _counters(task)
            # A new task started since the last report, with its counters at zero.
            rates = self._rates(subject, counters[subject], report.at, _FROM_ZERO)
            found.append(_sample(report.at, subject, {**_of_task(task), **rates}))
        for name, node in report.nodes.items():
            subject = Subject(Kind.NODE, name)
            counters[subject] = _counters(node)
            rates = self._rates(subject, counters[subject], report.at, {})
            found.append(_sample(report.at, subject, {**_of_node(node), **rates}))
            found += [_of_gpu(report.at, name, gpu) for gpu in node.gpus]
        self._at, self._before = report.at, counters
        return [sample for sample in found if sample.values]

    def _rates(
        self, subject: Subject, counters: Counters, at: float, at_first: Counters
    ) -> dict[str, float | None]:
        if self._at is None or at <= self._at:
            return {}
        before = self._before.get(subject, at_first)
        seconds = at - self._at
        return {name: _rate(before.get(name), counters[name], seconds) for name in _COUNTERS}


def _rate(before: float | None, now: float | None, seconds: float) -> float | None:
    # A counter that fell was reset (the node restarted, processes ended).
    if before is None or now is None or now < before:
        return None
    return (now - before) / seconds


def _counters(usage: Usage | NodeUsage) -> Counters:
    return {name: getattr(usage, counter) for name, counter in _COUNTERS.items()}


def _of_task(usage: Usage) -> dict[str, float | None]:
    return {
        "memory": usage.memory,
        "processes": usage.processes,
        "gpu": usage.gpu_utilisation,
        "gpu_memory": usage.gpu_memory,
    }


def _of_node(usage: NodeUsage) -> dict[str, float | None]:
    busy = [gpu.utilisation for gpu in usage.gpus if gpu.utilisation is not None]
    held = [gpu.memory for gpu in usage.gpus if gpu.memory is not None]
    return {
        "memory": usage.memory,
        "disk_free": usage.disk_free,
        "gpu": sum(busy) / len(busy) if busy else None,
        "gpu_memory": sum(held) if held else None,
    }


def _of_gpu(at: float, node: str, usage: GpuUsage) -> Sample:
    values = {
        "gpu": usage.utilisation,
        "gpu_memory": usage.memory,
        "temperature": usage.temperature,
        "power": usage.power,
    }
    return _sample(at, Subject(Kind.GPU, node, usage.index), values)


def _sample(at: float, subject: Subject, values: Mapping[str, float | None]) -> Sample:
    known = {name: round(value, 3) for name, value in values.items() if value is not None}
    return Sample(at, subject, known)
