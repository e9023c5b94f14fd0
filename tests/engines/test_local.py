# ruff: noqa: ASYNC220, ASYNC240 - a test may block its own loop
"""The local engine's own promises: what a task sees, who keeps it, what happens when things die."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from danlu.engines.api import HostMount, Identity, Phase, Refused, TaskRef, Unreachable
from danlu.engines.local.attempts import load, look, read_claim
from danlu.engines.local.check import TREE_GUARANTEES
from danlu.engines.local.engine import LocalEngine
from danlu.engines.local.keeper import linux, record
from danlu.spec.job import GpuRequest, Resources, Stdin
from tests.engines import conftest
from tests.engines.world import (
    JOB,
    World,
    argv,
    attempt_id,
    eventually,
    processes_with,
    shell,
    token,
)

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
    world = World(conftest.bare, tmp_path)
    await world.start()
    yield world
    await world.close()


def keeper_of(world: World, attempt: str, task: int = 0) -> int:
    found = read_claim(str(world.data / "run" / attempt), task)
    assert found is not None
    return int(found[0]["pid"])


class TestWhatATaskSees:
    async def test_volumes_at_paths_the_host_does_not_have(self, boxed: World) -> None:
        for name in ("home", "gdata", "x"):
            (boxed.outside / name).mkdir()
        (boxed.outside / "gdata" / "set").write_text("data\n")
        task, log = await boxed.run(
            shell(
                "cat /gdata/set; touch /gdata/new 2>/dev/null || echo read-only; "
                "echo mine > /userhome/a; echo deep > /mnt/no-such/deep/x/b; echo $HOME; pwd"
            ),
            mounts=(
                HostMount("userhome", str(boxed.outside / "home"), "/userhome"),
                HostMount("gdata", str(boxed.outside / "gdata"), "/gdata", read_only=True),
                HostMount("x", str(boxed.outside / "x"), "/mnt/no-such/deep/x"),
            ),
        )
        assert log == b"data\nread-only\n/userhome\n/userhome\n"
        assert task.exit_code == 0
        assert (boxed.outside / "home" / "a").read_text() == "mine\n"
        assert (boxed.outside / "x" / "b").read_text() == "deep\n"
        for path in ("/userhome", "/gdata", "/mnt/no-such"):
            assert not os.path.exists(path)

    async def test_a_volume_beside_what_the_host_has(self, boxed: World) -> None:
        """The host's folder goes on showing what it shows."""
        before = sorted(os.listdir(boxed.outside))
        _, log = await boxed.run(
            shell(f"ls {boxed.outside}"),
            mounts=(HostMount("v", str(boxed.outside), f"{boxed.outside}/added/here"),),
        )
        assert log.decode().split() == sorted([*before, "added"])
        assert sorted(os.listdir(boxed.outside)) == before

    async def test_the_data_folder_is_hidden_but_not_the_volumes_in_it(self, boxed: World) -> None:
        home = boxed.data / "homes" / "alice"
        home.mkdir(parents=True)
        (home / "proj").mkdir()
        mounts = (HostMount("userhome", str(home), "/userhome"),)
        _, log = await boxed.run(shell(f"ls -A {boxed.data}; ls /userhome"), mounts=mounts)
        assert log == b"proj\n"
        _, log = await boxed.run(shell("pwd"), mounts=mounts, workdir=str(home / "proj"))
        assert log == b"/userhome/proj\n"

    async def test_host_folders_work_as_before(self, boxed: World) -> None:
        task, log = await boxed.run(shell("pwd; echo x > made"), workdir=str(boxed.outside))
        assert log.decode().strip() == str(boxed.outside)
        assert (boxed.outside / "made").exists()
        assert task.exit_code == 0

    async def test_shared_memory_has_the_size_asked_for(self, boxed: World) -> None:
        size = Resources(GpuRequest(), 1.0, 1 << 30, 3 << 20)
        _, log = await boxed.run(shell("df --output=size -B1 /dev/shm | tail -1"), resources=size)
        assert int(log) == 3 << 20

    async def test_no_privileges_and_only_its_own_processes(self, boxed: World) -> None:
        _, log = await boxed.run(
            shell(
                "grep -h -E 'CapPrm|CapEff|NoNewPrivs' /proc/self/status;"
                "ls /proc | grep -c '^[0-9]'"
            )
        )
        words = log.decode().split()
        assert words[1] == words[3] == "0" * 16
        assert words[5] == "1"
        assert int(words[6]) < 8

    async def test_its_keeper_gives_nothing_away(self, boxed: World) -> None:
        task, log = await boxed.run(
            shell(
                "cat /proc/1/environ /proc/1/mem; ls /proc/1/root; cat /proc/1/fd/5;"
                "kill -9 1; echo on"
            )
        )
        assert task.exit_code == 0
        assert log.endswith(b"on\n")
        assert log.count(b"ermission denied") >= 4

    async def test_the_root_folder_takes_no_files(self, boxed: World) -> None:
        task, _ = await boxed.run(shell("touch /made-by-task"))
        assert task.exit_code != 0
        assert not os.path.exists("/made-by-task")

    async def test_a_missing_volume_is_named(self, boxed: World) -> None:
        gone = str(boxed.outside / "gone")
        task, log = await boxed.run(argv("true"), mounts=(HostMount("v", gone, "/v"),))
        assert (task.exit_code, task.hint) == (125, "launch_failed")
        assert gone in task.detail
        assert gone.encode() in log

    async def test_without_namespaces_places_are_given_by_variables_and_links(
        self, plain: World
    ) -> None:
        home, fast = plain.outside / "home", plain.outside / "fast"
        home.mkdir()
        fast.mkdir()
        (home / "proj").mkdir()
        _, log = await plain.run(
            shell(
                "echo $HOME $DANLU_USERHOME $DANLU_VOLUME_FAST; readlink $DANLU_VOLUMES/fast; pwd"
            ),
            mounts=(
                HostMount("userhome", str(home), "/userhome"),
                HostMount("fast", str(fast), "/fast"),
            ),
            workdir="/userhome/proj",
        )
        assert log.decode().split() == [str(home), str(home), str(fast), str(fast), f"{home}/proj"]

    @as_root
    async def test_another_user_owns_what_the_task_makes(self, boxed: World) -> None:
        who = Identity("alice", uid=12345, gid=12346, groups=(12347,))
        home = HostMount("userhome", str(boxed.outside), "/userhome")
        task, log = await boxed.run(
            shell("id -u; id -G; touch /userhome/made; grep CapEff /proc/self/status"),
            identity=who,
            mounts=(home,),
        )
        assert task.exit_code == 0
        assert log.decode().split()[:3] == ["12345", "12346", "12347"]
        assert log.decode().split()[-1] == "0" * 16
        assert (boxed.outside / "made").stat().st_uid == 12345

    @pytest.mark.skipif(ROOT, reason="root may")
    async def test_another_user_is_refused_without_root(self, world: World) -> None:
        with pytest.raises(Refused, match="not root"):
            world.engine.plan(world.launch(argv("true"), identity=Identity("bob", uid=1)))


