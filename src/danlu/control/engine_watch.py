"""Watches one engine: its availability, its nodes and our attempts on it.

If an engine does not answer, the state of its attempts is unknown; they have not ended. The same
holds for anything outside the scope of an observation: nothing is decided on it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace

from danlu.control.background import Background
from danlu.control.backoff import Backoff
from danlu.control.context import Context, log, now
from danlu.control.engines import EngineStatus
from danlu.control.ledger import NodeClash, Outside
from danlu.control.live_job import LiveJob
from danlu.control.outcome import ENDED
from danlu.engines.api import Inventory, Observation, Phase, Seen, TaskSeen, Unreachable
from danlu.store.rows import AttemptRow

Trouble = (Unreachable, TimeoutError, NodeClash)


class EngineWatch:
    def __init__(
        self,
        context: Context,
        status: EngineStatus,
        background: Background,
        changed: Callable[[], None],
    ) -> None:
        self.status = status
        self._context = context
        self._engine = status.engine
        self._background = background
        self._changed = changed  # its nodes or its availability
        self._cursor: str | None = None
        self._started = False
        self._looking = asyncio.Lock()
        self._up = asyncio.Event()
        self._back = asyncio.Event()  # it said so itself, before it was asked again
        self._failing_since: float | None = None
        self._outside: dict[str, tuple[Outside, ...]] = {}

    # -- life ---------------------------------------------------------------------------------

    async def begin(self) -> None:
        """The first contact. A slow engine is awaited in the background."""
        try:
            async with asyncio.timeout(self._context.settings.engine_patience):
                await self._meet()
        except TimeoutError:
            patience = self._context.settings.engine_patience
            self._failing_since = now() - patience
            self._away(Unreachable(f"no answer within {patience:g} s"))
        except Trouble as trouble:
            self._failing_since = now()
            self._away(trouble)

    async def take_over(self, attempts: Mapping[str, AttemptRow]) -> None:
        """The first observation: ends attempts that are no longer wanted."""
        if not self.status.met:
            return
        try:
            observation = await self.look(full=True)
        except Trouble as trouble:
            self._failed(trouble)
            return
        for seen in observation.seen:
            # Attempts the database no longer wants were handled above.
            if self._ours(seen) and seen.attempt_id not in attempts:
                self._background.spawn(self._discard(seen))

    def follow(self) -> None:
        for loop in (self._observe, self._look_around, self._sweep):
            self._background.forever(loop)

    async def close(self) -> None:
        with contextlib.suppress(Unreachable):
            await self._engine.close()

    async def _meet(self) -> None:
        if not self._started:
            await self._engine.start()
            self._started = True
        self._learn(await self._engine.inventory())

    async def _discard(self, seen: Seen) -> None:
        with contextlib.suppress(Unreachable):  # the sweep will find it
            await self._engine.stop(seen.attempt_id, 0.0, seen.handle)
            await self._engine.forget(seen.attempt_id, seen.handle)

    # -- loops --------------------------------------------------------------------------------

    async def _observe(self) -> None:
        await self._up.wait()
        async for _ in self._engine.changes():
            try:
                await self.look(full=self._failing_since is not None)
            except Trouble as trouble:
                self._failed(trouble)

    async def _look_around(self) -> None:
        """Picks up changed nodes and GPUs, and makes up for lost notifications."""
        every = self._context.settings.inventory_every
        backoff = Backoff(min(0.1, every), every)
        while True:
            if self._failing_since is not None:
                await backoff.wait(self._back)
            else:
                backoff.reset()
                await asyncio.sleep(every)
            self._back.clear()
            try:
                await self._meet()
                found = await self.look(full=self._in_the_dark())
            except Trouble as trouble:
                self._failed(trouble)
            else:
                if not found.trouble:
                    self._answered()

    async def _sweep(self) -> None:
        context = self._context
        while True:
            await asyncio.sleep(context.settings.sweep_every)
            if self.status.away_since is not None:
                continue
            with contextlib.suppress(Unreachable):
                swept = await self._engine.sweep(self._live, context.installation)
                if swept:
                    log.info("ended %d processes that ended tasks had left behind", swept)

    def _live(self) -> frozenset[str]:
        return frozenset(self._context.attempts)

    # -- is it there? -------------------------------------------------------------------------

    def _failed(self, trouble: BaseException) -> None:
        """Reports an engine as away only after it has been silent for a while."""
        since = self._failing_since = self._failing_since or now()
        if now() - since >= self._context.settings.away_after:
            self._away(trouble)

    def _away(self, trouble: BaseException) -> None:
        status = self.status
        new = status.away_since is None
        status.away_since = status.away_since or self._failing_since or now()
        status.problem = str(trouble) or type(trouble).__name__
        if new:
            log.warning("engine %s does not answer: %s", status.name, status.problem)
            self._tell()

    def _answered(self) -> None:
        self._failing_since = None
        if self.status.away_since is not None:
            log.warning("engine %s answers again", self.status.name)
            self.status.away_since, self.status.problem = None, ""
            self._tell()

    def _learn(self, inventory: Inventory) -> None:
        changed = self._context.ledger.learn(inventory, self.status.name)
        self.status.inventory = inventory
        if not self.status.met:
            self.status.met = True
            self._up.set()
        if changed:
            self._changed()

    def _tell(self) -> None:
        context = self._context
        context.ledger.put_away(each.name for each in context.engines if each.away_since)
        self._changed()

    # -- what became of our attempts ----------------------------------------------------------

    async def look(self, full: bool = False) -> Observation:
        async with self._looking:  # skip an answer that a later one has overtaken
            known: dict[str, str] = {}
            if full:
                self._cursor = None
                known = {current.id: current.handle for current, _ in self._mine()}
            found = await self._engine.observe(self._cursor, known)
            self._cursor = found.cursor
            if found.trouble:
                self._hear(found)
            elif self._failing_since is not None:
                self._back.set()
            self._take(found, full)
            return found

    def _hear(self, found: Observation) -> None:
        """It answers, and says itself that it cannot know more than this."""
        since = found.trouble_since or found.at
        self._failing_since = min(self._failing_since or since, since)
        self._failed(Unreachable(found.trouble))

    def _take(self, found: Observation, full: bool) -> None:
        context = self._context
        reported = set()
        outside = {} if full else self._outside
        for seen in found.seen:
            reported.add(seen.attempt_id)
            if not self._ours(seen):
                held = _held(seen)
                outside.pop(seen.attempt_id, None)
                if held:
                    outside[seen.attempt_id] = held
                continue
            job = context.attempts.get(seen.attempt_id)
            if job is not None:
                self._report(job, seen)
        for attempt_id in found.scope - reported:
            outside.pop(attempt_id, None)
            job = context.attempts.get(attempt_id)
            if job is not None and job.with_engine and job.attempt is not None:
                self._report(job, absent(job.attempt))
        if outside or self._outside:
            self._outside = outside
            context.ledger.put_outside(self.status.name, outside)
        if full:
            for current, job in self._mine():
                if current.id not in found.scope and job.unknown_since is None:
                    job.unknown_since = found.trouble_since or found.at
                    context.notifier.post(job.id)

    def _report(self, job: LiveJob, seen: Seen) -> None:
        if job.unknown_since is not None:
            job.unknown_since = None
            self._context.notifier.post(job.id)
            self._context.wake.set()  # it may be preempted or moved again
        if job.seen != seen:
            job.seen = seen
            job.news.set()

    def _mine(self) -> list[tuple[AttemptRow, LiveJob]]:
        """Our attempts on this engine, with their jobs."""
        name, first = self.status.name, self._context.engines.first
        return [
            (job.attempt, job)
            for job in self._context.attempts.values()
            if job.attempt is not None and job.with_engine and (job.attempt.engine or first) == name
        ]

    def _in_the_dark(self) -> bool:
        """Whether a full observation is due rather than just the changes."""
        if self._failing_since is not None:
            return True
        return any(job.unknown_since is not None for _, job in self._mine())

    def _ours(self, seen: Seen) -> bool:
        return seen.installation in ("", self._context.installation)


def _held(seen: Seen) -> tuple[Outside, ...]:
    return tuple((task.node, task.gpus) for task in seen.tasks if task.phase not in ENDED)


def absent(attempt: AttemptRow) -> Seen:
    """Attempts the engine no longer knows."""
    task = TaskSeen(0, Phase.ABSENT, detail="the engine does not know it")
    tasks = tuple(replace(task, task=i) for i in range(max(1, len(attempt.places))))
    return Seen(attempt.id, tasks, attempt.handle, attempt.installation)
