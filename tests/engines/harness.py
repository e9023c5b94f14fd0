"""A small world to try an engine in: launches as a control loop would, waits, looks, cleans up."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import sys
import uuid
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from danlu.engines.api import (
    Engine,
    Identity,
    InDoubt,
    Launch,
    Phase,
    Placer,
    Seen,
    TaskLaunch,
    TaskRef,
    TaskSeen,
    Unreachable,
)
from danlu.spec.job import Command, GpuRequest, Resources, RunAs
from danlu.spec.placement import Placement

ENDED = {Phase.EXITED, Phase.LOST, Phase.ABSENT}
PATIENCE = 180  # only so that a broken engine fails a test instead of hanging it
JOB = "job-1"

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
# A daemon in a session of its own that wiped its environment.

_tokens = itertools.count(random.randrange(10**6, 9 * 10**6))


def shell(text: str) -> Command:
    return Command(RunAs.SHELL, (text,))


def argv(*words: str) -> Command:
    return Command(RunAs.ARGV, words)


def script(*words: str) -> Command:
    return Command(RunAs.SCRIPT, words)


def token() -> str:
    """A number of seconds to sleep for that names its process among all others."""
    return f"{next(_tokens)}.{os.getpid()}"


async def eventually(what: Callable[[], Any], every: float = 0.02) -> Any:
    async with asyncio.timeout(PATIENCE):
        while not (value := what()):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(every)
        return value


def attempt_id() -> str:
    return str(uuid.uuid4())


class EngineHarness(ABC):
    """`make` gives an engine on the data folder; making another is what a restart does.

    How to look behind the engine's back is different for each: `alive` and `stored`.
    """

    def __init__(self, make: Callable[[Path], Engine], base: Path) -> None:
        self._make = make
        self.data = base / "data"
        self.data.mkdir(mode=0o700)
        self.outside = base / "outside"  # shared with the tasks, under the same path
        self.outside.mkdir()
        self.outside.chmod(0o777)
        self.engine: Engine = make(self.data)
        self._engines = [self.engine]
        self.node = ""
        self.every: dict[str, Any] = {}  # what all tasks are launched with, mounts besides others
        self.python = sys.executable  # one that tasks can start
        self.rounds = 120  # of a race; fewer where a launch is slow
        self.pause = 0.0005  # and how far apart its sides start at first

    async def start(self) -> None:
        await self.engine.start()
        self.node = (await self.again(self.engine.inventory)).nodes[0].name

    async def another(self) -> Engine:
        """A second engine on the same data, as after a restart (or beside a slow old leader)."""
        engine = self._make(self.data)
        self._engines.append(engine)
        await engine.start()
        return engine

    async def restart(self) -> None:
        await self.engine.close()
        self._engines.remove(self.engine)
        self.engine = await self.another()

    async def close(self) -> None:
        await self.again(lambda: self.engine.sweep(frozenset))
        for engine in self._engines:
            await engine.close()

    # -- behind the engine's back -------------------------------------------------------------

    @abstractmethod
    async def alive(self, marker: str) -> int:
        """How many processes on the engine's nodes have `marker` as a word of their command."""

    @abstractmethod
    async def stored(self, text: bytes) -> list[str]:
        """Files of the engine itself that contain `text`."""

    async def until_alive(self, marker: str, count: int = 1) -> None:
        async with asyncio.timeout(PATIENCE):
            while await self.alive(marker) < count:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.02)

    async def until_gone(self, marker: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while await self.alive(marker):  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.02)

    # -- launching ----------------------------------------------------------------------------

    def launch(
        self,
        command: Command,
        count: int = 1,
        attempt: str = "",
        epoch: int = 1,
        roles: Sequence[str] = (),
        gpus: Sequence[tuple[int, ...]] = (),
        ports: Sequence[tuple[int, ...]] = (),
        labels: dict[str, int] | None = None,
        identity: Identity | None = None,
        resources: Resources | None = None,
        **values: Any,
    ) -> Launch:
        resources = resources or Resources(GpuRequest(), 1.0, 1 << 30, 1 << 26)
        mounts = (*self.every.get("mounts", ()), *values.get("mounts", ()))
        values = self.every | values | {"mounts": mounts}
        seen: dict[str, int] = {}
        tasks = []
        for index in range(count):
            role = roles[index] if roles else "worker"
            number = seen[role] = seen.get(role, -1) + 1
            tasks.append(
                TaskLaunch(
                    index,
                    role,
                    number,
                    command,
                    self._needs(resources, gpus[index] if gpus else ()),
                    ports=labels or {},
                    **values,
                )
            )
        places = tuple(
            Placement(
                self.node,
                gpus[index] if gpus else (),
                ports=ports[index] if ports else (),
            )
            for index in range(count)
        )
        identity = identity or Identity("alice")
        chosen = None if self.places_itself else places
        return Launch(attempt or attempt_id(), JOB, epoch, identity, tuple(tasks), chosen)

    @property
    def places_itself(self) -> bool:
        return self.engine.placer is Placer.ENGINE

    def _needs(self, resources: Resources, gpus: tuple[int, ...]) -> Resources:
        """An engine that places is told how many GPUs, not which."""
        if not self.places_itself or not gpus:
            return resources
        return replace(resources, gpus=GpuRequest(len(gpus)))

    async def leased(self, count: int) -> tuple[int, ...]:
        """Ports for a task; none where the engine leases them itself."""
        if self.places_itself:
            return ()
        return await self.engine.ports.lease("ports", self.node, count)

    async def placed(self, attempt: str, task: int = 0) -> TaskSeen:
        """A task that runs or has run: where, on which GPUs, with which ports."""
        seen = await self.seen(attempt)
        assert seen is not None
        return seen.tasks[task]

    async def begin(self, command: Command, **values: Any) -> str:
        """Launch as the control loop does: settle what is in doubt, try again what never ran."""
        launch = self.launch(command, **values)
        while True:
            try:
                seen = await self.engine.launch(launch, self.engine.plan(launch))
                return await self._begun(seen)
            except Unreachable:
                await asyncio.sleep(0.01)
            except InDoubt:
                attempt = launch.attempt_id
                seen = await self.again(partial(self.engine.settle, attempt))
                if seen is not None:
                    return await self._begun(seen)
                launch = replace(launch, attempt_id=attempt_id())

    async def _begun(self, seen: Seen) -> str:
        """However long it stands in the engine's own queue."""
        attempt = seen.attempt_id
        async with asyncio.timeout(PATIENCE):
            while any(task.phase in (Phase.PENDING, Phase.STARTING) for task in seen.tasks):
                await asyncio.sleep(0.01)
                seen = await self.seen(attempt) or seen
        return attempt

    async def again(self, call: Callable[[], Awaitable[Any]]) -> Any:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    return await call()
                except (Unreachable, InDoubt):
                    await asyncio.sleep(0.01)

    async def again_unless_in_doubt(self, call: Callable[[], Awaitable[Any]]) -> Any:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    return await call()
                except Unreachable:
                    await asyncio.sleep(0.01)

    # -- looking ------------------------------------------------------------------------------

    async def seen(self, attempt: str) -> Seen | None:
        observation = await self.again(lambda: self.engine.observe(None))
        return next((seen for seen in observation.seen if seen.attempt_id == attempt), None)

    async def ended(self, attempt: str) -> tuple[TaskSeen, ...]:
        """Waits for every task's end, by the engine's own hints."""
        async with asyncio.timeout(PATIENCE):
            hints = self.engine.changes()
            while True:
                hint = asyncio.ensure_future(anext(hints))
                await asyncio.sleep(0)
                seen = await self.seen(attempt)
                if seen is not None and all(task.phase in ENDED for task in seen.tasks):
                    hint.cancel()
                    return seen.tasks
                await asyncio.wait((hint,), timeout=PATIENCE / 2)
                if not hint.done():
                    hint.cancel()
                    raise AssertionError(f"nobody hinted at a change: {await self.seen(attempt)}")

    async def run(self, command: Command, **values: Any) -> tuple[TaskSeen, bytes]:
        """The only task of a gang of one, and what it printed."""
        attempt = await self.begin(command, **values)
        tasks = await self.ended(attempt)
        return tasks[0], await self.output(attempt)

    async def output(self, attempt: str, task: int = 0, stream: str = "out") -> bytes:
        pieces = []
        async for piece in self.engine.read_log(TaskRef(attempt, task, JOB), stream, 0):
            pieces.append(piece)
        return b"".join(pieces)

    async def printed(self, attempt: str, text: bytes, task: int = 0) -> None:
        """Waits until the log has `text`."""
        ref = TaskRef(attempt, task, JOB)
        async with asyncio.timeout(PATIENCE):
            while text not in (have := await self.output(attempt, task)):
                await self.engine.log_grew(ref, "out", len(have), 1.0)

    async def stop(self, attempt: str, grace: float) -> tuple[TaskSeen, ...]:
        await self.again(lambda: self.engine.stop(attempt, grace))
        return await self.ended(attempt)
