"""Containers whose changes cannot be read from a folder: the runtime commits and pushes them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from danlu.engines.api import TaskRef
from tests.containers import harnesses, test_saving
from tests.containers.test_saving import get, save, store_in
from tests.engines.harness import EngineHarness
from tests.support.containers import ContainerDaemon, docker
from tests.support.registry import Registry

task = test_saving.task


@pytest.fixture(scope="module")
def daemon() -> Iterator[ContainerDaemon]:
    """Copies every layer in full, as on file systems without overlays."""
    daemon = docker("--storage-driver=vfs")
    try:
        daemon.start()
        yield harnesses.with_image(daemon)
    finally:
        daemon.remove()


async def test_a_container_without_an_overlay_is_committed_and_pushed(
    harness: EngineHarness, task: TaskRef, daemon: ContainerDaemon, registry: Registry
) -> None:
    saved, told = await save(harness, task, store_in(registry, "alice/committed"))

    manifest = get(registry, "alice/committed/manifests/1")
    config = get(registry, f"alice/committed/blobs/{manifest['config']['digest']}")
    assert len(manifest["layers"]) == len(config["rootfs"]["diff_ids"]) == 2
    assert manifest["layers"][-1]["size"] > 3_000_000
    assert saved.total >= sum(layer["size"] for layer in manifest["layers"])
    assert told
    text = str(config).lower()
    assert "danlu_" not in text and "danlu." not in text, "nothing of the task that it was"
    assert "x/y:1" not in str(daemon.client("images").stdout), "no second copy is left"