class TestWhenThingsDie:
    @pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM])
    async def test_a_dead_spawner_is_replaced_and_harms_nobody(
        self, world: World, signal_number: int
    ) -> None:
        running = await world.begin(shell("read x; exit 3"), stdin=Stdin.PIPE)
        await (await world.engine.attach(TaskRef(running, 0, JOB))).close()
        spawner = engine_of(world)._spawner.pid
        assert spawner is not None
        os.kill(spawner, signal_number)
        await eventually(lambda: not linux.start_time(spawner))
        assert (await world.run(argv("true")))[0].exit_code == 0
        attached = await world.engine.attach(TaskRef(running, 0, JOB))
        await attached.send(b"\n")
        assert (await world.ended(running))[0].exit_code == 3

    async def test_a_killed_keeper_is_noticed_and_its_tree_is_ended(self, boxed: World) -> None:
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
        self, plain: World
    ) -> None:
        name = token()
        attempt = await plain.begin(shell(f"sleep {name} & setsid sleep {name} & wait"))
        await eventually(lambda: len(processes_with(name)) == 2)
        os.kill(keeper_of(plain, attempt), signal.SIGKILL)
        assert (await plain.ended(attempt))[0].phase is Phase.LOST
        await eventually(lambda: not processes_with(name))

    async def test_a_killed_server_leaves_its_tasks_and_their_output_whole(
        self, tmp_path: Path, world: World
    ) -> None:
        data = tmp_path / "other"
        data.mkdir()
        code = (
            "import asyncio, os, signal, sys\n"
            "from pathlib import Path\n"
            "from tests.engines import conftest\n"
            "from tests.engines.world import World, shell\n"
            "async def main():\n"
            "    world = World(conftest.with_namespaces, Path(sys.argv[1]))\n"
            "    await world.start()\n"
            "    text = 'for i in $(seq 30); do echo line $i; sleep 0.02; done; exit 11'\n"
            "    print(await world.begin(shell(text)), flush=True)\n"
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
        after = World.__new__(World)
        after.__dict__.update(world.__dict__)
        after.engine = conftest.local(data / "data")
        await after.engine.start()
        assert (await after.ended(attempt))[0].exit_code == 11
        lines = (await after.output(attempt)).decode().splitlines()
        assert lines == [f"line {i}" for i in range(1, 31)]
        await after.engine.sweep(frozenset())
        await after.engine.close()

    async def test_a_machine_that_restarted_is_told_apart(self, world: World) -> None:
        folder = str(world.data / "run" / attempt_id())
        make_folder(folder, 1)
        claim_as(folder, 0, pid=os.getpid(), boot="another boot")
        attempt = load(folder)
        assert attempt is not None
        seen = look(attempt, attempt.tasks[0], linux.boot_id())
        assert (seen.phase, seen.hint) == (Phase.LOST, "machine_restarted")

    async def test_a_pid_that_changed_hands_is_never_signalled(self, world: World) -> None:
        innocent = subprocess.Popen(["sleep", "600"])
        attempt = attempt_id()
        folder = str(world.data / "run" / attempt)
        make_folder(folder, 1)
        claim_as(folder, 0, pid=innocent.pid, start=1)
        task = (await world.stop(attempt, 0))[0]
        assert task.phase is Phase.LOST
        await world.engine.sweep(frozenset())
        assert innocent.poll() is None
        innocent.kill()
        innocent.wait()

    async def test_half_a_gang_is_reported_so_that_it_can_be_stopped(self, world: World) -> None:
        attempt = attempt_id()
        folder = str(world.data / "run" / attempt)
        make_folder(folder, 2)
        stand_in = subprocess.Popen(["sleep", "600"])
        claim_as(folder, 0, pid=stand_in.pid)
        seen = await world.engine.settle(attempt)
        assert seen is not None
        assert [task.phase for task in seen.tasks] == [Phase.RUNNING, Phase.LOST]
        assert "interrupted" in seen.tasks[1].detail
        assert record.claim(folder, 1, {"pid": 1}) is None
        await world.stop(attempt, 30)
        assert stand_in.wait() == -signal.SIGTERM

    async def test_an_unfinished_launch_is_given_up_after_a_restart(self, world: World) -> None:
        attempt = attempt_id()
        make_folder(str(world.data / "run" / attempt), 1)
        await world.restart()
        assert (await world.ended(attempt))[0].phase is Phase.LOST
        assert await world.engine.settle(attempt) is None

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


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(bytes(4096))


def mount_small(disk: Path, size: str) -> None:
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], check=True)


