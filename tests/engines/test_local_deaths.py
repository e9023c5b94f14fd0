# ruff: noqa: ASYNC220 - a test may block its own loop
"""The local engine when things die: spawners, keepers, servers, machines."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from danlu.engines.api import Phase, TaskRef
from danlu.engines.local.attempts import load, look
from danlu.engines.local.keeper import linux, record
from danlu.spec.job import Stdin
from tests.engines import conftest
from tests.engines.conftest import engine_of, keeper_of
from tests.engines.harness import (
    JOB,
    EngineHarness,
    argv,
    attempt_id,
    eventually,
    shell,
    token,
)
from tests.engines.local_harness import LocalHarness
from tests.support.processes import processes_with


def make_folder(folder: str, tasks: int) -> None:
    os.mkdir(folder)
    gang = {"job": JOB, "epoch": 1, "tasks": [{"node": "n1", "ports": []}] * tasks}
    Path(folder, "gang").write_text(json.dumps(gang))
    for index in range(tasks):
        record.blank(record.new_path(folder, index))


def claim_as(folder: str, task: int, pid: int, start: int = 0, boot: str = "") -> None:
    values = {
        "pid": pid,
        "start": start or linux.start_time(pid),
        "boot": boot or linux.boot_id(),
        "uid": os.getuid(),
        "node": "n1",
        "at": time.time(),
        "cgroups": [],
        "namespaces": True,
    }
    fd = record.claim(folder, task, values)
    assert fd is not None
    os.close(fd)


class TestWhenThingsDie:
    @pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM])
    async def test_a_dead_spawner_is_replaced_and_harms_nobody(
        self, harness: EngineHarness, signal_number: int
    ) -> None:
        running = await harness.begin(shell("read x; exit 3"), stdin=Stdin.PIPE)
        await (await harness.engine.attach(TaskRef(running, 0, JOB))).close()
        spawner = engine_of(harness)._spawner.pid
        assert spawner is not None
        os.kill(spawner, signal_number)
        await eventually(lambda: not linux.start_time(spawner))
        assert (await harness.run(argv("true")))[0].exit_code == 0
        attached = await harness.engine.attach(TaskRef(running, 0, JOB))
        await attached.send(b"\n")
        assert (await harness.ended(running))[0].exit_code == 3

    async def test_a_killed_keeper_is_noticed_and_its_tree_is_ended(
        self, boxed: EngineHarness
    ) -> None:
        name = token()
        other = await boxed.begin(argv("sleep", "600"))
        attempt = await boxed.begin(shell(f"sleep {name} & env -i setsid sleep {name} & wait"))
        await eventually(lambda: len(processes_with(name)) == 2)
        os.kill(keeper_of(boxed, attempt), signal.SIGKILL)
        task = (await boxed.ended(attempt))[0]
        assert task.phase is Phase.LOST
        assert "keeper" in task.detail
        assert not processes_with(name)
        seen = await boxed.seen(other)
        assert seen is not None
        assert seen.tasks[0].phase is Phase.RUNNING
        await boxed.stop(other, 0)

    async def test_without_namespaces_marked_leftovers_of_a_killed_keeper_are_ended(
        self, plain: EngineHarness
    ) -> None:
        name = token()
        attempt = await plain.begin(shell(f"sleep {name} & setsid sleep {name} & wait"))
        await eventually(lambda: len(processes_with(name)) == 2)
        os.kill(keeper_of(plain, attempt), signal.SIGKILL)
        assert (await plain.ended(attempt))[0].phase is Phase.LOST
        await eventually(lambda: not processes_with(name))

    async def test_a_killed_server_leaves_its_tasks_and_their_output_whole(
        self, tmp_path: Path, harness: EngineHarness
    ) -> None:
        data = tmp_path / "other"
        data.mkdir()
        code = (
            "import asyncio, os, signal, sys\n"
            "from pathlib import Path\n"
            "from tests.engines import conftest\n"
            "from tests.engines.harness import shell\n"
            "from tests.engines.local_harness import LocalHarness\n"
            "async def main():\n"
            "    harness = LocalHarness(conftest.with_namespaces, Path(sys.argv[1]))\n"
            "    await harness.start()\n"
            "    text = 'for i in $(seq 30); do echo line $i; sleep 0.02; done; exit 11'\n"
            "    print(await harness.begin(shell(text)), flush=True)\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
            "asyncio.run(main())\n"
        )
        result = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", code, str(data)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        assert result.returncode == -signal.SIGKILL
        attempt = result.stdout.decode().strip()
        after = LocalHarness.__new__(LocalHarness)
        after.__dict__.update(harness.__dict__)
        after.engine = conftest.local(data / "data")
        await after.engine.start()
        assert (await after.ended(attempt))[0].exit_code == 11
        lines = (await after.output(attempt)).decode().splitlines()
        assert lines == [f"line {i}" for i in range(1, 31)]
        await after.engine.sweep(frozenset)
        await after.engine.close()

    async def test_a_machine_that_restarted_is_told_apart(self, harness: EngineHarness) -> None:
        folder = str(harness.data / "run" / attempt_id())
        make_folder(folder, 1)
        claim_as(folder, 0, pid=os.getpid(), boot="another boot")
        attempt = load(folder)
        assert attempt is not None
        seen = look(attempt, attempt.tasks[0], linux.boot_id())
        assert (seen.phase, seen.hint) == (Phase.LOST, "machine_restarted")

    async def test_a_pid_that_changed_hands_is_never_signalled(
        self, harness: EngineHarness
    ) -> None:
        innocent = subprocess.Popen(["sleep", "600"])
        attempt = attempt_id()
        folder = str(harness.data / "run" / attempt)
        make_folder(folder, 1)
        claim_as(folder, 0, pid=innocent.pid, start=1)
        task = (await harness.stop(attempt, 0))[0]
        assert task.phase is Phase.LOST
        await harness.engine.sweep(frozenset)
        assert innocent.poll() is None
        innocent.kill()
        innocent.wait()

    async def test_half_a_gang_is_reported_so_that_it_can_be_stopped(
        self, harness: EngineHarness
    ) -> None:
        attempt = attempt_id()
        folder = str(harness.data / "run" / attempt)
        make_folder(folder, 2)
        stand_in = subprocess.Popen(["sleep", "600"])
        claim_as(folder, 0, pid=stand_in.pid)
        seen = await harness.engine.settle(attempt)
        assert seen is not None
        assert [task.phase for task in seen.tasks] == [Phase.RUNNING, Phase.LOST]
        assert "interrupted" in seen.tasks[1].detail
        assert record.claim(folder, 1, {"pid": 1}) is None
        await harness.stop(attempt, 30)
        assert stand_in.wait() == -signal.SIGTERM

    async def test_an_unfinished_launch_is_given_up_after_a_restart(
        self, harness: EngineHarness
    ) -> None:
        attempt = attempt_id()
        make_folder(str(harness.data / "run" / attempt), 1)
        await harness.restart()
        assert (await harness.ended(attempt))[0].phase is Phase.LOST
        assert await harness.engine.settle(attempt) is None

    async def test_a_status_survives_and_a_torn_one_does_not_count(self, tmp_path: Path) -> None:
        path = tmp_path / "record"
        record.blank(str(path))
        with path.open("r+b") as file:
            record.write(file.fileno(), record.STATUS, {"code": 3, "detail": '中文 "x"' * 900})
            status = record.read(file.fileno(), record.STATUS)
            assert status is not None
            assert status["code"] == 3
            assert status["detail"].startswith('中文 "x"')
            os.pwrite(file.fileno(), b"?", record.STATUS[0] + 40)
            assert record.read(file.fileno(), record.STATUS) is None
        assert path.stat().st_size == record.SIZE

    async def test_a_spawner_that_dies_at_any_moment_costs_no_launch_and_doubles_none(
        self, harness: EngineHarness
    ) -> None:
        runs = harness.outside / "runs"
        spawners = engine_of(harness)._spawner
        attempts: list[str] = []

        async def kill_often() -> None:
            while True:
                await asyncio.sleep(0.1 + random.random() / 5)
                if spawners.pid is not None and linux.start_time(spawners.pid):
                    os.kill(spawners.pid, signal.SIGKILL)
                # Where starting one takes as long as it lives, nothing would ever be launched.
                launched = len(attempts)
                await eventually(lambda launched=launched: len(attempts) > launched)

        killer = asyncio.create_task(kill_often())
        for n in range(150):
            attempts.append(await harness.begin(shell(f"echo {n} >> {runs}")))
        killer.cancel()
        for attempt in attempts:
            assert (await harness.ended(attempt))[0].exit_code == 0
        assert sorted(map(int, runs.read_text().split())) == list(range(150))
