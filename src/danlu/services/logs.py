"""Reads, follows and searches logs, for users who may see the job."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from danlu.access import rules
from danlu.access.errors import NotAllowed, NotThere
from danlu.access.gate import Gate
from danlu.access.principal import Principal
from danlu.control.controller import Controller
from danlu.control.launches import secret_names
from danlu.control.log_search import Found as Lines
from danlu.control.log_search import Search
from danlu.control.logs import Logs as Bytes
from danlu.control.logs import Wanted
from danlu.services.found import Found
from danlu.services.while_allowed import while_allowed
from danlu.spec.codec import from_values
from danlu.spec.text import Text
from danlu.store.rows import JobRow


@dataclass(frozen=True, slots=True)
class Part:
    """Which bytes of which log."""

    task: int = 0
    stream: str = "out"
    attempt: int | None = None  # None: all in order
    offset: int = 0
    limit: int | None = None
    tail: int | None = None  # the last lines; replaces the offset
    raw: bool = False  # secrets are not masked


@dataclass(frozen=True, slots=True)
class Reading:
    pieces: AsyncIterator[bytes]
    offset: int  # offset of the first chunk
    size: int  # current size of the log


class JobLogs:
    def __init__(self, controller: Controller, found: Found, logs: Bytes, gate: Gate) -> None:
        self._context = controller.context
        self._found = found
        self._logs = logs
        self._gate = gate

    async def read(self, who: Principal, ref: str, part: Part, follow: bool = False) -> Reading:
        """The output of the task. Following ends with the job or with the user's access."""
        wanted = await self._wanted(who, ref, part)
        offset = part.offset
        if part.tail is not None:
            offset = await self._logs.tail_offset(wanted, part.tail)
        if follow:
            row = wanted.job
            barred = self._gate.barred(who, lambda now: self._sees(now, row))
            pieces = while_allowed(self._logs.follow(wanted, offset), barred)
            if part.limit is not None:
                pieces = _at_most(pieces, part.limit)
        else:
            pieces = self._logs.read(wanted, offset, part.limit)
        return Reading(pieces, offset, await self._logs.size(wanted))

    def _sees(self, who: Principal, row: JobRow) -> bool:
        shared = self._context.shares.of(row.id)
        return rules.sees_job(who, row.owner, row.group, shared)

    async def search(self, who: Principal, ref: str, part: Part, search: Search) -> Lines:
        """Matching lines, and where to continue."""
        return await self._logs.search(await self._wanted(who, ref, part), search, who.name)

    async def _wanted(self, who: Principal, ref: str, part: Part) -> Wanted:
        active = self._context.jobs.get(ref)
        if active is not None and rules.sees_job(who, active.row.owner, active.row.group):
            row, spec = active.row, active.spec  # nothing here changes while it is active
        else:
            row = await self._found.one(who, ref)
            spec = from_values(row.spec)
        if part.raw and not rules.sees_secrets(who, row.owner):
            raise NotAllowed(
                Text(
                    f"Only {row.owner} may read the log of {row.ref} with secrets unmasked",
                    f"只有 {row.owner} 可以查看 {row.ref} 未遮盖密钥的日志",
                )
            )
        task, attempt = part.task, part.attempt
        if task >= spec.tasks:
            raise NotThere(Text(f"task {task} in {row.ref}", f"子任务 {task}（{row.ref}）"))
        if attempt is not None and row.state.final and attempt > row.attempt:
            raise NotThere(
                Text(f"attempt {attempt} of {row.ref}", f"第 {attempt} 次尝试（{row.ref}）")
            )
        hidden = frozenset() if part.raw else frozenset(secret_names(spec))
        return Wanted(row, task, part.stream, attempt, hidden)


async def _at_most(pieces: AsyncIterator[bytes], limit: int) -> AsyncIterator[bytes]:
    if limit == 0:
        return
    async for piece in pieces:
        yield piece[:limit]
        limit -= len(piece)
        if limit <= 0:
            return