def unmount(disk: Path) -> None:
    subprocess.run(["umount", "-l", disk], check=True)


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


class TestLimits:
    @as_root
    async def test_too_much_memory_is_named_as_the_cause(self, world: World) -> None:
        if "memory" not in engine_of(world).abilities.controllers:
            pytest.skip(f"no memory cgroup: {engine_of(world).abilities.cgroup_why_not}")
        small = Resources(GpuRequest(), 1.0, 64 << 20, 1 << 20)
        task, _ = await world.run(
            argv(sys.executable, "-c", "x = b'1' * 400_000_000"), resources=small
        )
        assert task.hint == "out_of_memory"
        assert task.exit_code != 0

    @as_root
    async def test_groups_of_ended_tasks_are_removed(self, world: World) -> None:
        abilities = engine_of(world).abilities
        if not abilities.cgroup:
            pytest.skip(abilities.cgroup_why_not)
        attempt = await world.begin(argv("sleep", "600"))
        await eventually(lambda: os.path.exists(f"{abilities.cgroup_bases[0]}/{attempt}.0"))
        await world.stop(attempt, 0)
        await world.engine.forget(attempt)
        for base in abilities.cgroup_bases:
            assert os.listdir(base).count(f"{attempt}.0") == 0

    async def test_a_flood_of_output_takes_no_memory(self, world: World) -> None:
        attempt = await world.begin(
            shell("head -c 300000000 /dev/zero; echo done >&2; sleep 600"),
            split_output=True,
            log_cap=20_000_000,
        )
        ref = TaskRef(attempt, 0, JOB)
        await eventually(lambda: os.path.exists(engine_of(world)._logs.path(ref, "err")))
        while await world.engine.log_size(ref, "err") == 0:
            await world.engine.log_grew(ref, "err", 0, 1)
        status = Path(f"/proc/{keeper_of(world, attempt)}/status").read_text()
        resident = int(status.split("VmHWM:")[1].split()[0])
        assert resident < 40_000
        assert await world.engine.log_size(ref, "out") < 20_001_000
        await world.stop(attempt, 0)

    @as_root
    async def test_a_full_disk(self, tmp_path: Path) -> None:
        """The gap in the log is marked, the status survives, new work is refused clearly."""
        disk = tmp_path / "disk"
        mount_small(disk, "2m")
        try:
            world = World(conftest.with_namespaces, disk)
            await world.start()
            await self._fill(world, disk)
            await world.close()
        finally:
            unmount(disk)

    async def _fill(self, world: World, disk: Path) -> None:
        attempt = await world.begin(
            shell("echo before; read x; head -c 50000 /dev/zero; read x; echo after; exit 7"),
            stdin=Stdin.PIPE,
        )
        await world.printed(attempt, b"before")
        stuffing = disk / "stuffing"
        fill(stuffing)
        with pytest.raises(Unreachable, match=r"nothing was started: .*[Nn]o space"):
            launch = world.launch(argv("true"))
            await world.engine.launch(launch, world.engine.plan(launch))
        attached = await world.engine.attach(TaskRef(attempt, 0, JOB))
        await attached.send(b"\n")
        await asyncio.sleep(0.3)
        stuffing.unlink()
        await attached.send(b"\n")
        assert (await world.ended(attempt))[0].exit_code == 7
        log = await world.output(attempt)
        assert log.startswith(b"before\n")
        assert b"bytes of output were lost here: no space left on device" in log
        assert log.endswith(b"after\n")
        assert (await world.run(argv("true")))[0].exit_code == 0

    @as_root
    async def test_a_status_is_kept_on_a_disk_that_stays_full(self, tmp_path: Path) -> None:
        disk = tmp_path / "disk"
        mount_small(disk, "1m")
        try:
            world = World(conftest.with_namespaces, disk)
            await world.start()
            attempt = await world.begin(shell("read x; echo lost; exit 9"), stdin=Stdin.PIPE)
            attached = await world.engine.attach(TaskRef(attempt, 0, JOB))
            fill(disk / "stuffing")
            await attached.send(b"\n")
            assert (await world.ended(attempt))[0].exit_code == 9
            await world.restart()
            assert (await world.ended(attempt))[0].exit_code == 9
            await world.close()
        finally:
            unmount(disk)


