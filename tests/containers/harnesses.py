"""Worlds whose tasks run in containers."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from danlu.engines.api import Engine, HostMount
from danlu.engines.local.config import ContainerConfig
from tests.engines.conftest import local
from tests.engines.harness import PATIENCE, EngineHarness
from tests.engines.local_harness import LocalHarness
from tests.support.containers import (
    BUSYBOX,
    IMAGE,
    ContainerDaemon,
    bare_image,
    busybox_image,
    host_programs,
)


def with_image(daemon: ContainerDaemon) -> ContainerDaemon:
    daemon.import_image(IMAGE, bare_image())
    daemon.import_image(BUSYBOX, busybox_image())
    return daemon


def maker(daemon: ContainerDaemon) -> Callable[[Path], Engine]:
    """Engines that use this daemon."""

    def make(data: Path) -> Engine:
        return local(data, containers=ContainerConfig(daemon.kind, daemon.socket))

    return make


def contain(harness: EngineHarness) -> None:
    """From now on its tasks run in containers, with the machine's programs and `outside`."""
    outside = str(harness.outside)
    harness.every = {
        "image": IMAGE,
        "mounts": (
            *host_programs(sys.prefix, sys.base_prefix),
            HostMount("outside", outside, outside),
        ),
    }
    harness.rounds, harness.pause = 24, 0.003


@contextlib.asynccontextmanager
async def opened(daemon: ContainerDaemon, base: Path) -> AsyncIterator[EngineHarness]:
    """A world on this daemon."""
    harness = LocalHarness(maker(daemon), base)
    await harness.start()
    contain(harness)
    try:
        yield harness
    finally:
        await harness.close()


async def no_containers(daemon: ContainerDaemon) -> None:
    """Waits until not one is left."""
    call = daemon.api().wire.call
    async with asyncio.timeout(PATIENCE):
        while await asyncio.to_thread(call, "GET", "/containers/json?all=true"):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
