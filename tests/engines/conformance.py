"""What every engine must do. A test module names its engines and inherits this suite.

Nothing here knows how an engine works: only the contract is used, and the traces that commands
leave in a folder outside.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from dataclasses import replace

import pytest

from danlu.engines.api import (
    Duplex,
    Engine,
    HostMount,
    InDoubt,
    Launch,
    Phase,
    Refused,
    TaskRef,
    Tty,
)
from danlu.engines.peers import ports_needed
from danlu.spec.job import GpuRequest, Processes, Resources, Stdin
from tests.engines.world import (
    JOB,
    PATIENCE,
    World,
    argv,
    attempt_id,
    eventually,
    processes_with,
    script,
    shell,
    token,
)

ESCAPE = """
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3): os.close(fd)
        os.execve("/bin/sleep", ["sleep", sys.argv[1]], {})
    os._exit(0)
os.wait()
"""


async def heard(duplex: Duplex) -> bytes:
    data = b""
    async with asyncio.timeout(PATIENCE):
        while (piece := await duplex.receive()) is not None:
            data += piece[1]
    return data


class Endings:
    @pytest.mark.parametrize("code", [0, 1, 42, 255])
    async def test_the_exit_code_is_the_commands_own(self, world: World, code: int) -> None:
        task, _ = await world.run(shell(f"exit {code}"))
        assert (task.phase, task.exit_code, task.signal) == (Phase.EXITED, code, None)

    async def test_an_end_by_a_signal_names_the_signal(self, world: World) -> None:
        task, _ = await world.run(shell("kill -USR1 $$"))
        assert (task.exit_code, task.signal) == (128 + 10, 10)

    async def test_start_and_end_are_in_order(self, world: World) -> None:
        task, _ = await world.run(argv("true"))
        assert task.started_at is not None
        assert task.ended_at is not None
        assert task.started_at <= task.ended_at

    async def test_a_missing_program_is_named(self, world: World) -> None:
        task, log = await world.run(argv("no-such-program", "x"))
        assert (task.exit_code, task.hint) == (127, "command_not_found")
        assert "no-such-program" in task.detail
        assert b"no-such-program" in log

    async def test_a_missing_working_folder_is_named(self, world: World) -> None:
        missing = str(world.outside / "gone")
        task, log = await world.run(argv("true"), workdir=missing)
        assert (task.exit_code, task.hint, task.detail) == (126, "workdir_missing", missing)
        assert missing.encode() in log

    async def test_a_file_that_cannot_run_is_named(self, world: World) -> None:
        path = world.outside / "data.txt"
        path.write_text("not a program")
        task, _ = await world.run(argv(str(path)))
        assert (task.exit_code, task.hint) == (126, "not_executable")
        assert str(path) in task.detail

    async def test_processes_left_behind_end_with_their_command(self, world: World) -> None:
        name = token()
        task, _ = await world.run(shell(f"sleep {name} & exit 0"))
        assert task.exit_code == 0
        await eventually(lambda: not processes_with(name))

    async def test_a_daemon_that_wiped_its_environment_ends_with_its_command(
        self, world: World
    ) -> None:
        name = token()
        task, _ = await world.run(argv(sys.executable, "-c", ESCAPE, name))
        assert task.exit_code == 0
        await eventually(lambda: not processes_with(name))


class Commands:
    async def test_words_reach_the_program_unchanged(self, world: World) -> None:
        words = ["a b", "$HOME", "*", "", "'\"", "中文", "-n"]
        _, log = await world.run(
            argv(sys.executable, "-c", "import sys; print(sys.argv[1:])", *words)
        )
        assert log.decode().strip() == str(words)

    async def test_a_script_may_be_a_link_relative_to_the_working_folder(
        self, world: World
    ) -> None:
        (world.outside / "real.sh").write_text("#!/bin/sh\necho ran with $1\n")
        (world.outside / "real.sh").chmod(0o755)
        (world.outside / "start").symlink_to("real.sh")
        _, log = await world.run(script("start", "five"), workdir=str(world.outside))
        assert log == b"ran with five\n"

    async def test_a_script_without_the_executable_bit_runs_in_a_shell(self, world: World) -> None:
        (world.outside / "plain.sh").write_text("echo hello\n")
        _, log = await world.run(script("./plain.sh"), workdir=str(world.outside))
        assert log == b"hello\n"

    async def test_a_link_to_nothing_says_so(self, world: World) -> None:
        (world.outside / "start").symlink_to("nowhere.sh")
        task, _ = await world.run(script("start"), workdir=str(world.outside))
        assert task.hint == "command_not_found"
        assert "nowhere.sh" in task.detail

    async def test_the_environment_is_given_and_the_servers_own_is_not(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SERVER_ONLY", "1")
        _, log = await world.run(
            argv("env"), env={"LR": "0.1", "NOTE": "a\nb"}, secrets={"KEY": "hidden value"}
        )
        assert b"LR=0.1\n" in log
        assert b"NOTE=a\nb\n" in log
        assert b"KEY=hidden value\n" in log
        assert b"SERVER_ONLY" not in log

    async def test_a_secret_is_shown_nowhere(self, world: World) -> None:
        launch = world.launch(argv("sleep", "60"), secrets={"KEY": "s3cr3t-value"})
        plan = world.engine.plan(launch)
        assert "s3cr3t-value" not in plan.text
        assert "KEY=***" in plan.text
        assert "s3cr3t-value" not in repr(plan)
        attempt = await world.begin(argv("sleep", "60"), secrets={"KEY": "s3cr3t-value"})
        for path in world.data.rglob("*"):
            if path.is_file():
                assert b"s3cr3t-value" not in path.read_bytes(), path
        await world.stop(attempt, 0)

    async def test_signals_and_descriptors_are_as_in_a_fresh_shell(self, world: World) -> None:
        _, log = await world.run(
            shell("grep -E 'SigIgn|SigBlk' /proc/self/status; ls /proc/self/fd; umask")
        )
        _, blocked, _, ignored, *descriptors, umask = log.decode().split()
        assert int(blocked, 16) == 0
        # Signals 32 and 33 are the C library's own.
        assert int(ignored, 16) & ~(0b11 << 31) == 0
        assert descriptors == ["0", "1", "2", "3"]  # the last is ls reading the folder
        assert umask == "0022"

    async def test_tasks_without_cards_see_none(self, world: World) -> None:
        _, log = await world.run(shell('echo "[$CUDA_VISIBLE_DEVICES]"'))
        assert log == b"[]\n"

    async def test_tasks_see_their_cards_only(self, world: World) -> None:
        _, log = await world.run(shell("echo $CUDA_VISIBLE_DEVICES"), gpus=[(0, 2)])
        assert log == b"0,2\n"

    async def test_home_is_the_users_folder(self, world: World) -> None:
        home = world.outside / "alice"
        home.mkdir()
        await world.run(
            shell("echo kept > $HOME/note"), mounts=(HostMount("userhome", str(home), "/userhome"),)
        )
        assert (home / "note").read_text() == "kept\n"


class Once:
    async def test_launched_twice_at_once_it_runs_once(self, world: World) -> None:
        runs = world.outside / "runs"
        launch = world.launch(shell(f"echo run >> {runs}"), attempt=attempt_id())
        plan = world.engine.plan(launch)
        results = await asyncio.gather(
            *(world.engine.launch(launch, plan) for _ in range(8)), return_exceptions=True
        )
        handles = {result for result in results if isinstance(result, str)}
        if handles:
            assert len(handles) == 1
            await world.ended(launch.attempt_id)
        elif await world.again(lambda: world.engine.settle(launch.attempt_id)):
            await world.ended(launch.attempt_id)
        assert not runs.exists() or runs.read_text() == "run\n"

    async def test_launched_again_after_its_end_it_does_not_run_again(self, world: World) -> None:
        runs = world.outside / "runs"
        attempt = await world.begin(shell(f"echo run >> {runs}"))
        await world.ended(attempt)
        launch = world.launch(shell(f"echo run >> {runs}"), attempt=attempt)
        handle = await world.again(lambda: world.engine.launch(launch, world.engine.plan(launch)))
        assert handle == attempt
        await world.restart()
        assert (await world.again(lambda: world.engine.settle(attempt))) is not None
        assert runs.read_text() == "run\n"

    async def test_what_was_settled_as_never_started_never_starts(self, world: World) -> None:
        ran = world.outside / "ran"
        attempt = attempt_id()
        assert await world.again(lambda: world.engine.settle(attempt)) is None
        launch = world.launch(shell(f"touch {ran}"), attempt=attempt)
        with pytest.raises((Refused, InDoubt)):
            await world.again_unless_in_doubt(
                lambda: world.engine.launch(launch, world.engine.plan(launch))
            )
        assert await world.again(lambda: world.engine.settle(attempt)) is None
        assert not ran.exists()

    async def test_settling_races_with_launching_and_both_agree(self, world: World) -> None:
        """As when a restarted server settles what its predecessor's launch is still about to do."""
        other = await world.another()
        outcomes: set[bool] = set()
        for number in range(120):
            ran = world.outside / f"ran-{number}"
            launch = world.launch(shell(f"echo x >> {ran}"))

            settled = await race(world, other, launch, number % 12 / 4000)
            outcomes.add(settled)
            if settled:
                await world.ended(launch.attempt_id)
                assert ran.read_text() == "x\n"
            else:
                assert not await race(world, other, launch, 0)
                assert not ran.exists()
        assert outcomes == {True, False}, "the race had one side only: change its pauses"

    async def test_an_old_leader_is_refused(self, world: World) -> None:
        await world.run(argv("true"), epoch=7)
        late = world.launch(argv("true"), epoch=6)
        with pytest.raises(Refused, match="epoch"):
            await world.again(lambda: world.engine.launch(late, world.engine.plan(late)))
        await world.restart()
        with pytest.raises(Refused, match="epoch"):
            await world.again(lambda: world.engine.launch(late, world.engine.plan(late)))

    async def test_a_plan_is_the_same_each_time(self, world: World) -> None:
        launch = world.launch(argv("true"), env={"A": "1"})
        assert world.engine.plan(launch) == world.engine.plan(launch)

    async def test_an_unknown_node_is_refused(self, world: World) -> None:
        launch = world.launch(argv("true"))
        places = tuple(replace(place, node="nowhere") for place in launch.places or ())
        with pytest.raises(Refused, match="nowhere"):
            world.engine.plan(replace(launch, places=places))


