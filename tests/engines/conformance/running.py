"""A command: how it starts, what it gets, how it ends."""

from __future__ import annotations

import pytest

from danlu.engines.api import (
    HostMount,
    Phase,
)
from tests.engines.harness import (
    ESCAPE,
    EngineHarness,
    argv,
    script,
    shell,
    token,
)


class Endings:
    @pytest.mark.parametrize("code", [0, 1, 42, 255])
    async def test_the_exit_code_is_the_commands_own(
        self, harness: EngineHarness, code: int
    ) -> None:
        task, _ = await harness.run(shell(f"exit {code}"))
        assert (task.phase, task.exit_code, task.signal) == (Phase.EXITED, code, None)

    async def test_an_end_by_a_signal_names_the_signal(self, harness: EngineHarness) -> None:
        task, _ = await harness.run(shell("kill -USR1 $$"))
        assert (task.exit_code, task.signal) == (128 + 10, 10)

    async def test_start_and_end_are_in_order(self, harness: EngineHarness) -> None:
        task, _ = await harness.run(argv("true"))
        assert task.started_at is not None
        assert task.ended_at is not None
        assert task.started_at <= task.ended_at

    async def test_a_missing_program_is_named(self, harness: EngineHarness) -> None:
        task, log = await harness.run(argv("no-such-program", "x"))
        assert (task.exit_code, task.hint) == (127, "command_not_found")
        assert "no-such-program" in task.detail
        assert b"no-such-program" in log

    async def test_a_missing_working_folder_is_named(self, harness: EngineHarness) -> None:
        missing = str(harness.outside / "gone")
        task, log = await harness.run(argv("true"), workdir=missing)
        assert (task.exit_code, task.hint, task.detail) == (126, "workdir_missing", missing)
        assert missing.encode() in log

    async def test_a_file_that_cannot_run_is_named(self, harness: EngineHarness) -> None:
        path = harness.outside / "data.txt"
        path.write_text("not a program")
        task, _ = await harness.run(argv(str(path)))
        assert (task.exit_code, task.hint) == (126, "not_executable")
        assert str(path) in task.detail

    async def test_processes_left_behind_end_with_their_command(
        self, harness: EngineHarness
    ) -> None:
        name = token()
        task, _ = await harness.run(shell(f"sleep {name} & exit 0"))
        assert task.exit_code == 0
        await harness.until_gone(name)

    async def test_a_daemon_that_wiped_its_environment_ends_with_its_command(
        self, harness: EngineHarness
    ) -> None:
        name = token()
        task, _ = await harness.run(argv(harness.python, "-c", ESCAPE, name))
        assert task.exit_code == 0
        await harness.until_gone(name)


class Commands:
    async def test_words_reach_the_program_unchanged(self, harness: EngineHarness) -> None:
        words = ["a b", "$HOME", "*", "", "'\"", "中文", "-n"]
        _, log = await harness.run(
            argv(harness.python, "-c", "import sys; print(sys.argv[1:])", *words)
        )
        assert log.decode().strip() == str(words)

    async def test_a_script_may_be_a_link_relative_to_the_working_folder(
        self, harness: EngineHarness
    ) -> None:
        (harness.outside / "real.sh").write_text("#!/bin/sh\necho ran with $1\n")
        (harness.outside / "real.sh").chmod(0o755)
        (harness.outside / "start").symlink_to("real.sh")
        _, log = await harness.run(script("start", "five"), workdir=str(harness.outside))
        assert log == b"ran with five\n"

    async def test_a_script_without_the_executable_bit_runs_in_a_shell(
        self, harness: EngineHarness
    ) -> None:
        (harness.outside / "plain.sh").write_text("echo hello\n")
        _, log = await harness.run(script("./plain.sh"), workdir=str(harness.outside))
        assert log == b"hello\n"

    async def test_a_link_to_nothing_says_so(self, harness: EngineHarness) -> None:
        (harness.outside / "start").symlink_to("nowhere.sh")
        task, _ = await harness.run(script("start"), workdir=str(harness.outside))
        assert task.hint == "command_not_found"
        assert "nowhere.sh" in task.detail

    async def test_the_environment_is_given_and_the_servers_own_is_not(
        self, harness: EngineHarness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SERVER_ONLY", "1")
        _, log = await harness.run(
            argv("env"), env={"LR": "0.1", "NOTE": "a\nb"}, secrets={"KEY": "hidden value"}
        )
        assert b"LR=0.1\n" in log
        assert b"NOTE=a\nb\n" in log
        assert b"KEY=hidden value\n" in log
        assert b"SERVER_ONLY" not in log

    async def test_a_secret_is_shown_nowhere(self, harness: EngineHarness) -> None:
        launch = harness.launch(argv("sleep", "60"), secrets={"KEY": "s3cr3t-value"})
        plan = harness.engine.plan(launch)
        assert "s3cr3t-value" not in plan.text
        assert "KEY=***" in plan.text
        assert "s3cr3t-value" not in repr(plan)
        attempt = await harness.begin(argv("sleep", "60"), secrets={"KEY": "s3cr3t-value"})
        assert await harness.stored(b"s3cr3t-value") == []
        await harness.stop(attempt, 0)

    async def test_signals_and_descriptors_are_as_in_a_fresh_shell(
        self, harness: EngineHarness
    ) -> None:
        _, log = await harness.run(
            shell("grep -E 'SigIgn|SigBlk' /proc/self/status; ls /proc/self/fd; umask")
        )
        _, blocked, _, ignored, *descriptors, umask = log.decode().split()
        assert int(blocked, 16) == 0
        # Signals 32 and 33 are the C library's own.
        assert int(ignored, 16) & ~(0b11 << 31) == 0
        assert descriptors == ["0", "1", "2", "3"]  # the last is ls reading the folder
        assert umask == "0022"

    async def test_tasks_without_gpus_see_none(self, harness: EngineHarness) -> None:
        _, log = await harness.run(shell('echo "[$CUDA_VISIBLE_DEVICES]"'))
        assert log == b"[]\n"

    async def test_tasks_see_their_gpus_only(self, harness: EngineHarness) -> None:
        task, log = await harness.run(shell("echo $CUDA_VISIBLE_DEVICES"), gpus=[(0, 2)])
        gpus = task.gpus if harness.places_itself else (0, 2)
        assert len(gpus) == 2
        assert log.decode() == f"{gpus[0]},{gpus[1]}\n"

    async def test_home_is_the_users_folder(self, harness: EngineHarness) -> None:
        home = harness.outside / "alice"
        home.mkdir()
        await harness.run(
            shell("echo kept > $HOME/note"), mounts=(HostMount("userhome", str(home), "/userhome"),)
        )
        assert (home / "note").read_text() == "kept\n"
