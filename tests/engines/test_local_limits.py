# ruff: noqa: ASYNC221, ASYNC240 - a test may block its own loop
"""The local engine at limits: memory, floods of output, full disks."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from danlu.engines.api import Phase, TaskRef, Unreachable
from danlu.spec.job import GpuRequest, Resources, Stdin
from tests.engines import conftest
from tests.engines.conftest import as_root, engine_of, keeper_of
from tests.engines.harness import (
    JOB,
    EngineHarness,
    argv,
    eventually,
    shell,
)
from tests.engines.local_harness import LocalHarness


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(bytes(4096))


@contextlib.asynccontextmanager
async def world_on_small_disk(disk: Path) -> AsyncIterator[EngineHarness]:
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], check=True)
    try:
        harness = LocalHarness(conftest.with_namespaces, disk)
        await harness.start()
        try:
            yield harness
        finally:
            await harness.close()
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


class TestLimits:
    @as_root
    async def test_too_much_memory_is_named_as_the_cause(self, harness: EngineHarness) -> None:
        if "memory" not in engine_of(harness).abilities.controllers:
            pytest.skip(f"no memory cgroup: {engine_of(harness).abilities.cgroup_why_not}")
        small = Resources(GpuRequest(), 1.0, 64 << 20, 1 << 20)
        task, _ = await harness.run(
            argv(sys.executable, "-c", "x = b'1' * 400_000_000"), resources=small
        )
        assert task.hint == "out_of_memory"
        assert task.exit_code != 0

    @as_root
    @pytest.mark.parametrize("megabytes", [1, 2, 4, 8, 32, 63])
    async def test_a_tiny_limit_ends_the_task_and_never_its_keeper(
        self, harness: EngineHarness, megabytes: int
    ) -> None:
        if "memory" not in engine_of(harness).abilities.controllers:
            pytest.skip(f"no memory cgroup: {engine_of(harness).abilities.cgroup_why_not}")
        tiny = Resources(GpuRequest(), 1.0, megabytes << 20, 1 << 20)
        greedy = argv(sys.executable, "-c", "x = b'1' * 400_000_000")
        task, _ = await harness.run(greedy, resources=tiny)
        assert (task.phase, task.hint) == (Phase.EXITED, "out_of_memory"), task.detail
        small, _ = await harness.run(argv("true"), resources=tiny)
        assert small.phase is Phase.EXITED
        assert small.exit_code == 0 or small.hint == "out_of_memory"

    @as_root
    async def test_groups_of_ended_tasks_are_removed(self, harness: EngineHarness) -> None:
        abilities = engine_of(harness).abilities
        if not abilities.cgroup:
            pytest.skip(abilities.cgroup_why_not)
        attempt = await harness.begin(argv("sleep", "600"))
        await eventually(lambda: os.path.exists(f"{abilities.cgroup_bases[0]}/{attempt}.0"))
        await harness.stop(attempt, 0)
        await harness.engine.forget(attempt)
        for base in abilities.cgroup_bases:
            assert os.listdir(base).count(f"{attempt}.0") == 0

    @as_root
    async def test_keepers_that_were_not_needed_leave_no_group_behind(
        self, harness: EngineHarness
    ) -> None:
        """Every mount that comes or goes on the host sends those that wait home."""
        abilities = engine_of(harness).abilities
        if not abilities.cgroup:
            pytest.skip(abilities.cgroup_why_not)
        disk = harness.outside / "disk"
        disk.mkdir()
        for _ in range(10):
            await harness.run(shell("true"))
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", disk], check=True)
            subprocess.run(["umount", disk], check=True)
        await eventually(lambda: all(_seats(base) <= 4 for base in abilities.cgroup_bases))
        await harness.engine.close()
        assert not any(os.path.exists(base) for base in abilities.cgroup_bases)
        await harness.restart()

    async def test_a_flood_of_output_takes_no_memory(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(
            shell("head -c 300000000 /dev/zero; echo done >&2; sleep 600"),
            split_output=True,
            log_cap=20_000_000,
        )
        ref = TaskRef(attempt, 0, JOB)
        await eventually(lambda: os.path.exists(engine_of(harness)._logs.path(ref, "err")))
        while await harness.engine.log_size(ref, "err") == 0:
            await harness.engine.log_grew(ref, "err", 0, 1)
        status = Path(f"/proc/{keeper_of(harness, attempt)}/status").read_text()
        resident = int(status.split("VmHWM:")[1].split()[0])
        assert resident < 40_000
        assert await harness.engine.log_size(ref, "out") < 20_001_000
        await harness.stop(attempt, 0)

    @as_root
    async def test_a_full_disk(self, tmp_path: Path) -> None:
        """The gap in the log is marked, the status survives, new work is refused clearly."""
        async with world_on_small_disk(tmp_path / "disk") as harness:
            await self._fill_up_and_recover(harness, tmp_path / "disk" / "stuffing", tmp_path)

    async def _fill_up_and_recover(
        self, harness: EngineHarness, stuffing: Path, elsewhere: Path
    ) -> None:
        # More than a pipe holds: once all of it is written, the keeper has met the full disk.
        printed = elsewhere / "printed"
        text = f"read x; head -c 500000 /dev/zero; touch {printed}; read x; echo after; exit 7"
        attempt = await harness.begin(shell(f"echo before; {text}"), stdin=Stdin.PIPE)
        await harness.printed(attempt, b"before")
        fill(stuffing)
        with pytest.raises(Unreachable, match=r"nothing was started: .*[Nn]o space"):
            launch = harness.launch(argv("true"))
            await harness.engine.launch(launch, harness.engine.plan(launch))
        attached = await harness.engine.attach(TaskRef(attempt, 0, JOB))
        await attached.send(b"\n")
        await eventually(printed.exists)
        stuffing.unlink()
        await attached.send(b"\n")
        assert (await harness.ended(attempt))[0].exit_code == 7
        log = await harness.output(attempt)
        assert log.startswith(b"before\n")
        assert b"bytes of output were lost here: no space left on device" in log
        assert log.endswith(b"after\n")
        assert (await harness.run(argv("true")))[0].exit_code == 0

    @as_root
    async def test_a_status_is_kept_on_a_disk_that_stays_full(self, tmp_path: Path) -> None:
        async with world_on_small_disk(tmp_path / "disk") as harness:
            attempt = await harness.begin(shell("read x; echo lost; exit 9"), stdin=Stdin.PIPE)
            attached = await harness.engine.attach(TaskRef(attempt, 0, JOB))
            fill(tmp_path / "disk" / "stuffing")
            await attached.send(b"\n")
            assert (await harness.ended(attempt))[0].exit_code == 9
            await harness.restart()
            assert (await harness.ended(attempt))[0].exit_code == 9


def _seats(base: str) -> int:
    return sum(name.startswith("spare.") for name in os.listdir(base))
