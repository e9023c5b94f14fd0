"""The configured engines and their status."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from danlu.control.live_job import LiveJob
from danlu.engines.api import Engine, Inventory, Misfit, OwnQueues, Placer
from danlu.engines.missing import missing_engine
from danlu.sched.api import Basis, Cause, CauseKind
from danlu.spec.job import Resources


@dataclass(slots=True)
class EngineStatus:
    engine: Engine
    inventory: Inventory = field(default_factory=lambda: Inventory(()))
    away_since: float | None = None  # when it stopped answering
    problem: str = ""  # its last message or error
    met: bool = False  # it has answered since this server started

    @property
    def name(self) -> str:
        return self.engine.name

    @property
    def places(self) -> bool:
        """Whether it chooses nodes itself."""
        return self.engine.placer is Placer.ENGINE

    def queue_nodes(self, queue: str) -> frozenset[str] | None:
        """Where a queue of ours leads in the engine's own; None: to any of its nodes."""
        engine = self._own_queues
        return None if engine is None else engine.queue_nodes(queue)

    def misfit(self, queue: str, needs: Sequence[tuple[Resources, int]]) -> Misfit | None:
        """Why these tasks could never run there; None: they may, or nobody knows."""
        engine = self._own_queues
        return None if engine is None else engine.misfit(queue, needs)

    @property
    def _own_queues(self) -> OwnQueues | None:
        """The class is asked: an engine that is away may not answer for itself."""
        engine = self.engine
        if not issubclass(type(engine), OwnQueues) or not isinstance(engine, OwnQueues):
            return None
        return engine if self.met else None

    @property
    def closed(self) -> Cause | None:
        """Why no jobs are sent to it now."""
        if self.away_since is None:
            return None
        numbers: dict[str, int | float | str] = {
            "engine": self.name,
            "why": "away",
            "since": self.away_since,
            "words": self.problem,
        }
        return Cause(CauseKind.ENGINE, Basis.FACT, numbers)


class Engines:
    """The first engine is the default for queues."""

    def __init__(self, engines: Iterable[Engine]) -> None:
        self._all = {engine.name: EngineStatus(engine) for engine in engines}
        self._gone: dict[str, EngineStatus] = {}  # named by attempts but no longer in danlu.toml
        self.first = next(iter(self._all))

    def __iter__(self) -> Iterator[EngineStatus]:
        return iter(self._all.values())

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, name: str) -> bool:
        return name in self._all

    @property
    def plain(self) -> bool:
        """A single available engine for which Danlu places jobs, so no queue needs special care."""
        one = self._all[self.first]
        return len(self._all) == 1 and not one.places and one.away_since is None

    def status(self, name: str = "") -> EngineStatus:
        """The engine with this name; one that is no longer configured counts as away."""
        found = self._all.get(name or self.first) or self._gone.get(name)
        if found is None:
            found = EngineStatus(missing_engine(name), away_since=time.time())
            found.problem = "it is not in danlu.toml any more"
            self._gone[name] = found
        return found

    def there(self) -> list[Engine]:
        """Engines that answer."""
        return [each.engine for each in self if each.away_since is None]

    def named(self, name: str) -> Engine:
        return self.status(name).engine

    def unknown_since(self, job: LiveJob) -> float | None:
        """Since when the state of its attempt is unknown."""
        if job.attempt is None or not job.with_engine:
            return None
        return job.unknown_since or self.status(job.attempt.engine).away_since
