"""Access to a running task: its input, and commands inside it."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from danlu.access import rules
from danlu.access.audit import note
from danlu.access.errors import Clash, NotAllowed, NotThere
from danlu.access.gate import Gate
from danlu.access.principal import Asker, Principal
from danlu.control.controller import Controller
from danlu.control.life import Stage
from danlu.engines.api import Duplex, Engine, Keep, Run, TaskRef, Tty
from danlu.services.found import Found, not_started
from danlu.services.slots import Slot, Slots
from danlu.services.terminals import Terminals
from danlu.spec.job import Kind
from danlu.spec.refs import environment_ref
from danlu.spec.text import Text
from danlu.store.errors import StoreError
from danlu.store.rows import JobRow

log = logging.getLogger("danlu.services")
_ON_ITS_WAY = frozenset({Stage.LAUNCHING, Stage.LAUNCHED, Stage.STARTING})
_LATEST_START = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Command:
    words: list[str]
    terminal: Tty | None = None
    name: str = ""  # of a terminal that stays when its connection is lost


@dataclass(slots=True)
class Entered:
    """An open connection to a task, to be closed by the caller."""

    duplex: Duplex
    _gate: Gate
    _asks: Asker
    _still: Callable[[Principal], bool]  # whether somebody may stay
    _noting: asyncio.Task[None] | None
    _slot: Slot
    _leave: Callable[[], None]
    kept: bool = False  # its terminal stays when this is closed

    def barred(self) -> Coroutine[Any, Any, None]:
        """Returns when the user loses access."""
        return self._gate.barred(self._asks.who, self._still)

    async def close(self, end_kept: bool = False) -> None:
        """`end_kept`: nobody will come back to a terminal that is kept."""
        self._slot.free()
        self._leave()
        if end_kept and self.kept:
            await self.duplex.signal(signal.SIGHUP)
        await self.duplex.close()
        if self._noting is not None:
            await self._noting


class Tasks:
    def __init__(self, controller: Controller, found: Found, gate: Gate) -> None:
        self._context = controller.context
        self._found = found
        self._gate = gate
        most = self._context.settings.limits.terminals
        self._slots = Slots(most, Text("open terminals and inputs", "打开的终端和输入"))
        self._terminals = Terminals(gate)

    async def attach(self, asks: Asker, ref: str, task: int) -> Entered:
        """Connects to its input; output goes to the log. Waits for the task to start."""
        row = await self._enterable(asks, ref)
        slot = self._slots.take(asks.name)
        place = await self._running(row.id, task, wait=True)
        duplex = await self._engine(row.id).attach(place)
        # Input to one's own job, as with `danlu run`, is not audited.
        own = asks.name == row.owner
        return self._entered(asks, row, duplex, None if own else "job.attached", task, "", slot)

    async def execute(self, asks: Asker, ref: str, task: int, command: Command) -> Entered:
        """Runs a command inside the task, or connects to the kept terminal of this name."""
        row = await self._enterable(asks, ref)
        slot = self._slots.take(asks.name)
        place = await self._running(row.id, task, wait=False)
        engine = self._engine(row.id)
        keep = Keep(asks.name, command.name) if command.name else None
        duplex = await engine.exec(place, Run(tuple(command.words), command.terminal, keep=keep))
        # Only the program's name, since arguments may contain secrets.
        program = command.words[0][:200]
        entered = self._entered(asks, row, duplex, "job.entered", task, program, slot)
        if keep is not None:
            entered.kept = True
            self._terminals.watch(asks.who, self._stays(row), engine, place)
        return entered

    def _stays(self, row: JobRow) -> Callable[[Principal], bool]:
        jobs, may_enter = self._context.jobs, self._may_enter(row)
        return lambda now: row.id in jobs and may_enter(now)

    async def find(
        self, asks: Asker, ref: str, task: int, wait: bool = False
    ) -> tuple[JobRow, TaskRef, Engine]:
        """A running task that this person may enter."""
        row = await self._enterable(asks, ref)
        try:
            place = await self._running(row.id, task, wait)
        except Clash as no:
            if row.kind == Kind.ENVIRONMENT and row.state.final and environment_ref(ref):
                raise not_started(row.name) from no
            raise Clash(
                no.code,
                Text(
                    f"{row.ref} is not running but {row.state.value}; see danlu why {row.ref}",
                    f"{row.ref} 没有在运行；参见 danlu why {row.ref}",
                ),
            ) from no
        return row, place, self._engine(row.id)

    def present(self, job_id: str) -> Callable[[], None]:
        """Somebody is connected, so it is in use; returns what to call when they have left."""
        return self._context.presence.enter(job_id)

    async def barred(self, asks: Asker, owner: str, job_id: str) -> None:
        """Returns when somebody who is inside loses access."""
        shares = self._context.shares
        await self._gate.barred(
            asks.who, lambda now: rules.enters_job(now, owner, shares.of(job_id))
        )

    async def note_entered(self, asks: Asker, ref: str, task: int, words: str) -> None:
        await self._note(asks, ref, "job.entered", task, words)

    def _entered(
        self,
        asks: Asker,
        row: JobRow,
        duplex: Duplex,
        act: str | None,
        task: int,
        words: str,
        slot: Slot,
    ) -> Entered:
        noting = asyncio.create_task(self._note(asks, row.ref, act, task, words))
        still, leave = self._may_enter(row), self.present(row.id)
        return Entered(duplex, self._gate, asks, still, noting, slot, leave)

    async def _note(self, asks: Asker, ref: str, act: str | None, task: int, words: str) -> None:
        if act is None:
            return
        try:
            await self._context.store.write(
                lambda tx: note(tx, asks, act, ref, task=task, words=words)
            )
        except StoreError as trouble:
            log.warning(
                "%s entered %s; this could not be written to the audit log: %s",
                asks.name,
                ref,
                trouble,
            )

    async def _enterable(self, asks: Asker, ref: str) -> JobRow:
        row = await self._found.one(asks.who, ref)
        if not self._may_enter(row)(asks.who):
            raise NotAllowed(
                Text(
                    f"Only {row.owner} or an admin may do this",
                    f"只有 {row.owner} 或管理员可以执行",
                ),
            )
        return row

    def _may_enter(self, row: JobRow) -> Callable[[Principal], bool]:
        shares = self._context.shares
        return lambda who: rules.enters_job(who, row.owner, shares.of(row.id))

    def _engine(self, job_id: str) -> Engine:
        job = self._context.jobs.get(job_id)
        if job is None:
            raise Clash("not_running", Text("It is not running", "它没有在运行"))
        return self._context.engine_of(job)

    async def _running(self, job_id: str, task: int, wait: bool) -> TaskRef:
        context = self._context
        while True:
            waiter = context.notifier.subscribe(job_id)
            job = context.jobs.get(job_id)
            if job is not None and job.stage is Stage.RUNNING and job.attempt is not None:
                context.notifier.unsubscribe(job_id, waiter)
                if not 0 <= task < len(job.shapes):
                    raise NotThere(Text(f"task {task} in this job", f"子任务 {task}"))
                return TaskRef(job.attempt.id, task, job_id, job.attempt.handle)
            if job is None or not (wait or job.stage in _ON_ITS_WAY):
                context.notifier.unsubscribe(job_id, waiter)
                raise Clash("not_running", Text("It is not running", "它没有在运行"))
            await context.notifier.wait(job_id, waiter, _LATEST_START)
