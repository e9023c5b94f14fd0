"""What happens to tasks when the container runtime, their container or their keeper goes away."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from danlu.engines.api import Phase, TaskRef
from danlu.engines.local.container.plan import container_name
from tests.containers import harnesses
from tests.engines.conftest import keeper_of
from tests.engines.harness import (
    JOB,
    PATIENCE,
    EngineHarness,
    argv,
    eventually,
    shell,
    token,
)
from tests.support.containers import ContainerDaemon, docker
from tests.support.processes import processes_with

BYTES = r"printf '\377\000\r\n\376'"


def count_to(number: int, go_on: Path) -> str:
    """Prints bytes of all kinds, a line at a time, until a file is there, then so many more."""
    return (
        f"i=0; while [ ! -e {go_on} ]; do {BYTES}; echo $i; i=$((i+1)); sleep 0.01; done; "
        f"n=$((i+{number})); while [ $i -lt $n ]; do {BYTES}; echo $i; i=$((i+1)); done; exit 7"
    )


def is_counted(log: bytes) -> bool:
    lines = log.split(b"\xff\x00\r\n\xfe")
    return lines[0] == b"" and lines[1:] == [b"%d\n" % n for n in range(len(lines) - 1)]


@pytest.fixture
async def live(docker_daemon: ContainerDaemon, tmp_path: Path) -> AsyncIterator[EngineHarness]:
    async with harnesses.opened(docker_daemon, tmp_path) as harness:
        yield harness


@pytest.fixture
async def podmans(podman_daemon: ContainerDaemon, tmp_path: Path) -> AsyncIterator[EngineHarness]:
    async with harnesses.opened(podman_daemon, tmp_path) as harness:
        yield harness


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_with_live_restore_a_restarted_daemon_costs_no_byte(
    live: EngineHarness, docker_daemon: ContainerDaemon, how: signal.Signals
) -> None:
    go_on = live.outside / "go"
    attempt = await live.begin(shell(count_to(1000, go_on)))
    await live.printed(attempt, b"\n")
    await asyncio.to_thread(docker_daemon.stop, how)
    before = len(await live.output(attempt))
    await eventually_longer(live, attempt, before)
    await asyncio.to_thread(docker_daemon.start)
    go_on.touch()
    (task,) = await live.ended(attempt)
    assert (task.exit_code, task.hint) == (7, "")
    assert is_counted(await live.output(attempt))


async def test_with_live_restore_a_task_may_end_while_the_daemon_is_away(
    live: EngineHarness, docker_daemon: ContainerDaemon
) -> None:
    name = token()
    attempt = await live.begin(shell(f"echo up; sleep {name} & read x; exit 5"))
    other = await live.begin(shell("trap 'echo bye; exit 3' TERM; echo up; sleep 600 & wait"))
    await live.printed(other, b"up")
    await live.ended(attempt)
    await asyncio.to_thread(docker_daemon.stop)
    try:
        assert (await live.stop(other, 60))[0].exit_code == 3
        assert await live.output(other) == b"up\nbye\n"
    finally:
        await asyncio.to_thread(docker_daemon.start)
    await eventually(lambda: not processes_with(name))
    for each in (attempt, other):
        await live.engine.forget(each)
    await harnesses.no_containers(docker_daemon)


async def test_podmans_service_may_come_and_go(
    podmans: EngineHarness, podman_daemon: ContainerDaemon
) -> None:
    go_on = podmans.outside / "go"
    attempt = await podmans.begin(shell(count_to(10, go_on)))
    await podmans.printed(attempt, b"\n")
    await asyncio.to_thread(podman_daemon.restart, signal.SIGKILL)
    go_on.touch()
    (task,) = await podmans.ended(attempt)
    assert (task.exit_code, task.hint) == (7, "")
    assert is_counted(await podmans.output(attempt))


async def test_without_live_restore_a_restart_ends_the_container_and_that_is_said(
    tmp_path: Path,
) -> None:
    daemon = docker()
    try:
        await asyncio.to_thread(daemon.start)
        harnesses.with_image(daemon)
        async with harnesses.opened(daemon, tmp_path) as harness:
            attempt = await harness.begin(shell("echo up; sleep 600"))
            await harness.printed(attempt, b"up")
            await asyncio.to_thread(daemon.restart)
            (task,) = await harness.ended(attempt)
            assert (task.phase, task.signal, task.hint) == (Phase.EXITED, 9, "container_ended")
            assert (await harness.output(attempt)).startswith(b"up\n[danlu] ")
            again, log = await harness.run(shell("echo again"))
            assert (again.exit_code, log) == (0, b"again\n")
    finally:
        await asyncio.to_thread(daemon.remove)


@pytest.mark.parametrize("kind", ["docker", "podman"])
async def test_a_container_removed_by_hand_is_told_from_a_command_that_was_killed(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    daemon: ContainerDaemon = request.getfixturevalue(f"{kind}_daemon")
    async with harnesses.opened(daemon, tmp_path) as harness:
        attempt = await harness.begin(shell("echo up; sleep 600"))
        await harness.printed(attempt, b"up")
        await asyncio.to_thread(daemon.api().remove, container_name(attempt, 0))
        (task,) = await harness.ended(attempt)
        assert (task.signal, task.hint) == (9, "container_ended")
        killed, _ = await harness.run(shell("kill -9 $$"))
        assert (killed.signal, killed.hint) == (9, "")


@pytest.mark.parametrize("kind", ["docker", "podman"])
async def test_a_killed_keeper_leaves_no_container(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    daemon: ContainerDaemon = request.getfixturevalue(f"{kind}_daemon")
    async with harnesses.opened(daemon, tmp_path) as harness:
        name = token()
        attempt = await harness.begin(argv("sleep", name))
        await eventually(lambda: processes_with(name))
        os.kill(keeper_of(harness, attempt), signal.SIGKILL)
        (task,) = await harness.ended(attempt)
        assert task.phase is Phase.LOST
        assert not processes_with(name)
        await harnesses.no_containers(daemon)


async def eventually_longer(harness: EngineHarness, attempt: str, size: int) -> None:
    async with asyncio.timeout(PATIENCE):
        ref = TaskRef(attempt, 0, JOB)
        while not await harness.engine.log_grew(ref, "out", size, 1.0):
            pass