class Gangs:
    async def test_all_tasks_of_a_gang_run_and_know_each_other(self, world: World) -> None:
        launch = world.launch(argv("true"), count=3)
        ports = [
            world.engine.ports.lease(world.node, ports_needed(task, 3)) for task in launch.tasks
        ]
        attempt = await world.begin(
            shell('echo "$RANK/$WORLD_SIZE $MASTER_ADDR:$MASTER_PORT"'), count=3, ports=ports
        )
        tasks = await world.ended(attempt)
        assert [task.exit_code for task in tasks] == [0, 0, 0]
        logs = [await world.output(attempt, index) for index in range(3)]
        heads = [log.decode().split()[0] for log in logs]
        assert heads == ["0/3", "1/3", "2/3"]
        assert {log.split()[1] for log in logs} == {f"127.0.0.1:{ports[0][0]}".encode()}

    async def test_each_task_ends_on_its_own(self, world: World) -> None:
        attempt = await world.begin(shell("exit $DANLU_TASK_INDEX"), count=3)
        tasks = await world.ended(attempt)
        assert [task.exit_code for task in tasks] == [0, 1, 2]

    async def test_one_process_per_card_has_a_local_rank(self, world: World) -> None:
        two = Resources(GpuRequest(2), 1.0, 1 << 30, 1 << 26)
        attempt = await world.begin(
            shell('echo "$RANK $LOCAL_RANK $WORLD_SIZE" >> ' + str(world.outside / "ranks")),
            count=2,
            gpus=[(0, 1), (2, 3)],
            ports=[(1,), (2,)],
            processes=Processes.PER_GPU,
            resources=two,
        )
        await world.ended(attempt)
        ranks = sorted((world.outside / "ranks").read_text().splitlines())
        assert ranks == ["0 0 4", "1 1 4", "2 0 4", "3 1 4"]

    async def test_the_first_failing_process_ends_its_task(self, world: World) -> None:
        name = token()
        attempt = await world.begin(
            shell(f'[ "$LOCAL_RANK" = 1 ] && exit 9; exec sleep {name}'),
            gpus=[(0, 1, 2)],
            ports=[(1,)],
            processes=Processes.PER_GPU,
        )
        tasks = await world.ended(attempt)
        assert tasks[0].exit_code == 9
        assert not processes_with(name)

    async def test_leased_ports_are_free_and_never_leased_twice(self, world: World) -> None:
        ports = world.engine.ports
        with socket.socket() as taken:
            first = ports.lease(world.node, 1)[0]
            ports.release((first,))
            taken.bind(("", first))
            taken.listen()
            many = [ports.lease(world.node, 3) for _ in range(10)]
        flat = [port for some in many for port in some]
        assert len(set(flat)) == 30
        assert first not in flat