class TestTheMachine:
    async def test_abilities_say_what_was_found_and_why_not(self, plain: World) -> None:
        abilities = engine_of(plain).abilities
        assert not abilities.namespaces
        assert abilities.namespaces_why_not == "off by configuration"
        assert abilities.cgroup is None
        assert abilities.cgroup_why_not == "off by configuration"
        assert abilities.tree == "marker"
        assert all(len(text) == 2 and all(text) for text in TREE_GUARANTEES.values())

    async def test_without_declared_nodes_there_is_this_machine(self, tmp_path: Path) -> None:
        from danlu.engines.local.config import LocalConfig

        engine = LocalEngine(LocalConfig(tmp_path))
        await engine.start()
        nodes = (await engine.inventory()).nodes
        await engine.close()
        assert len(nodes) == 1
        assert nodes[0].cpus == len(os.sched_getaffinity(0))
        assert nodes[0].memory > 1 << 20

    async def test_declared_cards_are_shown(self, world: World) -> None:
        first, second = (await world.engine.inventory()).nodes
        assert [(card.index, card.model) for card in first.gpus] == [
            (index, "RTX3090") for index in range(4)
        ]
        assert second.gpus == ()

    def test_the_spawner_loads_nothing_heavy(self) -> None:
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); "
            "import danlu.engines.local.keeper.spawner; print(*sys.modules)"
        )
        source = str(Path(linux.__file__).parents[4])
        result = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code, source], stdout=subprocess.PIPE, check=True
        )
        loaded = set(result.stdout.decode().split())
        assert not loaded & {
            "asyncio",
            "dataclasses",
            "inspect",
            "logging",
            "subprocess",
            "pathlib",
        }
        ours = {name for name in loaded if name.startswith("danlu.")}
        assert all(
            name in ("danlu.engines", "danlu.engines.local")
            or name.startswith("danlu.engines.local.keeper")
            for name in ours
        )

    @as_root
    @pytest.mark.slow
    @pytest.mark.parametrize("which", ["TestLocalWithNamespaces", "TestLocalBare"])
    def test_all_of_it_without_root(
        self, which: str, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """The conformance suite and this module again, as a user with no rights at all."""
        base = Path("/tmp") / f"danlu-test-{os.getpid()}-{which}"
        base.mkdir(mode=0o777)
        base.chmod(0o777)
        nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        repo = Path(__file__).parents[2]
        if subprocess.run([*nobody, "test", "-r", __file__], check=False).returncode:
            pytest.skip("this checkout cannot be read by others")
        result = subprocess.run(
            [
                *nobody, sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
                f"--basetemp={base}/t", "-k", f"{which} or test_local.py",
                "tests/engines/test_conformance.py", "tests/engines/test_local.py",
            ],
            cwd=repo,
            env={"PATH": os.environ["PATH"], "HOME": str(base), "LANG": "C.UTF-8"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        subprocess.run(["rm", "-rf", base], check=True)
        assert result.returncode == 0, result.stdout.decode()[-6000:]
        assert " passed" in result.stdout.decode()
