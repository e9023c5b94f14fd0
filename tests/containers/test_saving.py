"""Containers saved as images: straight into a registry, or by their runtime."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator
from typing import Any

import pytest

from danlu.engines.api import (
    CannotSave,
    Identity,
    ImageStore,
    Saved,
    SaveImage,
    SaveOrder,
    SaveProgress,
    TaskRef,
)
from danlu.engines.local.container.plan import container_name
from danlu.registry.client import Client
from tests.engines.harness import JOB, EngineHarness, eventually, shell
from tests.support.containers import BUSYBOX, ContainerDaemon
from tests.support.registry import Registry

ALICE = Identity("alice", "lab", 23456, 23456)
CHANGES = r"""
umask 022; cd /tmp; echo mine > file; ln file same; ln -s /etc/shadow link; mkfifo pipe
mkdir folder; echo x > "folder/two
lines"; head -c 3000000 /dev/urandom > large; chmod 600 large; echo ready
sleep 1000
"""


@pytest.fixture(params=["docker", "podman"])
def daemon(request: pytest.FixtureRequest) -> ContainerDaemon:
    found: ContainerDaemon = request.getfixturevalue(f"{request.param}_daemon")
    return found


def engine_of(harness: EngineHarness) -> SaveImage:
    assert isinstance(harness.engine, SaveImage)
    return harness.engine


@pytest.fixture
async def task(harness: EngineHarness) -> AsyncIterator[TaskRef]:
    """A container in which somebody has changed files."""
    harness.every = {"image": BUSYBOX}
    id = await harness.begin(shell(CHANGES), identity=ALICE)
    await harness.printed(id, b"ready")
    yield TaskRef(id, 0, JOB)
    await harness.engine.stop(id, 0.0)


def store_in(registry: Registry, repository: str, **more: Any) -> ImageStore:
    return ImageStore(
        lambda: Client(f"http://{registry.host}", ""), registry.host, repository, "1", **more
    )


def get(registry: Registry, path: str) -> Any:
    kinds = "application/vnd.docker.distribution.manifest.v2+json, "
    kinds += "application/vnd.oci.image.manifest.v1+json"
    request = urllib.request.Request(f"http://{registry.host}/v2/{path}", headers={"Accept": kinds})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


async def save(
    harness: EngineHarness, task: TaskRef, store: ImageStore | None, name: str = "x/y:1"
) -> tuple[Saved, list[SaveProgress]]:
    told: list[SaveProgress] = []
    order = SaveOrder(name, store, "alice")
    return await engine_of(harness).save_image(task, order, told.append), told


async def test_a_saved_container_is_its_image_and_what_it_changed(
    harness: EngineHarness, task: TaskRef, daemon: ContainerDaemon, registry: Registry
) -> None:
    estimate = await engine_of(harness).save_estimate(task)
    assert 3_000_000 < estimate.changed < 3_100_000
    name = f"alice/{daemon.kind}"
    saved, told = await save(harness, task, store_in(registry, name))
    assert told[-1] == SaveProgress(told[-1].total, told[-1].total)
    manifest = get(registry, f"{name}/manifests/1")
    config = get(registry, f"{name}/blobs/{manifest['config']['digest']}")
    text = json.dumps(config)
    for ours in ("danlu-holder", "danlu.", "NVIDIA_VISIBLE_DEVICES", "23456"):
        assert ours not in text
    assert len(manifest["layers"]) == len(config["rootfs"]["diff_ids"]) == 2
    assert saved.size == manifest["layers"][-1]["size"]

    image = f"{registry.host}/{name}:1"
    pulled = await asyncio.to_thread(_pull, daemon, image)
    assert pulled.returncode == 0, pulled.stderr
    harness.every = {"image": image}
    look = (
        "cd /tmp; cat file same 'folder/two\nlines'; readlink link; test -p pipe && echo pipe; "
        "wc -c < large; stat -c '%u %a' large; stat -c %i file > /tmp/a; "
        "stat -c %i same | cmp - /tmp/a && echo linked; ls /etc /userhome /run 2>&1; id -un"
    )
    _, log = await harness.run(shell(look), identity=Identity("alice", "lab", 23456, 23456))
    lines = log.decode().splitlines()
    assert lines[:8] == [
        *("mine", "mine", "x", "/etc/shadow", "pipe", "3000000", "23456 600", "linked")
    ]
    assert lines[-1] == "alice"
    # Its own user's entry is not in the image: it is added when a container starts.
    _, log = await harness.run(shell("cat /etc/passwd"), identity=Identity("b", "lab", 777, 777))
    assert b"alice" not in log


def _pull(daemon: ContainerDaemon, image: str) -> Any:
    more = ("--tls-verify=false",) if daemon.kind == "podman" else ()
    return daemon.client("pull", *more, image)


async def test_layers_below_are_sent_once(
    harness: EngineHarness, task: TaskRef, daemon: ContainerDaemon, registry: Registry
) -> None:
    first = f"alice/once-{daemon.kind}"
    saved, told = await save(harness, task, store_in(registry, first))
    places = {chain: (first, digest) for chain, digest in saved.chains.items()}
    second = f"bob/once-{daemon.kind}"
    store = store_in(registry, second, known=places.get)
    _, told = await save(harness, task, store)
    assert not any(each.base for each in told)
    mine, theirs = (get(registry, f"{each}/manifests/1") for each in (first, second))
    assert mine["layers"][0] == theirs["layers"][0]


async def test_without_a_registry_it_stays_with_the_runtime(
    harness: EngineHarness, task: TaskRef, daemon: ContainerDaemon
) -> None:
    name = f"danlu.internal/alice/{daemon.kind}:1"
    await save(harness, task, None, name)
    config = daemon.api().image(name)
    assert config is not None
    assert not config["Config"].get("Entrypoint")
    assert not any((config["Config"].get("Labels") or {}).values())
    harness.every = {"image": name}
    status, log = await harness.run(shell("cat /tmp/file"), identity=ALICE)
    assert log == b"mine\n", status
    daemon.drop_image(name)


async def test_what_ended_can_be_saved_as_long_as_it_is_held(
    harness: EngineHarness, task: TaskRef, daemon: ContainerDaemon, registry: Registry
) -> None:
    engine = engine_of(harness)
    await engine.hold_files(task)
    await harness.engine.stop(task.attempt_id, 1.0)
    await harness.ended(task.attempt_id)
    await harness.engine.forget(task.attempt_id)
    await harness.restart()
    await harness.engine.sweep(frozenset)
    saved, _ = await save(harness, task, store_in(registry, f"alice/held-{daemon.kind}"))
    assert saved.size > 3_000_000
    await engine_of(harness).let_go(task)
    name = container_name(task.attempt_id, 0)
    await eventually(lambda: name not in _containers(daemon))
    with pytest.raises(CannotSave):
        await engine_of(harness).save_estimate(task)


def _containers(daemon: ContainerDaemon) -> str:
    return json.dumps(daemon.api().wire.call("GET", "/containers/json?all=true"))


async def test_a_cancelled_save_leaves_nothing(
    harness: EngineHarness, task: TaskRef, daemon: ContainerDaemon, registry: Registry
) -> None:
    name = f"alice/cancelled-{daemon.kind}"
    begun = asyncio.Event()
    order = SaveOrder("x", store_in(registry, name))
    loop = asyncio.get_running_loop()
    with registry.slow() as a_moment:
        work = asyncio.create_task(
            engine_of(harness).save_image(task, order, lambda _: begun.set())
        )
        loop.call_later(0.5, begun.set)
        await begun.wait()
        work.cancel()
        loop.call_later(0.5, a_moment)
        with pytest.raises(asyncio.CancelledError):
            await work
    with pytest.raises(OSError):
        get(registry, f"{name}/manifests/1")


async def test_a_task_without_a_container_has_nothing_to_save(harness: EngineHarness) -> None:
    harness.every = {}
    id = await harness.begin(shell("sleep 1000"))
    with pytest.raises(CannotSave, match="does not run in a container"):
        await engine_of(harness).save_estimate(TaskRef(id, 0, JOB))
    await harness.engine.stop(id, 0.0)
