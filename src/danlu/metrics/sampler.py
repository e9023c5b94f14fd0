"""Samples the usage of every engine's tasks and nodes periodically."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from danlu.engines.api import Engine, Unreachable, UsageReport
from danlu.metrics.archive import Archive
from danlu.metrics.idle import Idle
from danlu.metrics.rates import Rates
from danlu.metrics.values import Sample, Subject, Values

log = logging.getLogger("danlu.metrics")
FIRST = 1.0  # seconds after start-up, which has more important work


class Sampler:
    """A slow or unreachable engine leaves a gap only in its own series."""

    def __init__(
        self, engines: Callable[[], Iterable[Engine]], archive: Archive, every: float
    ) -> None:
        self.archive = archive
        self.idle = Idle()
        self.measured_at = 0.0  # when an engine last answered
        self._engines = engines
        self._every = every
        self._rates: dict[str, Rates] = {}
        self._latest: dict[str, dict[Subject, Sample]] = {}
        self._written: dict[str, dict[str, int]] = {}  # bytes by engine and job
        self._asked: dict[str, asyncio.Task[None]] = {}
        self._writes = True  # to warn only once

    async def run(self) -> None:
        try:
            await asyncio.sleep(min(FIRST, self._every))
            await asyncio.to_thread(self.idle.recall, self.archive.path)
            while True:
                engines = list(self._engines())
                self._drop_others(engines)
                for engine in engines:
                    if engine.name not in self._asked:
                        self._asked[engine.name] = asyncio.create_task(self._sample(engine))
                await asyncio.sleep(self._every)
        finally:
            for task in list(self._asked.values()):
                task.cancel()
            await asyncio.gather(*self._asked.values(), return_exceptions=True)

    async def close(self) -> None:
        await asyncio.to_thread(self.archive.close)

    def latest(self, subject: Subject) -> Values:
        """Its current usage; empty if it is gone or its engine is unreachable."""
        found = self.latest_sample(subject)
        return found.values if found is not None else {}

    def latest_sample(self, subject: Subject) -> Sample | None:
        for samples in self._current():
            if (sample := samples.get(subject)) is not None:
                return sample
        return None

    def all_latest(self) -> list[Sample]:
        return [sample for samples in self._current() for sample in samples.values()]

    def written(self) -> dict[str, int]:
        """The bytes that the tasks of each running job have written to disks so far."""
        found: dict[str, int] = {}
        for engine in self._engines():
            found.update(self._written.get(engine.name, {}))
        return found

    def _current(self) -> list[dict[Subject, Sample]]:
        """Of engines that answer: between two rounds, one may have stopped answering."""
        return [
            self._latest[engine.name] for engine in self._engines() if engine.name in self._latest
        ]

    def _drop_others(self, engines: Iterable[Engine]) -> None:
        """Samples from before an engine went away must not be shown when it is back."""
        known = {engine.name for engine in engines}
        for kept in (self._latest, self._written):
            for name in kept.keys() - known:
                del kept[name]

    async def _sample(self, engine: Engine) -> None:
        name = engine.name
        try:
            report = await engine.usage()
            self._written[name] = _written(report)
            rates = self._rates.setdefault(name, Rates())
            samples = await asyncio.to_thread(rates.samples, report)
            # Before storing them, so that current usage is never behind the series.
            self._latest[name] = {sample.subject: sample for sample in samples}
            self.idle.take(samples)
            self.measured_at = report.at
            await asyncio.to_thread(self._keep, samples)
        except Unreachable:
            self._latest.pop(name, None)
        except Exception:
            self._latest.pop(name, None)
            log.exception("cannot measure the usage of engine %s", name)
        finally:
            self._asked.pop(name, None)

    def _keep(self, samples: list[Sample]) -> None:
        try:
            self.archive.write(samples)
        except OSError as error:
            if self._writes:
                log.warning("usage samples are not being stored: %s", error)
            self._writes = False
        else:
            self._writes = True


def _written(report: UsageReport) -> dict[str, int]:
    found: dict[str, int] = {}
    for ref, usage in report.tasks.items():
        found[ref.job_id] = found.get(ref.job_id, 0) + (usage.disk_written or 0)
    return found
