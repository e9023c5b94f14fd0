"""The conformance suite on every engine there is, and on one that misbehaves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from danlu.engines.api import Engine
from tests.engines import conftest
from tests.engines.conformance import Conformance
from tests.engines.faulty import FaultyEngine
from tests.engines.queueing import BatchSystem, QueueingEngine


class TestLocalWithNamespaces(Conformance):
    @pytest.fixture
    def make(self) -> Callable[[Path], Engine]:
        return conftest.with_namespaces


class TestLocalWithoutNamespaces(Conformance):
    @pytest.fixture
    def make(self) -> Callable[[Path], Engine]:
        return conftest.without_namespaces


class TestLocalBare(Conformance):
    """Neither namespaces nor cgroups."""

    @pytest.fixture
    def make(self) -> Callable[[Path], Engine]:
        return conftest.bare


class TestFaulty(Conformance):
    """Answers and requests get lost, come late or twice: the outcomes stay the same."""

    @pytest.fixture
    def make(self) -> Callable[[Path], Engine]:
        return conftest.faulty


class Queueing(Conformance):
    """A batch system: it queues, places by itself, and goes on while its engines come and go."""

    def around(self, system: BatchSystem) -> Engine:
        return QueueingEngine(system)

    @pytest.fixture
    async def make(self) -> AsyncIterator[Callable[[Path], Engine]]:
        systems: dict[Path, BatchSystem] = {}

        def make(data: Path) -> Engine:
            return self.around(systems.setdefault(data, BatchSystem(data)))

        yield make
        for system in systems.values():
            await system.close()


class TestQueueing(Queueing):
    pass


class TestFaultyQueueing(Queueing):
    """The same, where answers and requests get lost, come late or twice."""

    def around(self, system: BatchSystem) -> Engine:
        return FaultyEngine(QueueingEngine(system), rate=0.25, seed=5)
