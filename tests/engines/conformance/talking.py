"""Conversations with a task: input, exec, ports."""

from __future__ import annotations

import asyncio
import os
import struct
from functools import partial

import pytest

from danlu.engines.api import (
    Duplex,
    Endpoint,
    Phase,
    Refused,
    Run,
    TaskRef,
    Tty,
)
from danlu.spec.job import Stdin
from tests.engines.harness import (
    JOB,
    PATIENCE,
    EngineHarness,
    argv,
    shell,
    token,
)


async def heard(duplex: Duplex) -> bytes:
    data = b""
    async with asyncio.timeout(PATIENCE):
        while (piece := await duplex.receive()) is not None:
            data += piece[1]
    return data


async def until(duplex: Duplex, wanted: bytes) -> bytes:
    data = b""
    async with asyncio.timeout(PATIENCE):
        while wanted not in data:
            piece = await duplex.receive()
            assert piece is not None, data
            data += piece[1]
    return data


async def eventually_size(harness: EngineHarness, ref: TaskRef, size: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while await harness.engine.log_size(ref, "out") < size:
            await harness.engine.log_grew(ref, "out", 0, 0.1)


LISTENING = """
import os, socket, stat
folder = os.environ["DANLU_RUN"]
assert os.listdir(folder) == [], os.listdir(folder)
found = os.stat(folder)
assert (stat.S_IMODE(found.st_mode), found.st_uid) == (0o700, os.getuid()), found
listener = socket.socket(socket.AF_UNIX)
listener.bind(folder + "/greeting")
listener.listen()
print("ready", flush=True)
peer = listener.accept()[0]
peer.send(b"hello")
peer.shutdown(socket.SHUT_WR)
peer.recv(1)  # a task that ended at once might take the connection along before it is handed over
"""


class Conversations:
    async def test_a_task_has_a_folder_of_its_own_for_its_sockets(
        self, harness: EngineHarness
    ) -> None:
        """At the same path for everybody outside, whatever it is inside."""
        for _ in range(2):  # the next task may have the same keeper
            attempt = await harness.begin(argv(harness.python, "-c", LISTENING))
            await harness.printed(attempt, b"ready")
            to = Endpoint(path="/run/danlu/greeting")
            connect = partial(harness.engine.connect, TaskRef(attempt, 0, JOB), to)
            link = await harness.again(connect)
            assert await heard(link) == b"hello"
            await link.close()
            assert (await harness.ended(attempt))[0].exit_code == 0

    async def test_input_reaches_the_command_and_ends_when_told(
        self, harness: EngineHarness
    ) -> None:
        attempt = await harness.begin(argv("cat"), stdin=Stdin.PIPE)
        ref = TaskRef(attempt, 0, JOB)
        data = os.urandom(700_000)
        first = await harness.engine.attach(ref)
        await first.send(data[:1000])
        await first.close()  # a client that goes away takes nothing with it
        second = await harness.engine.attach(ref)
        await eventually_size(harness, ref, 1000)
        await second.send(data[1000:])
        await second.send_eof()
        assert (await harness.ended(attempt))[0].exit_code == 0
        assert await second.receive() is None
        assert await harness.output(attempt) == data

    async def test_a_terminal_is_a_terminal(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(
            shell("tty -s && echo terminal; stty -echo; read x; stty size; echo got $x"),
            stdin=Stdin.TTY,
        )
        await harness.printed(attempt, b"terminal")
        attached = await harness.engine.attach(TaskRef(attempt, 0, JOB))
        await attached.resize(33, 111)
        await attached.send(b"word\n")
        await harness.ended(attempt)
        assert b"33 111\r\ngot word" in await harness.output(attempt)

    async def test_ctrl_c_on_the_terminal_interrupts(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(
            shell("trap 'echo stopped; exit 7' INT; echo ready; while :; do sleep 0.05; done"),
            stdin=Stdin.TTY,
        )
        await harness.printed(attempt, b"ready")
        attached = await harness.engine.attach(TaskRef(attempt, 0, JOB))
        await attached.send(b"\x03")
        assert (await harness.ended(attempt))[0].exit_code == 7

    async def test_exec_runs_beside_the_command(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(argv("sleep", "600"), env={"MINE": "yes"})
        ref = TaskRef(attempt, 0, JOB)
        duplex = await harness.engine.exec(
            ref, Run(("sh", "-c", "echo $MINE; cat; echo e >&2; exit 5"))
        )
        await duplex.send(b"in\n")
        await duplex.send_eof()
        streams: dict[int, bytes] = {1: b"", 2: b""}
        while (piece := await duplex.receive()) is not None:
            streams[piece[0]] += piece[1]
        assert streams == {1: b"yes\nin\n", 2: b"e\n"}
        assert await duplex.exit_code() == 5
        assert await harness.output(attempt) == b""
        await harness.stop(attempt, 0)

    async def test_exec_on_a_terminal(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(argv("sleep", "600"))
        ref = TaskRef(attempt, 0, JOB)
        duplex = await harness.engine.exec(
            ref,
            Run(
                ("sh", "-c", "tty -s; echo tty=$? $TERM; stty size; read x; stty size"),
                Tty(50, 132, "vt100"),
            ),
        )
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
        await harness.stop(attempt, 0)

    async def test_exec_of_a_missing_program_says_so(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(argv("sleep", "600"))
        duplex = await harness.engine.exec(TaskRef(attempt, 0, JOB), Run(("no-such-program",)))
        assert b"no-such-program" in await heard(duplex)
        assert await duplex.exit_code() == 127
        await harness.stop(attempt, 0)

    async def test_exec_ends_with_the_task(self, harness: EngineHarness) -> None:
        name = token()
        attempt = await harness.begin(argv("sleep", "600"))
        duplex = await harness.engine.exec(TaskRef(attempt, 0, JOB), Run(("sleep", name)))
        await harness.until_alive(name)
        await harness.stop(attempt, 0)
        assert await heard(duplex) == b""
        assert not await harness.alive(name)

    async def test_a_client_that_leaves_takes_its_exec_along(self, harness: EngineHarness) -> None:
        name = token()
        attempt = await harness.begin(argv("sleep", "600"))
        duplex = await harness.engine.exec(TaskRef(attempt, 0, JOB), Run(("sleep", name)))
        await harness.until_alive(name)
        await duplex.close()
        await harness.until_gone(name)
        seen = await harness.seen(attempt)
        assert seen is not None
        assert seen.tasks[0].phase is Phase.RUNNING
        await harness.stop(attempt, 0)

    async def test_talking_to_an_ended_task_is_refused(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(argv("true"))
        await harness.ended(attempt)
        for call in (
            lambda: harness.engine.exec(TaskRef(attempt, 0, JOB), Run(("true",))),
            lambda: harness.engine.attach(TaskRef(attempt, 0, JOB)),
            lambda: harness.engine.connect(TaskRef(attempt, 0, JOB), Endpoint(1)),
        ):
            with pytest.raises(Refused):
                await call()

    async def test_a_port_of_the_task_can_be_reached(self, harness: EngineHarness) -> None:
        ports = await harness.leased(1)
        text = (
            "import os, socket;"
            "s = socket.create_server(('127.0.0.1', int(os.environ['PORT_HTTP'])));"
            "print('ready', flush=True); c = s.accept()[0]; c.sendall(c.recv(9)[::-1])"
        )
        attempt = await harness.begin(
            argv(harness.python, "-c", text), ports=[ports], labels={"http": 1}
        )
        await harness.printed(attempt, b"ready")
        port = (ports or (await harness.placed(attempt)).ports)[0]
        duplex = await harness.engine.connect(TaskRef(attempt, 0, JOB), Endpoint(port))
        await duplex.send(b"abc")
        assert await heard(duplex) == b"cba"
        await duplex.close()
        await harness.ended(attempt)

    async def test_exec_has_a_folder_variables_and_signals_of_its_own(
        self, harness: EngineHarness
    ) -> None:
        attempt = await harness.begin(argv("sleep", "600"), env={"A": "task", "B": "task"})
        ref = TaskRef(attempt, 0, JOB)
        text = "echo $A $B; pwd; trap 'echo usr1' USR1; echo ready; while :; do sleep 0.05; done"
        run = Run(("sh", "-c", text), env={"A": "own"}, cwd="/usr")
        duplex = await harness.engine.exec(ref, run)
        assert await until(duplex, b"ready") == b"own task\n/usr\nready\n"
        await duplex.signal(10)
        await until(duplex, b"usr1")
        await duplex.signal(9)
        await heard(duplex)
        assert await duplex.exit_code() == 137
        assert duplex.exit_signal == 9
        plain = await harness.engine.exec(ref, Run(("sh", "-c", "exit 137")))
        assert await plain.exit_code() == 137
        assert plain.exit_signal is None
        await harness.stop(attempt, 0)

    async def test_a_socket_in_the_task_is_reached_by_its_path_inside(
        self, harness: EngineHarness
    ) -> None:
        text = (
            "import os, socket, tempfile;"
            "path = tempfile.mkdtemp() + '/s';"
            "s = socket.socket(socket.AF_UNIX); s.bind(path); s.listen();"
            "print(path, flush=True); c = s.accept()[0]; c.sendall(c.recv(9)[::-1])"
        )
        attempt = await harness.begin(argv(harness.python, "-c", text))
        await harness.printed(attempt, b"/s\n")
        path = (await harness.output(attempt)).decode().strip()
        ref = TaskRef(attempt, 0, JOB)
        with pytest.raises(Refused):
            await harness.engine.connect(ref, Endpoint(path=path + "x"))
        duplex = await harness.engine.connect(ref, Endpoint(path=path))
        await duplex.send(b"abc")
        assert await heard(duplex) == b"cba"
        await duplex.close()
        await harness.ended(attempt)

    @pytest.mark.parametrize("at", [Endpoint(0), Endpoint()], ids=["port", "path"])
    async def test_one_may_listen_inside_the_task(
        self, harness: EngineHarness, at: Endpoint
    ) -> None:
        attempt = await harness.begin(argv("sleep", "600"))
        ref = TaskRef(attempt, 0, JOB)
        listener = await harness.engine.listen(ref, at)
        there = listener.endpoint
        where = repr(there.path) if there.path else f"('127.0.0.1', {there.port})"
        kind = "AF_UNIX" if there.path else "AF_INET"
        text = (
            f"import socket; c = socket.socket(socket.{kind}); c.connect({where});"
            "c.sendall(b'from inside'); print(c.recv(9).decode())"
        )
        duplex = await harness.engine.exec(ref, Run((harness.python, "-c", text)))
        accepted = await listener.accept()
        assert accepted is not None
        assert await accepted.receive() == (1, b"from inside")
        await accepted.send(b"hello")
        assert await heard(duplex) == b"hello\n"
        await accepted.close()
        await listener.close()
        if there.path:
            gone = f"while [ -e {there.path} ]; do sleep 0.02; done"
            removed = await harness.engine.exec(ref, Run(("sh", "-c", gone)))
            async with asyncio.timeout(PATIENCE):
                assert await removed.exit_code() == 0
        await harness.stop(attempt, 0)

    async def test_a_line_is_run_by_the_tasks_shell_in_the_home(
        self, harness: EngineHarness
    ) -> None:
        attempt = await harness.begin(argv("sleep", "600"))
        ref = TaskRef(attempt, 0, JOB)
        line = "cd / && echo $((6 * 7)) | cat; exit 5"
        duplex = await harness.engine.exec(ref, Run((line,), cwd="/usr", shell=True))
        assert await heard(duplex) == b"42\n"
        assert await duplex.exit_code() == 5
        await harness.stop(attempt, 0)

    async def test_files_are_served_as_sftp(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(argv("sleep", "600"))
        ref = TaskRef(attempt, 0, JOB)
        duplex = await harness.engine.exec(ref, Run((), files=True))
        await duplex.send(struct.pack("!IBI", 5, 1, 3))
        answer = await until(duplex, b"posix-rename@openssh.com")
        assert answer[4:9] == struct.pack("!BI", 2, 3)
        await duplex.send(struct.pack("!IBII", 10, 16, 7, 1) + b"/")
        await until(duplex, struct.pack("!III", 7, 1, 1) + b"/")
        await duplex.send_eof()
        await heard(duplex)
        assert await duplex.exit_code() == 0
        await harness.stop(attempt, 0)

    async def test_input_that_nobody_reads_takes_no_answer_away(
        self, harness: EngineHarness
    ) -> None:
        attempt = await harness.begin(argv("sleep", "600"))
        run = Run(("sh", "-c", "echo out; exit 3"))
        for _ in range(20):
            duplex = await harness.engine.exec(TaskRef(attempt, 0, JOB), run)
            feeding = asyncio.create_task(duplex.send(b"x" * 2_000_000))
            assert await heard(duplex) == b"out\n"
            assert await duplex.exit_code() == 3
            feeding.cancel()
            await duplex.close()
        await harness.stop(attempt, 0)
