"""Commands whose pipes are handed out by their keeper."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from danlu.engines.api import TaskRef
from danlu.engines.local.keeper import frames
from danlu.engines.local.pipes import PipeDuplex, exec_apart
from danlu.engines.local.reach import LocalReach


def _frame(conn: socket.socket) -> tuple[bytes, bytes]:
    reader = frames.Reader()
    while not (asked := reader.feed(conn.recv(1 << 16))):
        pass
    return asked[0]


async def test_a_keeper_that_listens_late_is_waited_for(tmp_path: Path) -> None:
    """On a busy machine it does so seconds after its task is known to run."""
    reach = LocalReach(str(tmp_path))
    attaching = asyncio.create_task(reach.attach(TaskRef("late", 0)))
    await asyncio.sleep(3)
    (tmp_path / "late").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "late" / "0.sock"))
        listener.listen()
        link = await attaching
        await link.close()


def test_a_keeper_from_before_is_asked_the_old_way(tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "0.sock"))
    listener.listen()
    asked: list[bytes] = []

    def keeper() -> None:
        conn, _ = listener.accept()
        asked.append(_frame(conn)[0])
        conn.close()
        conn, _ = listener.accept()
        asked.append(_frame(conn)[0])
        conn.sendall(frames.pack(frames.OUT, b"hello"))
        conn.sendall(frames.pack(frames.EXIT, json.dumps({"code": 3}).encode()))
        conn.close()

    thread = threading.Thread(target=keeper)
    thread.start()

    async def run() -> None:
        command = await exec_apart(str(tmp_path), 0, {"argv": ["x"]})
        assert await command.receive() == (1, b"hello")
        assert await command.exit_code() == 3
        await command.close()

    asyncio.run(run())
    thread.join()
    assert asked == [frames.EXEC_APART, frames.EXEC]


def _pipes() -> tuple[Any, PipeDuplex, int, int, int]:
    ours, keepers = socket.socketpair()
    ours.setblocking(False)
    (in_r, in_w), (out_r, out_w), (err_r, err_w) = os.pipe(), os.pipe(), os.pipe()
    for fd in (in_w, out_r, err_r):
        os.set_blocking(fd, False)
    return keepers, PipeDuplex(ours, [in_w, out_r, err_r], b""), in_r, out_w, err_w


def test_what_was_printed_comes_before_the_end_even_if_others_hold_the_pipe() -> None:
    async def run() -> None:
        keeper, command, _, out, err = _pipes()
        os.write(out, b"out")
        os.write(err, b"err")
        keeper.sendall(frames.pack(frames.EXIT, json.dumps({"code": 143, "signal": 15}).encode()))
        found = {await command.receive(), await command.receive()}
        assert found == {(1, b"out"), (2, b"err")}
        assert await command.exit_code() == 143  # out and err are still open
        assert command.exit_signal == 15
        await command.close()

    asyncio.run(run())


def test_a_full_output_does_not_hide_the_other() -> None:
    async def run() -> None:
        _, command, _, out, err = _pipes()
        os.write(err, b"trouble")
        streams = []
        for _ in range(2):
            os.write(out, b"x" * 1000)
            received = await command.receive()
            assert received is not None
            streams.append(received[0])
        assert 2 in streams
        await command.close()

    asyncio.run(run())


def test_closing_wakes_whoever_waits_and_touches_no_other_descriptor() -> None:
    async def run() -> None:
        _, command, _, _, _ = _pipes()
        sending = asyncio.create_task(command.send(b"x" * 1_000_000))
        receiving = asyncio.create_task(command.receive())
        await asyncio.sleep(0.05)
        assert not sending.done()
        await command.close()
        reader, writer = os.pipe()  # most likely with the numbers that were closed
        os.set_blocking(reader, False)
        await asyncio.gather(sending, receiving)
        await command.send(b"y")
        assert receiving.result() is None
        with pytest.raises(BlockingIOError):
            os.read(reader, 10)
        os.close(reader), os.close(writer)

    asyncio.run(run())
