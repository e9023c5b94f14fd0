# ruff: noqa: ASYNC221, ASYNC240 - a test may block its own loop
"""A keeper takes one task after another, and no task notices the one before."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from danlu.engines.api import Engine, HostMount, Identity
from danlu.engines.local.keeper import record
from danlu.spec.job import GpuRequest, Resources
from tests.engines.conftest import as_root, keeper_of, local, with_namespaces
from tests.engines.harness import EngineHarness, argv, eventually, shell, token
from tests.engines.local_harness import LocalHarness
from tests.engines.still import on_a_host_that_stands_still

# Long enough for a busy machine: what is tried here is what happens, not how soon.
LINGER = 60.0
ROOMY = Resources(GpuRequest(), 1.0, 256 << 20, 0)


async def keeper_for(harness: EngineHarness, command: str = "true", **more: object) -> int:
    attempt = await harness.begin(shell(command), **more)  # type: ignore[arg-type]
    await harness.ended(attempt)
    return keeper_of(harness, attempt)


def _seconds(shown: bytes) -> float:
    """As `times` of a shell shows them: 0m0.350s."""
    minutes, _, seconds = shown.decode().rstrip("s").partition("m")
    return int(minutes) * 60 + float(seconds)


class TestOneAfterAnother:
    @on_a_host_that_stands_still
    async def test_the_same_keeper_serves_again(self, boxed: EngineHarness) -> None:
        first = await keeper_for(boxed)
        assert await keeper_for(boxed) == first

    async def test_nothing_of_the_last_task_is_there(self, boxed: EngineHarness) -> None:
        number = token()
        await boxed.run(shell(f"export LEFT=over; cd /; umask 0; sleep {number} & echo first"))
        task, log = await boxed.run(shell("echo $LEFT; umask; ps ax 2>/dev/null | grep -c slee[p]"))
        assert log.split() == [b"0022", b"0"]
        assert task.exit_code == 1

    async def test_a_task_that_left_something_in_shared_memory_had_the_last_word(
        self, boxed: EngineHarness
    ) -> None:
        first = await keeper_for(boxed, "echo secret > /dev/shm/left")
        second = await boxed.begin(shell("ls /dev/shm"))
        await boxed.ended(second)
        assert keeper_of(boxed, second) != first
        assert await boxed.output(second) == b""

    async def test_other_mounts_get_another_keeper(self, boxed: EngineHarness) -> None:
        (boxed.outside / "v").mkdir()
        first = await keeper_for(boxed)
        mounts = (HostMount("v", str(boxed.outside / "v"), "/v"),)
        assert await keeper_for(boxed, "touch /v/here", mounts=mounts) != first
        assert (boxed.outside / "v" / "here").exists()

    async def test_a_volume_that_was_made_anew_is_seen_anew(self, boxed: EngineHarness) -> None:
        home = boxed.outside / "home"
        mounts = (HostMount("userhome", str(home), "/userhome"),)
        for number in range(3):
            home.mkdir()
            await boxed.run(shell(f"echo {number} > /userhome/number"), mounts=mounts)
            assert (home / "number").read_text() == f"{number}\n"
            (home / "number").unlink()
            home.rename(boxed.outside / f"old-{number}")

    async def test_other_limits_get_another_keeper(self, boxed: EngineHarness) -> None:
        first = await keeper_for(boxed, resources=ROOMY)
        more = Resources(GpuRequest(), 2.0, 512 << 20, 0)
        assert await keeper_for(boxed, resources=more) != first

    @as_root
    @on_a_host_that_stands_still
    async def test_another_user_gets_another_keeper(self, boxed: EngineHarness) -> None:
        alice, bob = (Identity(name, uid=uid, gid=uid) for name, uid in (("a", 7001), ("b", 7002)))
        first = await keeper_for(boxed, identity=alice)
        assert await keeper_for(boxed, identity=alice) == first
        assert await keeper_for(boxed, identity=bob) != first

    @as_root
    async def test_a_keeper_that_acted_for_a_user_is_itself_again(
        self, boxed: EngineHarness
    ) -> None:
        alice = Identity("alice", uid=7001, gid=7002, groups=(7003,))
        for _ in range(3):
            _, log = await boxed.run(
                shell("id -u; id -g; id -G; grep -c '^Cap.*:.*[1-9a-f]' /proc/self/status"),
                identity=alice,
            )
            assert log.split()[:4] == [b"7001", b"7002", b"7002", b"7003"]
            assert log.split()[4] == b"0", "no capability in any set, the bounding one included"

    @as_root
    async def test_a_program_that_its_user_may_not_read_does_not_run(
        self, boxed: EngineHarness
    ) -> None:
        program = boxed.outside / "private"
        program.write_text("#!/bin/sh\necho ran\n")
        program.chmod(0o700)
        task, log = await boxed.run(argv(str(program)), identity=Identity("a", uid=7001, gid=7001))
        assert task.exit_code == 126
        assert b"ran" not in log

    @as_root
    async def test_a_keeper_with_an_old_picture_of_the_host_takes_no_more(
        self, boxed: EngineHarness
    ) -> None:
        disk = boxed.outside / "disk"
        disk.mkdir()
        gate = boxed.outside / "gate"
        os.mkfifo(gate)
        running = await boxed.begin(shell(f"read x < {gate}"))
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", disk], check=True)
        try:
            (disk / "file").write_text("late\n")
            with gate.open("w") as file:
                file.write("go\n")
            await boxed.ended(running)
            _, log = await boxed.run(argv("cat", str(disk / "file")))
        finally:
            subprocess.run(["umount", disk], check=True)
        assert log == b"late\n"


class TestWhatTheServerKnows:
    @on_a_host_that_stands_still
    async def test_a_late_order_to_stop_does_not_reach_the_next_task(
        self, boxed: EngineHarness
    ) -> None:
        first = await boxed.begin(shell("true"))
        await boxed.ended(first)
        keeper = keeper_of(boxed, first)
        gate = boxed.outside / token()
        os.mkfifo(gate)
        second = await boxed.begin(shell(f"read x < {gate}; echo went on"))
        await eventually(lambda: Path(record.claim_path(f"{boxed.data}/run/{second}", 0)).exists())
        assert keeper_of(boxed, second) == keeper
        await boxed.engine.stop(first, 0)
        os.kill(keeper, signal.SIGTERM)  # as a server would that does not know of the end yet
        await boxed.engine.forget(first)
        with gate.open("w") as file:
            file.write("go\n")
        seen = await boxed.ended(second)
        assert seen[0].exit_code == 0
        assert await boxed.output(second) == b"went on\n"

    @on_a_host_that_stands_still
    async def test_what_a_task_used_does_not_count_for_the_next(self, boxed: EngineHarness) -> None:
        burn = "i=0; while [ $i -lt 150000 ]; do i=$((i + 1)); done; times"
        before = await boxed.begin(shell(burn))
        await boxed.ended(before)
        first = keeper_of(boxed, before)
        burnt = _seconds((await boxed.output(before)).split()[0])
        second = await boxed.begin(shell("sleep 30"))
        await eventually(lambda: Path(record.claim_path(f"{boxed.data}/run/{second}", 0)).exists())
        assert keeper_of(boxed, second) == first
        used = {ref.attempt_id: usage for ref, usage in (await boxed.engine.usage()).tasks.items()}
        assert used[second].cpu_seconds < burnt / 2
        await boxed.engine.stop(second, 0)
        await boxed.ended(second)

    @on_a_host_that_stands_still
    async def test_keepers_that_wait_go_with_the_server(self, boxed: EngineHarness) -> None:
        keeper = await keeper_for(boxed)
        assert os.path.exists(f"/proc/{keeper}")
        await boxed.restart()
        await eventually(lambda: not os.path.exists(f"/proc/{keeper}"))

    @as_root
    @on_a_host_that_stands_still
    async def test_many_tasks_leave_no_descriptor_open(self, boxed: EngineHarness) -> None:
        keeper = await keeper_for(boxed)
        before = len(os.listdir(f"/proc/{keeper}/fd"))
        for _ in range(20):
            assert await keeper_for(boxed, "echo some; echo words >&2") == keeper
        assert len(os.listdir(f"/proc/{keeper}/fd")) < before + 5

    async def test_many_at_once_are_all_seen_to_end(self, boxed: EngineHarness) -> None:
        for _ in range(5):
            attempts = [await boxed.begin(shell("echo x")) for _ in range(20)]
            for attempt in attempts:
                seen = await boxed.ended(attempt)
                assert seen[0].exit_code == 0
                assert await boxed.output(attempt) == b"x\n"


async def test_keepers_that_wait_for_long_are_let_go(tmp_path: Path) -> None:
    harness = LocalHarness(with_namespaces, tmp_path)
    await harness.start()
    keeper = await keeper_for(harness)
    await eventually(lambda: not os.path.exists(f"/proc/{keeper}"))
    await harness.close()


@pytest.fixture
def make() -> Callable[[Path], Engine]:
    return lambda data: local(data, linger=LINGER)
