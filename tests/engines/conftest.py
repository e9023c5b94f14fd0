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
from tests.engines.world import World

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
async def world(make: Callable[[Path], Engine], tmp_path: Path) -> AsyncIterator[World]:
    world = World(make, tmp_path)
    await world.start()
    yield world
    await world.close()


ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not ROOT, reason="needs root")


def engine_of(world: World) -> LocalEngine:
    assert isinstance(world.engine, LocalEngine)
    return world.engine


@pytest.fixture
async def boxed(world: World) -> World:
    if not engine_of(world).abilities.namespaces:
        pytest.skip(f"no namespaces: {engine_of(world).abilities.namespaces_why_not}")
    return world


@pytest.fixture
async def plain(tmp_path: Path) -> AsyncIterator[World]:
    world = World(bare, tmp_path)
    await world.start()
    yield world
    await world.close()


def keeper_of(world: World, attempt: str, task: int = 0) -> int:
    found = read_claim(str(world.data / "run" / attempt), task)
    assert found is not None
    return int(found[0]["pid"])
