"""The pipes of a command in a task, for fuzzing: what is printed, closed and told in any order."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import socket
from functools import cache
from typing import Any

from danlu.engines.local.keeper import frames
from danlu.engines.local.pipes import PipeDuplex


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


def one_command(chance: random.Random) -> None:
    """All that was printed arrives in its order, once; at the end nothing is watched or open."""
    _loop().run_until_complete(_command(chance))


async def _command(chance: random.Random) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    in_r, in_w = os.pipe()
    outs = [os.pipe(), os.pipe()]
    for fd in (in_w, *(reads for reads, _ in outs)):
        os.set_blocking(fd, False)
    ends = [writes for _, writes in outs]
    duplex = PipeDuplex(ours, [in_w, *(reads for reads, _ in outs)], b"")
    printed, heard = {1: b"", 2: b""}, {1: b"", 2: b""}
    sound = chance.random() < 0.7

    async def command() -> None:
        for _ in range(chance.randrange(20)):
            stream = chance.choice((1, 2))
            if ends[stream - 1] >= 0:
                piece = chance.randbytes(chance.choice((0, 1, 5000)))
                if duplex._closed:
                    break
                if chance.random() < 0.1:
                    os.close(ends[stream - 1])
                    ends[stream - 1] = -1
                elif piece and len(printed[stream]) < 50_000:
                    os.write(ends[stream - 1], piece)
                    printed[stream] += piece
            if chance.random() < 0.3:
                await asyncio.sleep(0)
        told = json.dumps({"code": 7, "signal": None}).encode()
        said = frames.pack(frames.EXIT, told) if sound else chance.randbytes(chance.randrange(40))
        for at in range(0, len(said), 7):
            with contextlib.suppress(BrokenPipeError):  # nobody listens any more
                theirs.send(said[at : at + 7])
            await asyncio.sleep(0)
        theirs.close()

    async def user() -> None:
        for _ in range(chance.randrange(4)):
            with contextlib.suppress(BrokenPipeError):
                await asyncio.wait_for(duplex.send(chance.randbytes(100)), 1.0)
        if chance.random() < 0.5:
            await duplex.send_eof()
            await duplex.signal(15)

    async def reader() -> None:
        left = chance.randrange(30) if chance.random() < 0.3 else 1 << 30
        with contextlib.suppress(ValueError):  # a keeper that says nonsense
            while left and (got := await duplex.receive()) is not None:
                heard[got[0]] += got[1]
                left -= 1
            if sound and left:
                assert await duplex.exit_code() == 7
                assert heard == printed
        await duplex.close()

    work: list[Any] = [command(), user(), reader()]
    chance.shuffle(work)
    try:
        await asyncio.gather(*work, return_exceptions=False)
    finally:
        await duplex.close()
        for fd in (in_r, *(fd for fd in ends if fd >= 0)):
            os.close(fd)
    for stream in (1, 2):
        assert printed[stream].startswith(heard[stream])
    assert not _loop()._selector.get_map() or len(_loop()._selector.get_map()) == 1  # type: ignore[attr-defined]
