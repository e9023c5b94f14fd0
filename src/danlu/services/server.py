"""Status and shutdown of the server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import NotAllowed
from danlu.access.principal import Asker, Principal
from danlu.control.controller import Controller
from danlu.control.disk_watch import Low
from danlu.spec.job import JobSpec
from danlu.spec.states import State
from danlu.spec.text import EMPTY, Text
from danlu.store.errors import StoreError
from danlu.store.rows import AttemptRow, JobRow


@dataclass(frozen=True, slots=True)
class Info:
    data: str  # the data folder, shown to admins
    addresses: list[str]
    engine: str
    tasks_running: int
    jobs_active: int
    jobs_queued: int
    database_ok: bool
    database_problem: Text
    disk_full_since: float | None
    disk_low_since: float | None  # it is almost full, or full
    disk_free: int | None  # bytes, of a disk that is almost full
    ssh_port: int | None  # None: off
    ssh_host_key: str | None  # its fingerprint


@dataclass(frozen=True, slots=True)
class Running:
    row: JobRow
    attempt: AttemptRow | None
    spec: JobSpec


class Server:
    def __init__(self, controller: Controller, addresses: list[str], demo: bool = False) -> None:
        self._context = controller.context
        self._addresses = addresses
        self.demo = demo
        self.stop: Callable[[], None] = lambda: None
        """Ends the process; set by the server."""
        self.ssh_port: Callable[[], int | None] = lambda: None
        """Where SSH clients come in; set by the server."""
        self.ssh_host_key: Callable[[], str | None] = lambda: None
        """The fingerprint that they see; likewise."""

    @property
    def installation(self) -> str:
        return self._context.installation

    @property
    def disk_full_since(self) -> float | None:
        full = self._context.disks.full
        return None if full is None else full.since

    @property
    def disk_low(self) -> Low | None:
        return self._context.disks.low

    def healthy(self) -> bool:
        return self._context.store.health.ok

    def info(self, who: Principal) -> Info:
        context = self._context
        health = context.store.health
        low = self.disk_low
        problem = health.problem.message if health.problem else EMPTY
        return Info(
            str(context.settings.files.data) if rules.runs_server(who) else "",
            self._addresses,
            ", ".join(each.name for each in context.engines),
            sum(len(job.shapes) for job in context.attempts.values()),
            len(context.attempts),
            len(context.queue.waiting),
            health.ok,
            problem,
            self.disk_full_since,
            low.since if low else None,
            low.free if low else None,
            self.ssh_port(),
            self.ssh_host_key(),
        )

    async def shutdown(self, asks: Asker) -> list[Running]:
        """Stops the server and returns the tasks that keep running."""
        if not rules.runs_server(asks.who):
            raise NotAllowed(Text("Only an admin may do this", "只有管理员可以执行"))
        jobs = list(self._context.attempts.values())
        # Even without a database, the server must be stoppable.
        with contextlib.suppress(StoreError, TimeoutError):
            async with asyncio.timeout(2):
                await self._context.store.write(lambda tx: note(tx, asks, "server.shutdown", ""))
        self.stop()
        if self.demo:  # its jobs end with it
            return []
        return [
            Running(job.row, job.attempt, job.spec)
            for job in jobs
            if job.row.state is not State.STARTING
        ]