class Stopping:
    async def test_a_polite_signal_comes_first(self, world: World) -> None:
        attempt = await world.begin(
            shell("trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.05; done")
        )
        await world.printed(attempt, b"ready")
        tasks = await world.stop(attempt, 60)
        assert tasks[0].exit_code == 3
        log = await world.output(attempt)
        assert log.startswith(b"ready\n")
        assert log.endswith(b"bye\n")

    async def test_a_command_that_ignores_it_is_killed_after_the_grace(self, world: World) -> None:
        name = token()
        attempt = await world.begin(shell(f"trap '' TERM; echo ready; sleep {name}; sleep {name}"))
        await world.printed(attempt, b"ready")
        tasks = await world.stop(attempt, 0.2)
        assert tasks[0].signal == 9
        await eventually(lambda: not processes_with(name))

    async def test_a_shorter_grace_overrides_a_longer_one(self, world: World) -> None:
        attempt = await world.begin(shell("trap '' TERM; echo ready; while :; do sleep 9; done"))
        await world.printed(attempt, b"ready")
        await world.again(lambda: world.engine.stop(attempt, 3600))
        assert (await world.stop(attempt, 0))[0].signal == 9

    async def test_nothing_escapes(self, world: World) -> None:
        """A daemon, in a session of its own, that wiped its environment and ignores signals."""
        name = token()
        attempt = await world.begin(
            shell(f"trap '' TERM; {sys.executable} -c '{ESCAPE}' {name}; echo ready; sleep 600")
        )
        await world.printed(attempt, b"ready")
        await eventually(lambda: processes_with(name))
        await world.stop(attempt, 0.1)
        await eventually(lambda: not processes_with(name))

    async def test_stopping_what_has_ended_or_never_was_is_no_error(self, world: World) -> None:
        attempt = await world.begin(argv("true"))
        await world.ended(attempt)
        await world.again(lambda: world.engine.stop(attempt, 1))
        await world.again(lambda: world.engine.stop(attempt_id(), 1))
        assert (await world.ended(attempt))[0].exit_code == 0

    async def test_a_whole_gang_is_stopped(self, world: World) -> None:
        name = token()
        attempt = await world.begin(argv("sleep", name), count=4)
        await eventually(lambda: len(processes_with(name)) == 4)
        tasks = await world.stop(attempt, 30)
        assert {task.signal for task in tasks} == {15}
        assert not processes_with(name)


