"""Work whose duration depends on a user's input leaves the event loop to everybody else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

from danlu.control.log_search import Search
from danlu.control.logs import Wanted
from danlu.control.workers import Workers
from danlu.engines.api import TaskRef
from danlu.engines.local.config import LocalConfig
from danlu.engines.local.engine import LocalEngine
from tests.control.harness import NODES, PATIENCE, Harness

SIZE = 30_000_000


class Turns:
    """Counts how often the event loop turns."""

    def __init__(self) -> None:
        self.count = 0

    async def go_on(self) -> None:
        while True:
            self.count += 1
            await asyncio.sleep(0)


class Noting(LocalEngine):
    """Notes in which turn of the loop each piece of a log was read."""

    def __init__(self, data: Path, turns: Turns) -> None:
        super().__init__(LocalConfig(data, NODES))
        self._turns = turns
        self.read_in: list[int] = []

    async def read_log(
        self, task: TaskRef, stream: str, offset: int, limit: int | None = None
    ) -> AsyncIterator[bytes]:
        async for piece in super().read_log(task, stream, offset, limit):
            self.read_in.append(self._turns.count)
            yield piece


async def test_others_are_answered_during_the_search_of_a_log(tmp_path: Path) -> None:
    """A log in memory is read without waiting: only the search itself can let others in."""
    turns = Turns()
    made: list[Noting] = []

    def make(data: Path) -> Noting:
        made.append(Noting(data, turns))
        return made[-1]

    harness = Harness(tmp_path, make)
    await harness.open()
    try:
        job = await harness.submit(command=f"head -c {SIZE} /dev/zero | tr '\\0' '\\n'; echo end")
        job = await harness.ended(job)
        made[-1].read_in.clear()
        counting = asyncio.create_task(turns.go_on())
        found = await harness.logs.search(Wanted(job), Search("END", ignore_case=True), "eve")
        counting.cancel()
        assert [(match.offset, match.line) for match in found.matches] == [(SIZE, SIZE + 1)]
        read_in = made[-1].read_in
        assert len(read_in) > 100
        assert len(set(read_in)) == len(read_in), "between any two pieces it was others' turn"
    finally:
        await harness.clear()
        await harness.close()


async def test_the_event_loop_turns_while_a_piece_of_work_runs() -> None:
    loop = asyncio.get_running_loop()
    answered = threading.Event()

    def work() -> bool:
        loop.call_soon_threadsafe(answered.set)
        return answered.wait(PATIENCE)

    workers = Workers()
    async with workers.turn("eve") as turn:
        assert await turn.run(work), "nobody was answered before it ended"
    workers.close()
