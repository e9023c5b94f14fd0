"""An engine that misbehaves as networks and controllers do, around any real one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from enum import StrEnum

from danlu.engines.api import (
    NOTHING,
    Disk,
    Duplex,
    Endpoint,
    Engine,
    InDoubt,
    Inventory,
    Launch,
    Listener,
    LogFile,
    Observation,
    Plan,
    Ports,
    Run,
    Seen,
    TaskRef,
    Unreachable,
    UsageReport,
)


class Fault(StrEnum):
    LOST_ANSWER = "lost_answer"  # done, and nobody hears of it
    LOST_REQUEST = "lost_request"  # not done, and nobody hears of it
    SLOW = "slow"
    TWICE = "twice"  # carried out two times at once
    AWAY = "away"  # Unreachable
    NONE = "none"


class FaultyEngine:
    """Injects what `plan_faults` queued, then what chance brings at `rate`."""

    def __init__(self, inner: Engine, rate: float = 0.0, seed: int = 0) -> None:
        self.inner = inner
        self.name = inner.name
        self.placer = inner.placer
        self.injected: list[Fault] = []
        self._queue: list[Fault] = []
        self._random = random.Random(seed)
        self._rate = rate

    def plan_faults(self, *faults: Fault) -> None:
        """These come next, one per call."""
        self._queue.extend(faults)

    @property
    def ports(self) -> Ports:
        return self.inner.ports

    def _next(self) -> Fault:
        if self._queue:
            fault = self._queue.pop(0)
        elif self._random.random() < self._rate:
            fault = self._random.choice(list(Fault))
        else:
            fault = Fault.NONE
        if fault is not Fault.NONE:
            self.injected.append(fault)
        return fault

    async def _answerable(self) -> Fault:
        """For calls that only read: they fail clean or not at all."""
        fault = self._next()
        if fault in (Fault.AWAY, Fault.LOST_ANSWER, Fault.LOST_REQUEST):
            raise Unreachable("injected: no answer")
        if fault is Fault.SLOW:
            await asyncio.sleep(0.02)
        return fault

    async def start(self) -> None:
        await self.inner.start()

    async def close(self) -> None:
        await self.inner.close()

    async def inventory(self) -> Inventory:
        await self._answerable()
        return await self.inner.inventory()

    async def disk(self) -> Disk | None:
        await self._answerable()
        return await self.inner.disk()

    async def missing_folders(self, node: str, folders: Sequence[str]) -> tuple[str, ...]:
        await self._answerable()
        return await self.inner.missing_folders(node, folders)

    def export_logs(self) -> Iterator[LogFile]:
        return self.inner.export_logs()

    def plan(self, launch: Launch) -> Plan:
        return self.inner.plan(launch)

    async def launch(self, launch: Launch, plan: Plan) -> Seen:
        fault = self._next()
        if fault is Fault.AWAY:
            raise Unreachable("injected: away")
        if fault is Fault.LOST_REQUEST:
            raise InDoubt("injected: the request was lost")
        if fault is Fault.SLOW:
            await asyncio.sleep(0.02)
        if fault is Fault.TWICE:
            first, second = await asyncio.gather(
                self.inner.launch(launch, plan), self.inner.launch(launch, plan)
            )
            assert first.handle == second.handle
            return first
        seen = await self.inner.launch(launch, plan)
        if fault is Fault.LOST_ANSWER:
            raise InDoubt("injected: the answer was lost")
        return seen

    async def settle(self, attempt_id: str) -> Seen | None:
        fault = await self._answerable()
        if fault is Fault.TWICE:
            await self.inner.settle(attempt_id)
        return await self.inner.settle(attempt_id)

    async def observe(self, cursor: str | None, known: Mapping[str, str] = NOTHING) -> Observation:
        await self._answerable()
        return await self.inner.observe(cursor, known)

    def changes(self) -> AsyncIterator[None]:
        return self.inner.changes()

    async def stop(self, attempt_id: str, grace: float, handle: str = "") -> None:
        fault = self._next()
        if fault in (Fault.AWAY, Fault.LOST_REQUEST):
            raise Unreachable("injected: no answer")
        await self.inner.stop(attempt_id, grace, handle)
        if fault is Fault.TWICE:
            await self.inner.stop(attempt_id, grace, handle)
        if fault is Fault.LOST_ANSWER:
            raise Unreachable("injected: the answer was lost")

    async def forget(self, attempt_id: str, handle: str = "") -> None:
        fault = await self._answerable()
        await self.inner.forget(attempt_id, handle)
        if fault is Fault.TWICE:
            await self.inner.forget(attempt_id, handle)

    async def sweep(self, live: Callable[[], frozenset[str]], installation: str = "") -> int:
        await self._answerable()
        return await self.inner.sweep(live, installation)

    def read_log(
        self, task: TaskRef, stream: str, offset: int, limit: int | None = None
    ) -> AsyncIterator[bytes]:
        return self.inner.read_log(task, stream, offset, limit)

    async def log_size(self, task: TaskRef, stream: str) -> int:
        return await self.inner.log_size(task, stream)

    async def log_grew(self, task: TaskRef, stream: str, offset: int, timeout: float) -> bool:  # noqa: ASYNC109
        return await self.inner.log_grew(task, stream, offset, timeout)

    async def attach(self, task: TaskRef) -> Duplex:
        return await self.inner.attach(task)

    async def exec(self, task: TaskRef, run: Run) -> Duplex:
        return await self.inner.exec(task, run)

    async def connect(self, task: TaskRef, to: Endpoint) -> Duplex:
        return await self.inner.connect(task, to)

    async def listen(self, task: TaskRef, at: Endpoint) -> Listener:
        return await self.inner.listen(task, at)

    async def hang_up(self, task: TaskRef, user: str) -> None:
        await self.inner.hang_up(task, user)

    async def usage(self) -> UsageReport:
        return await self.inner.usage()