class Logs:
    async def test_output_is_kept_byte_for_byte(self, world: World) -> None:
        data = os.urandom(3_000_000) + b"\xff\xfe\0\r\n\n\x1b[0m"
        (world.outside / "data").write_bytes(data)
        _, log = await world.run(argv("cat", str(world.outside / "data")))
        assert log == data

    async def test_both_streams_share_one_log_in_order(self, world: World) -> None:
        _, log = await world.run(shell("echo 1; echo 2 >&2; echo 3; echo 4 >&2"))
        assert log == b"1\n2\n3\n4\n"

    async def test_streams_can_be_split(self, world: World) -> None:
        attempt = await world.begin(shell("echo out; echo err >&2"), split_output=True)
        await world.ended(attempt)
        assert await world.output(attempt) == b"out\n"
        assert await world.output(attempt, stream="err") == b"err\n"

    async def test_reading_starts_and_ends_where_asked(self, world: World) -> None:
        attempt = await world.begin(shell("seq 1000000"))
        await world.ended(attempt)
        whole = "".join(f"{i}\n" for i in range(1, 1000001)).encode()
        ref = TaskRef(attempt, 0, JOB)
        assert await world.engine.log_size(ref, "out") == len(whole)
        for offset, limit in [(0, 1), (12345, 400_000), (len(whole) - 3, None), (len(whole), 5)]:
            end = None if limit is None else offset + limit
            pieces = [p async for p in world.engine.read_log(ref, "out", offset, limit)]
            assert b"".join(pieces) == whole[offset:end]

    async def test_a_log_can_be_found_without_its_job(self, world: World) -> None:
        attempt = await world.begin(shell("echo here"))
        await world.ended(attempt)
        pieces = [p async for p in world.engine.read_log(TaskRef(attempt, 0), "out", 0)]
        assert b"".join(pieces) == b"here\n"

    async def test_the_cap_cuts_with_a_clear_line_and_the_task_goes_on(self, world: World) -> None:
        done = world.outside / "done"
        task, log = await world.run(
            shell(f"yes 0123456 | head -c 3000000; touch {done}; exit 4"), log_cap=100_000
        )
        assert task.exit_code == 4
        assert done.exists()
        kept, rest = log[:100_000], log[100_000:].decode()
        assert kept == (b"0123456\n" * 12500)
        assert "limit" in rest
        assert "上限" in rest
        assert len(rest.splitlines()) == 1

    async def test_followers_are_told_of_growth_and_of_the_end(self, world: World) -> None:
        attempt = await world.begin(shell("read x; echo more"), stdin=Stdin.PIPE)
        ref = TaskRef(attempt, 0, JOB)
        grew = asyncio.create_task(world.engine.log_grew(ref, "out", 0, PATIENCE))
        ended = asyncio.create_task(world.engine.log_grew(ref, "out", 5, PATIENCE))
        await asyncio.sleep(0)
        attached = await world.engine.attach(ref)
        await attached.send(b"go\n")
        assert await grew is True
        assert await ended is False
        await world.ended(attempt)
        assert await world.engine.log_grew(ref, "out", 5, PATIENCE) is False

    async def test_a_loud_task_does_not_hold_up_a_quiet_one(self, world: World) -> None:
        loud = await world.begin(argv("yes"), log_cap=1 << 20)
        task, log = await world.run(shell("echo quiet"))
        assert (task.exit_code, log) == (0, b"quiet\n")
        await world.stop(loud, 0)


