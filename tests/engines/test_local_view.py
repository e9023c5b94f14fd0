# ruff: noqa: ASYNC221, ASYNC240 - a test may block its own loop
"""What a task of the local engine sees, and as whom."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from danlu.engines.api import HostMount, Identity, Refused
from danlu.spec.job import GpuRequest, Resources
from tests.engines import conftest
from tests.engines.conftest import ROOT, as_root, engine_of
from tests.engines.harness import (
    EngineHarness,
    argv,
    shell,
)
from tests.engines.local_harness import LocalHarness


class TestWhatATaskSees:
    async def test_volumes_at_paths_the_host_does_not_have(self, boxed: EngineHarness) -> None:
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

    async def test_a_volume_beside_what_the_host_has(self, boxed: EngineHarness) -> None:
        """The host's folder goes on showing what it shows."""
        before = sorted(os.listdir(boxed.outside))
        _, log = await boxed.run(
            shell(f"ls {boxed.outside}"),
            mounts=(HostMount("v", str(boxed.outside), f"{boxed.outside}/added/here"),),
        )
        assert log.decode().split() == sorted([*before, "added"])
        assert sorted(os.listdir(boxed.outside)) == before

    async def test_the_data_folder_is_hidden_but_not_the_volumes_in_it(
        self, boxed: EngineHarness
    ) -> None:
        home = boxed.data / "homes" / "alice"
        home.mkdir(parents=True)
        (home / "proj").mkdir()
        mounts = (HostMount("userhome", str(home), "/userhome"),)
        _, log = await boxed.run(shell(f"ls -A {boxed.data}; ls /userhome"), mounts=mounts)
        assert log == b"proj\n"
        _, log = await boxed.run(shell("pwd"), mounts=mounts, workdir=str(home / "proj"))
        assert log == b"/userhome/proj\n"

    async def test_host_folders_work_as_before(self, boxed: EngineHarness) -> None:
        task, log = await boxed.run(shell("pwd; echo x > made"), workdir=str(boxed.outside))
        assert log.decode().strip() == str(boxed.outside)
        assert (boxed.outside / "made").exists()
        assert task.exit_code == 0

    async def test_shared_memory_has_the_size_asked_for(self, boxed: EngineHarness) -> None:
        size = Resources(GpuRequest(), 1.0, 1 << 30, 3 << 20)
        _, log = await boxed.run(shell("df --output=size -B1 /dev/shm | tail -1"), resources=size)
        assert int(log) == 3 << 20

    async def test_no_privileges_and_only_its_own_processes(self, boxed: EngineHarness) -> None:
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

    async def test_its_keeper_gives_nothing_away(self, boxed: EngineHarness) -> None:
        task, log = await boxed.run(
            shell(
                "cat /proc/1/environ /proc/1/mem; ls /proc/1/root; cat /proc/1/fd/5;"
                "kill -9 1; echo on"
            )
        )
        assert task.exit_code == 0
        assert log.endswith(b"on\n")
        assert log.count(b"ermission denied") >= 4

    async def test_the_root_folder_takes_no_files(self, boxed: EngineHarness) -> None:
        task, _ = await boxed.run(shell("touch /made-by-task"))
        assert task.exit_code != 0
        assert not os.path.exists("/made-by-task")

    async def test_a_missing_volume_is_named(self, boxed: EngineHarness) -> None:
        gone = str(boxed.outside / "gone")
        task, log = await boxed.run(argv("true"), mounts=(HostMount("v", gone, "/v"),))
        assert (task.exit_code, task.hint) == (125, "launch_failed")
        assert gone in task.detail
        assert gone.encode() in log

    async def test_without_namespaces_places_are_given_by_variables_and_links(
        self, plain: EngineHarness
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
    async def test_another_user_owns_what_the_task_makes(self, boxed: EngineHarness) -> None:
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
    async def test_another_user_is_refused_without_root(self, harness: EngineHarness) -> None:
        with pytest.raises(Refused, match="not root"):
            harness.engine.plan(harness.launch(argv("true"), identity=Identity("bob", uid=1)))

    @as_root
    async def test_mounts_made_after_the_server_started_are_seen(
        self, boxed: EngineHarness
    ) -> None:
        await boxed.run(argv("true"))
        disk = boxed.outside / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", disk], check=True)
        try:
            (disk / "file").write_text("late\n")
            _, log = await boxed.run(argv("cat", str(disk / "file")))
        finally:
            subprocess.run(["umount", disk], check=True)
        assert log == b"late\n"

    async def test_more_folders_can_be_hidden(self, tmp_path: Path) -> None:
        secret = tmp_path / "secret"
        secret.mkdir()
        (secret / "token").write_text("x")
        harness = LocalHarness(lambda data: conftest.local(data, hide=(secret,)), tmp_path)
        await harness.start()
        if engine_of(harness).abilities.namespaces:
            _, log = await harness.run(shell(f"ls -A {secret}"))
            assert log == b""
        await harness.close()
