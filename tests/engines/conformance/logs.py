"""What a task prints."""

from __future__ import annotations

import asyncio
import os

from danlu.engines.api import (
    TaskRef,
)
from danlu.spec.job import Stdin
from tests.engines.world import (
    JOB,
    PATIENCE,
    World,
    argv,
    shell,
)


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