class Restarts:
    async def test_running_tasks_are_adopted(self, world: World) -> None:
        attempt = await world.begin(
            shell("for i in 1 2 3; do echo $i; read x; done; exit 5"), stdin=Stdin.PIPE
        )
        await world.printed(attempt, b"1\n")
        await world.restart()
        seen = await world.seen(attempt)
        assert seen is not None
        assert seen.tasks[0].phase is Phase.RUNNING
        attached = await world.engine.attach(TaskRef(attempt, 0, JOB))
        await attached.send(b"a\nb\nc\n")
        assert (await world.ended(attempt))[0].exit_code == 5
        assert await world.output(attempt) == b"1\n2\n3\n"

    async def test_an_end_without_a_server_is_not_lost(self, world: World) -> None:
        go = world.outside / "go"
        attempt = await world.begin(
            shell(f"until [ -e {go} ]; do sleep 0.02; done; echo late; exit 6")
        )
        await world.engine.close()
        go.touch()
        await asyncio.sleep(0.3)
        await world.restart()
        assert (await world.ended(attempt))[0].exit_code == 6
        assert await world.output(attempt) == b"late\n"

    async def test_an_order_to_stop_outlives_the_server(self, world: World) -> None:
        name = token()
        attempt = await world.begin(shell(f"trap '' TERM; echo ready; sleep {name}; sleep {name}"))
        await world.printed(attempt, b"ready")
        await world.again(lambda: world.engine.stop(attempt, 0.3))
        await world.engine.close()
        await eventually(lambda: not processes_with(name))
        await world.restart()
        assert (await world.ended(attempt))[0].signal == 9

    async def test_what_ended_before_the_restart_can_still_be_forgotten(self, world: World) -> None:
        attempt = await world.begin(argv("true"))
        await world.ended(attempt)
        await world.restart()
        await world.again(lambda: world.engine.forget(attempt))
        assert await world.seen(attempt) is None


