"""Engines to try, and worlds to try them in."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from danlu.engines.api import Engine
from danlu.engines.local.attempts import read_claim
from danlu.engines.local.config import LocalConfig, NodeConfig
from danlu.engines.local.engine import LocalEngine
from tests.engines.faulty import FaultyEngine
from tests.engines.harness import EngineHarness
from tests.engines.local_harness import LocalHarness

NODES = (
    NodeConfig("n1", 4, 8 << 30, (("RTX3090", 4),)),
    NodeConfig("n2", 4, 8 << 30),
)


def local(data: Path, **values: object) -> LocalEngine:
    return LocalEngine(LocalConfig(data, NODES, **values))  # type: ignore[arg-type]


def with_namespaces(data: Path) -> Engine:
    return local(data)


def without_namespaces(data: Path) -> Engine:
    return local(data, userns="off")


def bare(data: Path) -> Engine:
    return local(data, userns="off", cgroups="off")


def faulty(data: Path) -> Engine:
    return FaultyEngine(local(data), rate=0.25, seed=7)


@pytest.fixture
def make() -> Callable[[Path], Engine]:
    return with_namespaces


@pytest.fixture
async def harness(make: Callable[[Path], Engine], tmp_path: Path) -> AsyncIterator[EngineHarness]:
    harness = LocalHarness(make, tmp_path)
    await harness.start()
    yield harness
    await harness.close()


ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not ROOT, reason="needs root")


def engine_of(harness: EngineHarness) -> LocalEngine:
    assert isinstance(harness.engine, LocalEngine)
    return harness.engine


@pytest.fixture
async def boxed(harness: EngineHarness) -> EngineHarness:
    if not engine_of(harness).abilities.namespaces:
        pytest.skip(f"no namespaces: {engine_of(harness).abilities.namespaces_why_not}")
    return harness


@pytest.fixture
async def plain(tmp_path: Path) -> AsyncIterator[EngineHarness]:
    harness = LocalHarness(bare, tmp_path)
    await harness.start()
    yield harness
    await harness.close()


def keeper_of(harness: EngineHarness, attempt: str, task: int = 0) -> int:
    found = read_claim(str(harness.data / "run" / attempt), task)
    assert found is not None
    return int(found[0]["pid"])
