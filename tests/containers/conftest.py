"""Docker and Podman of our own, started once; tests of what every runtime must do get each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from danlu.engines.api import Engine
from tests.containers import harnesses
from tests.engines.harness import EngineHarness
from tests.engines.local_harness import LocalHarness
from tests.support.containers import ContainerDaemon, docker, podman
from tests.support.registry import Registry


@pytest.fixture(scope="session")
def docker_daemon() -> Iterator[ContainerDaemon]:
    yield from _running(docker("--live-restore"))


@pytest.fixture(scope="session")
def registry() -> Iterator[Registry]:
    """Open to everybody, over plain HTTP."""
    registry = Registry()
    yield registry.start()
    registry.remove()


@pytest.fixture(scope="session")
def podman_daemon(registry: Registry) -> Iterator[ContainerDaemon]:
    # Told of the registry in its own configuration, Podman tells more of a pull's progress.
    yield from _running(podman(plain_http=registry.host))


def _running(daemon: ContainerDaemon) -> Iterator[ContainerDaemon]:
    try:
        daemon.start()
        yield harnesses.with_image(daemon)
    finally:
        daemon.remove()


@pytest.fixture
def make(daemon: ContainerDaemon) -> Callable[[Path], Engine]:
    return harnesses.maker(daemon)


@pytest.fixture
async def harness(make: Callable[[Path], Engine], tmp_path: Path) -> AsyncIterator[EngineHarness]:
    harness = LocalHarness(make, tmp_path)
    await harness.start()
    harnesses.contain(harness)
    yield harness
    await harness.close()
