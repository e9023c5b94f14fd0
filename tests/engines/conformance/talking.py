"""Conversations with a task: input, exec, ports."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from danlu.engines.api import (
    Duplex,
    Phase,
    Refused,
    TaskRef,
    Tty,
)
from danlu.spec.job import Stdin
from tests.engines.world import (
    JOB,
    PATIENCE,
    World,
    argv,
    eventually,
    processes_with,
    shell,
    token,
)


async def heard(duplex: Duplex) -> bytes:
    data = b""
    async with asyncio.timeout(PATIENCE):
        while (piece := await duplex.receive()) is not None:
            data += piece[1]
    return data


async def eventually_size(world: World, ref: TaskRef, size: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while await world.engine.log_size(ref, "out") < size:
            await world.engine.log_grew(ref, "out", 0, 0.1)


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