class Observing:
    async def test_outside_the_scope_nothing_is_claimed(self, world: World) -> None:
        first = await world.begin(argv("true"))
        await world.ended(first)
        before = await world.again(lambda: world.engine.observe(None))
        assert first in before.scope
        second = await world.begin(argv("true"))
        await world.ended(second)
        since = await world.again(lambda: world.engine.observe(before.cursor))
        assert since.scope == {second}
        assert [seen.attempt_id for seen in since.seen] == [second]
        nothing = await world.again(lambda: world.engine.observe(since.cursor))
        assert nothing.scope == frozenset()

    async def test_a_foreign_cursor_means_everything(self, world: World) -> None:
        attempt = await world.begin(argv("true"))
        await world.ended(attempt)
        observation = await world.again(lambda: world.engine.observe("from-another-life:3"))
        assert attempt in observation.scope

    async def test_the_forgotten_is_absent_and_its_log_stays(self, world: World) -> None:
        attempt = await world.begin(shell("echo kept"))
        await world.ended(attempt)
        await world.again(lambda: world.engine.forget(attempt))
        await world.again(lambda: world.engine.forget(attempt))
        assert await world.seen(attempt) is None
        assert await world.output(attempt) == b"kept\n"

    async def test_leftovers_of_attempts_nobody_knows_are_ended(self, world: World) -> None:
        names = token(), token()
        stale = await world.begin(argv("sleep", names[0]))
        live = await world.begin(argv("sleep", names[1]))
        await eventually(lambda: processes_with(names[0]) and processes_with(names[1]))
        await world.restart()
        count = await world.again(lambda: world.engine.sweep(frozenset({live})))
        assert count >= 1
        await eventually(lambda: not processes_with(names[0]))
        assert processes_with(names[1])
        assert await world.seen(stale) is None
        await world.stop(live, 0)

    async def test_use_is_measured(self, world: World) -> None:
        text = "x = b'1' * 50_000_000\nprint('ready', flush=True)\nwhile True: pass"
        attempt = await world.begin(argv(sys.executable, "-c", text))
        await world.printed(attempt, b"ready")
        ref = TaskRef(attempt, 0, JOB)

        async def used() -> bool:
            usage = (await world.engine.usage())[ref]
            return usage.cpu_seconds > 0.1 and usage.memory > 50_000_000 and usage.processes == 1

        async with asyncio.timeout(PATIENCE):
            while not await used():  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.05)
        await world.stop(attempt, 0)


