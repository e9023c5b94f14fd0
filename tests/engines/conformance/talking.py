"""Conversations with a task: input, exec, ports."""

from __future__ import annotations

import asyncio
import os

import pytest

from danlu.engines.api import (
    Duplex,
    Phase,
    Refused,
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


async def eventually_size(harness: EngineHarness, ref: TaskRef, size: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while await harness.engine.log_size(ref, "out") < size:
            await harness.engine.log_grew(ref, "out", 0, 0.1)


class Conversations:
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
            ref, ["sh", "-c", "echo $MINE; cat; echo e >&2; exit 5"], None
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
        await harness.stop(attempt, 0)

    async def test_exec_of_a_missing_program_says_so(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(argv("sleep", "600"))
        duplex = await harness.engine.exec(TaskRef(attempt, 0, JOB), ["no-such-program"], None)
        assert b"no-such-program" in await heard(duplex)
        assert await duplex.exit_code() == 127
        await harness.stop(attempt, 0)

    async def test_exec_ends_with_the_task(self, harness: EngineHarness) -> None:
        name = token()
        attempt = await harness.begin(argv("sleep", "600"))
        duplex = await harness.engine.exec(TaskRef(attempt, 0, JOB), ["sleep", name], None)
        await harness.until_alive(name)
        await harness.stop(attempt, 0)
        assert await heard(duplex) == b""
        assert not await harness.alive(name)

    async def test_a_client_that_leaves_takes_its_exec_along(self, harness: EngineHarness) -> None:
        name = token()
        attempt = await harness.begin(argv("sleep", "600"))
        duplex = await harness.engine.exec(TaskRef(attempt, 0, JOB), ["sleep", name], None)
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
            lambda: harness.engine.exec(TaskRef(attempt, 0, JOB), ["true"], None),
            lambda: harness.engine.attach(TaskRef(attempt, 0, JOB)),
            lambda: harness.engine.connect(TaskRef(attempt, 0, JOB), 1),
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
        duplex = await harness.engine.connect(TaskRef(attempt, 0, JOB), port)
        await duplex.send(b"abc")
        assert await heard(duplex) == b"cba"
        await duplex.close()
        await harness.ended(attempt)
