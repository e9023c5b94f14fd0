"""The sampler: one call an engine, gaps where one is away, nothing kept of what has ended."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from danlu.engines.api import NodeUsage, TaskRef, Unreachable, Usage, UsageReport
from danlu.metrics.archive import Archive, window
from danlu.metrics.sampler import Sampler
from danlu.metrics.values import Kind, Subject


class Engine:
    """Only the part of an engine that is asked here."""

    def __init__(self, name: str, answer: Callable[[], UsageReport]) -> None:
        self.name = name
        self.answer = answer
        self.calls = 0
        self.gate: asyncio.Event | None = None

    async def usage(self) -> UsageReport:
        self.calls += 1
        if self.gate is not None:
            await self.gate.wait()
        return self.answer()


def running(job: str, node: str) -> Callable[[], UsageReport]:
    ref = TaskRef(f"a-{job}", 0, job)
    return lambda: UsageReport(time.time(), {ref: Usage(1.0, 100)}, {node: NodeUsage(memory=9)})


def away() -> UsageReport:
    raise Unreachable("away")


class SamplerHarness:
    def __init__(self, folder: Path, *engines: Engine) -> None:
        self.archive = Archive(folder / "metrics.db")
        self.there: Any = list(engines)
        self.sampler = Sampler(lambda: self.there, self.archive, 0.02)
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Sampler:
        self._task = asyncio.create_task(self.sampler.run())
        return self.sampler

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self.sampler.close()


async def until(what: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not what():  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)


def of_task(job: str) -> Subject:
    return Subject(Kind.TASK, job, 0, f"a-{job}")


def _kept(folder: Path) -> bool:
    """Whether a minute's samples of the task are on disk."""
    now = time.time()
    found = Archive(folder / "metrics.db").read(Kind.TASK, "j", window(now - 60, now, 10, now))
    return bool(found.get(0))


async def test_tasks_and_nodes_are_sampled_and_kept(tmp_path: Path) -> None:
    engine = Engine("one", running("j", "n"))
    async with SamplerHarness(tmp_path, engine) as sampler:
        await until(lambda: sampler.latest(of_task("j")))
        assert sampler.latest(of_task("j"))["memory"] == 100
        assert sampler.latest(Subject(Kind.NODE, "n")) == {"memory": 9}
        await until(lambda: _kept(tmp_path))


async def test_an_engine_that_is_away_leaves_a_gap_not_zeros(tmp_path: Path) -> None:
    engine = Engine("one", running("j", "n"))
    async with SamplerHarness(tmp_path, engine) as sampler:
        await until(lambda: sampler.latest(of_task("j")))
        engine.answer = away
        await until(lambda: not sampler.latest(of_task("j")))
        assert sampler.all_latest() == []
        engine.answer = running("j", "n")
        await until(lambda: sampler.latest(of_task("j")))


async def test_of_an_engine_that_is_no_longer_asked_no_sample_counts_as_current(
    tmp_path: Path,
) -> None:
    gone, stays = Engine("gone", running("j", "n")), Engine("stays", running("k", "m"))
    harness = SamplerHarness(tmp_path, gone, stays)
    async with harness as sampler:
        await until(lambda: sampler.latest(of_task("j")) and sampler.latest(of_task("k")))
        harness.there.remove(gone)
        assert not sampler.latest(of_task("j"))
        assert {sample.subject.owner for sample in sampler.all_latest()} == {"k", "m"}
        calls = stays.calls
        await until(lambda: stays.calls > calls + 1)
        gone.gate = asyncio.Event()  # back, but not measured yet
        harness.there.append(gone)
        assert not sampler.latest(of_task("j"))
        gone.gate.set()
        await until(lambda: sampler.latest(of_task("j")))


async def test_an_engine_that_is_slow_is_asked_once_and_holds_up_nobody(tmp_path: Path) -> None:
    slow, quick = Engine("slow", running("s", "n1")), Engine("quick", running("q", "n2"))
    slow.gate = asyncio.Event()
    async with SamplerHarness(tmp_path, slow, quick) as sampler:
        await until(lambda: quick.calls > 3)
        assert slow.calls == 1
        assert sampler.latest(of_task("q"))
        assert not sampler.latest(of_task("s"))
        slow.gate.set()
        await until(lambda: sampler.latest(of_task("s")))


async def test_nothing_is_remembered_of_a_task_that_has_ended(tmp_path: Path) -> None:
    engine = Engine("one", running("j", "n"))
    async with SamplerHarness(tmp_path, engine) as sampler:
        await until(lambda: sampler.latest(of_task("j")))
        engine.answer = lambda: UsageReport(time.time())
        await until(lambda: not sampler.all_latest())


async def test_an_engine_that_fails_is_asked_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def wrong() -> UsageReport:
        raise ValueError("surprise")

    engine = Engine("one", wrong)
    async with SamplerHarness(tmp_path, engine):
        await until(lambda: engine.calls > 2)
    assert "engine one" in caplog.text


async def test_what_cannot_be_written_is_said_once_and_still_known_as_the_latest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "metrics.db").mkdir()  # no file can be there
    engine = Engine("one", running("j", "n"))
    with caplog.at_level(logging.WARNING):
        async with SamplerHarness(tmp_path, engine) as sampler:
            await until(lambda: engine.calls > 3)
            assert sampler.latest(of_task("j"))
    assert caplog.text.count("not being stored") == 1