class Conversations:
    async def test_input_reaches_the_command_and_ends_when_told(self, world: World) -> None:
        attempt = await world.begin(argv("cat"), stdin=Stdin.PIPE)
        ref = TaskRef(attempt, 0, JOB)
        data = os.urandom(700_000)
        first = await world.engine.attach(ref)
        await first.send(data[:1000])
        await first.close()  # a client that goes away takes nothing with it
        second = await world.engine.attach(ref)
        await eventually_size(world, ref, 1000)
        await second.send(data[1000:])
        await second.send_eof()
        assert (await world.ended(attempt))[0].exit_code == 0
        assert await second.receive() is None
        assert await world.output(attempt) == data

    async def test_a_terminal_is_a_terminal(self, world: World) -> None:
        attempt = await world.begin(
            shell("tty -s && echo terminal; stty -echo; read x; stty size; echo got $x"),
            stdin=Stdin.TTY,
        )
        await world.printed(attempt, b"terminal")
        attached = await world.engine.attach(TaskRef(attempt, 0, JOB))
        await attached.resize(33, 111)
        await attached.send(b"word\n")
        await world.ended(attempt)
        assert b"33 111\r\ngot word" in await world.output(attempt)

    async def test_ctrl_c_on_the_terminal_interrupts(self, world: World) -> None:
        attempt = await world.begin(
            shell("trap 'echo stopped; exit 7' INT; echo ready; while :; do sleep 0.05; done"),
            stdin=Stdin.TTY,
        )
        await world.printed(attempt, b"ready")
        attached = await world.engine.attach(TaskRef(attempt, 0, JOB))
        await attached.send(b"\x03")
        assert (await world.ended(attempt))[0].exit_code == 7

    async def test_exec_runs_beside_the_command(self, world: World) -> None:
        attempt = await world.begin(argv("sleep", "600"), env={"MINE": "yes"})
        ref = TaskRef(attempt, 0, JOB)
        duplex = await world.engine.exec(
            ref, ["sh", "-c", "echo $MINE; cat; echo e >&2; exit 5"], None
        )
        await duplex.send(b"in\n")
        await duplex.send_eof()
        streams: dict[int, bytes] = {1: b"", 2: b""}
        while (piece := await duplex.receive()) is not None:
            streams[piece[0]] += piece[1]
        assert streams == {1: b"yes\nin\n", 2: b"e\n"}
        assert await duplex.exit_code() == 5
        assert await world.output(attempt) == b""
        await world.stop(attempt, 0)

    async def test_exec_on_a_terminal(self, world: World) -> None:
        attempt = await world.begin(argv("sleep", "600"))
        ref = TaskRef(attempt, 0, JOB)
        duplex = await world.engine.exec(
            ref, ["sh", "-c", "tty -s; echo tty=$? $TERM; stty size; read x; stty size"],
            Tty(50, 132, "vt100"),
        )  # fmt: skip
        data = b""
        while b"50 132" not in data:
            piece = await duplex.receive()
            assert piece is not None
            data += piece[1]
        assert b"tty=0 vt100" in data
        await duplex.resize(10, 20)
        await duplex.send(b"\n")
        assert b"10 20" in await heard(duplex)
        assert await duplex.exit_code() == 0
        await world.stop(attempt, 0)

    async def test_exec_of_a_missing_program_says_so(self, world: World) -> None:
        attempt = await world.begin(argv("sleep", "600"))
        duplex = await world.engine.exec(TaskRef(attempt, 0, JOB), ["no-such-program"], None)
        assert b"no-such-program" in await heard(duplex)
        assert await duplex.exit_code() == 127
        await world.stop(attempt, 0)

    async def test_exec_ends_with_the_task(self, world: World) -> None:
        name = token()
        attempt = await world.begin(argv("sleep", "600"))
        duplex = await world.engine.exec(TaskRef(attempt, 0, JOB), ["sleep", name], None)
        await eventually(lambda: processes_with(name))
        await world.stop(attempt, 0)
        assert await heard(duplex) == b""
        assert not processes_with(name)

    async def test_a_client_that_leaves_takes_its_exec_along(self, world: World) -> None:
        name = token()
        attempt = await world.begin(argv("sleep", "600"))
        duplex = await world.engine.exec(TaskRef(attempt, 0, JOB), ["sleep", name], None)
        await eventually(lambda: processes_with(name))
        await duplex.close()
        await eventually(lambda: not processes_with(name))
        seen = await world.seen(attempt)
        assert seen is not None
        assert seen.tasks[0].phase is Phase.RUNNING
        await world.stop(attempt, 0)

    async def test_talking_to_an_ended_task_is_refused(self, world: World) -> None:
        attempt = await world.begin(argv("true"))
        await world.ended(attempt)
        for call in (
            lambda: world.engine.exec(TaskRef(attempt, 0, JOB), ["true"], None),
            lambda: world.engine.attach(TaskRef(attempt, 0, JOB)),
            lambda: world.engine.connect(TaskRef(attempt, 0, JOB), 1),
        ):
            with pytest.raises(Refused):
                await call()

    async def test_a_port_of_the_task_can_be_reached(self, world: World) -> None:
        port = world.engine.ports.lease(world.node, 1)[0]
        text = (
            "import os, socket;"
            "s = socket.create_server(('127.0.0.1', int(os.environ['PORT_HTTP'])));"
            "print('ready', flush=True); c = s.accept()[0]; c.sendall(c.recv(9)[::-1])"
        )
        attempt = await world.begin(
            argv(sys.executable, "-c", text), ports=[(port,)], labels={"http": 1}
        )
        await world.printed(attempt, b"ready")
        duplex = await world.engine.connect(TaskRef(attempt, 0, JOB), port)
        await duplex.send(b"abc")
        assert await heard(duplex) == b"cba"
        await duplex.close()
        await world.ended(attempt)


async def race(world: World, other: Engine, launch: Launch, pause: float) -> bool:
    """Launch here and settle there at once. True: it was found to run."""

    async def late() -> object:
        await asyncio.sleep(pause)
        return await world.again(lambda: other.settle(launch.attempt_id))

    _, settled = await asyncio.gather(
        world.engine.launch(launch, world.engine.plan(launch)), late(), return_exceptions=True
    )
    assert not isinstance(settled, BaseException)
    return settled is not None


async def eventually_size(world: World, ref: TaskRef, size: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while await world.engine.log_size(ref, "out") < size:
            await world.engine.log_grew(ref, "out", 0, 0.1)


class Conformance(
    Endings, Commands, Once, Gangs, Stopping, Logs, Restarts, Observing, Conversations
):
    """All of it."""
