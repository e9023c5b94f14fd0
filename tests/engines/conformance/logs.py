"""What a task prints."""

from __future__ import annotations

import asyncio
import os

from danlu.engines.api import (
    TaskRef,
)
from danlu.spec.job import Stdin
from tests.engines.harness import (
    JOB,
    PATIENCE,
    EngineHarness,
    argv,
    shell,
)


class Logs:
    async def test_output_is_kept_byte_for_byte(self, harness: EngineHarness) -> None:
        data = os.urandom(3_000_000) + b"\xff\xfe\0\r\n\n\x1b[0m"
        (harness.outside / "data").write_bytes(data)
        _, log = await harness.run(argv("cat", str(harness.outside / "data")))
        assert log == data

    async def test_both_streams_share_one_log_in_order(self, harness: EngineHarness) -> None:
        _, log = await harness.run(shell("echo 1; echo 2 >&2; echo 3; echo 4 >&2"))
        assert log == b"1\n2\n3\n4\n"

    async def test_streams_can_be_split(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(shell("echo out; echo err >&2"), split_output=True)
        await harness.ended(attempt)
        assert await harness.output(attempt) == b"out\n"
        assert await harness.output(attempt, stream="err") == b"err\n"

    async def test_reading_starts_and_ends_where_asked(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(shell("seq 1000000"))
        await harness.ended(attempt)
        whole = "".join(f"{i}\n" for i in range(1, 1000001)).encode()
        ref = TaskRef(attempt, 0, JOB)
        assert await harness.engine.log_size(ref, "out") == len(whole)
        for offset, limit in [(0, 1), (12345, 400_000), (len(whole) - 3, None), (len(whole), 5)]:
            end = None if limit is None else offset + limit
            pieces = [p async for p in harness.engine.read_log(ref, "out", offset, limit)]
            assert b"".join(pieces) == whole[offset:end]

    async def test_a_log_can_be_found_without_its_job(self, harness: EngineHarness) -> None:
        attempt = await harness.begin(shell("echo here"))
        await harness.ended(attempt)
        pieces = [p async for p in harness.engine.read_log(TaskRef(attempt, 0), "out", 0)]
        assert b"".join(pieces) == b"here\n"

    async def test_the_cap_cuts_with_a_clear_line_and_the_task_goes_on(
        self, harness: EngineHarness
    ) -> None:
        done = harness.outside / "done"
        task, log = await harness.run(
            shell(f"yes 0123456 | head -c 3000000; touch {done}; exit 4"), log_cap=100_000
        )
        assert task.exit_code == 4
        assert done.exists()
        kept, rest = log[:100_000], log[100_000:].decode()
        assert kept == (b"0123456\n" * 12500)
        assert "limit" in rest
        assert "上限" in rest
        assert len(rest.splitlines()) == 1

    async def test_followers_are_told_of_growth_and_of_the_end(
        self, harness: EngineHarness
    ) -> None:
        attempt = await harness.begin(shell("read x; echo more"), stdin=Stdin.PIPE)
        ref = TaskRef(attempt, 0, JOB)
        grew = asyncio.create_task(harness.engine.log_grew(ref, "out", 0, PATIENCE))
        ended = asyncio.create_task(harness.engine.log_grew(ref, "out", 5, PATIENCE))
        await asyncio.sleep(0)
        attached = await harness.engine.attach(ref)
        await attached.send(b"go\n")
        assert await grew is True
        assert await ended is False
        await harness.ended(attempt)
        assert await harness.engine.log_grew(ref, "out", 5, PATIENCE) is False

    async def test_a_loud_task_does_not_hold_up_a_quiet_one(self, harness: EngineHarness) -> None:
        loud = await harness.begin(argv("yes"), log_cap=1 << 20)
        task, log = await harness.run(shell("echo quiet"))
        assert (task.exit_code, log) == (0, b"quiet\n")
        await harness.stop(loud, 0)
