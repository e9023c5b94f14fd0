"""Keeps the state of all attempts up to date: one look at Slurm's queue per cycle, then their
records, and a hint to whoever waits for a change.

The queue is asked first: what it says is over has by then left its status, if it has any.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping

from danlu.engines.api import Observation, Phase, Refused, Unreachable
from danlu.engines.slurm import accounting
from danlu.engines.slurm.attempts import Attempt, Index, Record, is_of, judge, read_record
from danlu.engines.slurm.commands import Commands
from danlu.engines.slurm.config import SlurmConfig
from danlu.engines.slurm.node.worker import FENCED
from danlu.engines.slurm.queue import Entry
from danlu.engines.slurm.reach import Doors
from danlu.engines.slurm.source import Source
from danlu.engines.slurm.users import Silent, User, Users

log = logging.getLogger("danlu.slurm")

_IDLE_FACTOR = 5  # so many cycles between two looks while there is nothing of ours
_GLANCES = 4  # looks at the records in a cycle
_CLOSE = 0.05  # seconds between two looks while there are
_FEW_YOUNG = 8  # attempts, of which some were submitted
_YOUNG = 3.0  # seconds ago
_MANY = 12  # launched while the first of them is young: nobody waits for a single one
_PATIENCE = 3.0  # seconds after which a controller that has not answered counts as away
_MOST_AT_ONCE = 500  # attempts whose records are read with one request
_FEW = 32  # attempts whose records are always looked at


class Watch:
    def __init__(
        self,
        config: SlurmConfig,
        commands: Commands,
        source: Source,
        users: Users,
        index: Index,
        doors: Doors,
        address: Callable[[str], str],
    ) -> None:
        self.attempts: dict[str, Attempt] = {}
        self.entries: tuple[Entry, ...] = ()
        self._by_number: dict[str, Entry] = {}
        self.trouble: str | None = "Slurm has not been asked yet"
        self.trouble_since = time.time()
        self.cycles = 0  # looks that were answered; tests compare it with what was called
        self.nodes: Mapping[str, int] = {}  # how many GPUs each has
        self.accounting = False  # whether Slurm keeps what has ended in a database
        self._config = config
        self._commands = commands
        self._source = source
        self._users = users
        self._index = index
        self._doors = doors
        self._address = address  # node -> where it is reached
        self._token = secrets.token_hex(4)
        self._count = 0
        self._changed: dict[str, int] = {}  # attempt -> its last change, oldest first
        self._listeners: weakref.WeakSet[asyncio.Event] = weakref.WeakSet()
        self._launched: deque[float] = deque(maxlen=_MANY)  # monotonic, the last ones
        self._soon = asyncio.Event()
        self._looking = asyncio.Lock()
        self._loop: asyncio.Task[None] | None = None

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        if self._loop is None:
            self._loop = asyncio.create_task(self._run())

    def check(self) -> None:
        """Raises Unreachable while Slurm does not answer, without asking it once more."""
        if self._loop is not None and self.trouble is not None:
            raise Unreachable(self.trouble)

    async def close(self) -> None:
        if self._loop is not None:
            self._loop.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._loop
            self._loop = None

    async def _run(self) -> None:
        while True:
            try:
                await self.look()
            except Unreachable:
                pass  # the next one may work
            except Exception:
                log.exception("looking at Slurm's queue failed")
            try:
                await self._pause()
            except Exception:
                log.exception("reading records failed")
                await asyncio.sleep(self._config.cycle)

    async def _pause(self) -> None:
        """Until the next cycle. Meanwhile records tell of ends, without asking Slurm."""
        if self._is_quiet():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._config.cycle * _IDLE_FACTOR):
                    await self._soon.wait()
        end = time.monotonic() + self._config.cycle
        glance = self._next_glance()
        while time.monotonic() < end:
            self._soon.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(end, glance) - time.monotonic()):
                    await self._soon.wait()
                glance = min(glance, self._next_glance())  # something was launched
                continue
            async with self._looking:
                await self._read(None, time.monotonic())
            glance = self._next_glance()

    def _next_glance(self) -> float:
        """Few jobs that have just been submitted are worth a closer look. Of many, those that have
        ended are better seen together: each look costs, and each change that it shows.
        """
        now = time.monotonic()
        usual = self._config.cycle / _GLANCES
        many = len(self._launched) == _MANY and self._launched[0] > now - _YOUNG
        live = [each for each in self.attempts.values() if not each.ended]
        if many or len(live) > _FEW_YOUNG or all(each.submitted < now - _YOUNG for each in live):
            return now + usual
        return now + min(usual, _CLOSE)

    def _is_quiet(self) -> bool:
        return all(each.ended for each in self.attempts.values())

    def launched(self, attempt: Attempt) -> None:
        attempt.submitted = time.monotonic()
        self._launched.append(attempt.submitted)
        self.add(attempt)
        self.hurry()

    def hurry(self) -> None:
        self._soon.set()

    # -- what is known ------------------------------------------------------------------------

    def add(self, attempt: Attempt) -> None:
        self.attempts[attempt.id] = attempt
        self.mark(attempt, hint=False)

    def drop(self, attempt_id: str) -> None:
        self.attempts.pop(attempt_id, None)
        self._changed.pop(attempt_id, None)

    def mark(self, attempt: Attempt, hint: bool = True) -> None:
        self._count += 1
        self._changed.pop(attempt.id, None)
        self._changed[attempt.id] = self._count
        if hint:
            self._hint()

    def _hint(self) -> None:
        for event in self._listeners:
            event.set()

    def adopt_all(self) -> None:
        for name in self._index.names():
            if name not in self.attempts:
                attempt = self._index.load(name)
                if attempt is not None:
                    self.add(attempt)

    def observe(self, cursor: str | None, known: Mapping[str, str]) -> Observation:
        """`known`: attempts of the server's, and their handles as far as it has them."""
        token, _, count = (cursor or "").partition(":")
        if token == self._token:
            ids = self._since(int(count))
        else:
            self.adopt_all()
            ids = list(self.attempts)
        self._recall(known)
        seen = [self.attempts[id_] for id_ in ids if self._is_known(self.attempts[id_])]
        scope = {attempt.id for attempt in seen}
        if self.trouble is None:
            listed = {entry.attempt for entry in self.entries}
            scope.update(
                id_
                for id_ in known
                if id_ not in self.attempts and id_ not in listed and self._index.read(id_) is None
            )
        views = tuple(attempt.view() for attempt in seen)
        cursor = f"{self._token}:{self._count}"
        if self.trouble is None:
            return Observation(time.time(), frozenset(scope), views, cursor)
        return Observation(
            time.time(), frozenset(scope), views, cursor, self.trouble, self.trouble_since
        )

    def _recall(self, known: Mapping[str, str]) -> None:
        """A job that nobody has claimed and that Slurm has forgotten has its number from here:
        the database is asked by number.
        """
        for attempt_id, handle in known.items():
            attempt = self.attempts.get(attempt_id)
            if attempt is not None and not attempt.handle and handle.isdigit():
                attempt.handle = handle

    def _since(self, count: int) -> list[str]:
        ids = []
        for attempt_id in reversed(self._changed):
            if self._changed[attempt_id] <= count:
                break
            ids.append(attempt_id)
        return ids

    def _is_known(self, attempt: Attempt) -> bool:
        """While Slurm is away only what has ended is certain."""
        if attempt.ended:
            return True
        return self.trouble is None and bool(attempt.handle) and not attempt.launching

    def changes(self) -> AsyncIterator[None]:
        event = asyncio.Event()
        self._listeners.add(event)  # now, not on the first wait, so that no change is missed
        return _hints(event)

    # -- looking ------------------------------------------------------------------------------

    async def look(self) -> None:
        """One cycle. Raises Unreachable if Slurm does not answer; records are read all the same."""
        async with self._looking:
            started = time.monotonic()
            try:
                entries = await self._asked(started)
            except (Unreachable, Refused) as trouble:
                self._away(str(trouble), started)
                await self._read(None, started)
                raise Unreachable(str(trouble)) from trouble
            self.cycles += 1
            back = self.trouble is not None
            self.entries, self.trouble = entries, None
            self._by_number = {entry.number: entry for entry in entries}
            ours = {e.attempt: e for e in reversed(self._ours(entries))}
            await self._read(ours | await self._from_accounts(ours), started)
            if back:
                for attempt in self.attempts.values():
                    self.mark(attempt)
                self._hint()

    async def _asked(self, started: float) -> tuple[Entry, ...]:
        """The queue. Whoever waits for a slow answer learns meanwhile that there is none."""
        asking = asyncio.ensure_future(asyncio.to_thread(self._source.queue))
        pause = _PATIENCE
        while not (await asyncio.wait((asking,), timeout=pause))[0]:
            waited = time.monotonic() - started
            self._away(f"squeue has not answered for {waited:.0f} s", started)
            await self._read(None, started)
            pause = self._config.cycle
        return asking.result()

    async def _from_accounts(self, ours: Mapping[str, Entry]) -> dict[str, Entry]:
        """What the database tells of jobs that Slurm has forgotten, before they are judged."""
        if not self.accounting:
            return {}
        soon = time.monotonic() - self._config.lost_after
        gone = {
            each.handle: each.id
            for each in self.attempts.values()
            if not each.ended and each.id not in ours
            and each.over_since is not None and each.over_since <= soon
        }  # fmt: skip
        told = await accounting.ask(self._commands, gone)
        return {gone[number]: entry for number, entry in told.items() if number in gone}

    def _away(self, trouble: str, started: float) -> None:
        if self.trouble is None:
            self.trouble_since = time.time() - (time.monotonic() - started)
        self.trouble = trouble
        for attempt in self.attempts.values():
            attempt.over_since = None
        self._hint()

    def _ours(self, entries: tuple[Entry, ...]) -> list[Entry]:
        """One for each attempt: the one that claimed it, else one that is not over."""
        found = [
            entry
            for entry in entries
            if entry.attempt in self.attempts and is_of(entry, self.attempts[entry.attempt])
        ]
        return sorted(found, key=lambda e: (e.number != self.attempts[e.attempt].handle, e.over))

    async def _read(self, entries: Mapping[str, Entry] | None, started: float) -> None:
        by_user: dict[User, list[Attempt]] = {}
        live = [each for each in self.attempts.values() if not each.ended and not each.launching]
        if entries is None and len(live) > _FEW:
            # What Slurm has just called waiting has no records, or only since then.
            live = [each for each in live if not each.waits][:_MOST_AT_ONCE]
        for attempt in live:
            by_user.setdefault(attempt.user, []).append(attempt)
        reads = [self._read_of(user, mine, entries, started) for user, mine in by_user.items()]
        for done in await asyncio.gather(*reads, return_exceptions=True):
            if isinstance(done, Exception):  # what one user wrote does not blind us to others
                log.warning("reading records failed: %r", done)

    async def glance(self, attempt: Attempt) -> None:
        """At the records of one attempt."""
        await self._read_of(attempt.user, [attempt], None, time.monotonic())

    async def _read_of(
        self,
        user: User,
        attempts: list[Attempt],
        entries: Mapping[str, Entry] | None,
        started: float,
    ) -> None:
        for at in range(0, len(attempts), _MOST_AT_ONCE):
            some = attempts[at : at + _MOST_AT_ONCE]
            try:
                asked = {attempt.id: attempt.count for attempt in some}
                answer, _ = await self._users.ask(user, "records", {"attempts": asked})
            except (Unreachable, Silent):
                continue  # unknown for now
            records = answer.get("records")
            for attempt in some:
                found = records.get(attempt.id) if isinstance(records, dict) else None
                await self._judge(
                    attempt, read_record(found, attempt.count, self.nodes), entries, started
                )

    async def _judge(
        self,
        attempt: Attempt,
        record: Record,
        entries: Mapping[str, Entry] | None,
        started: float,
    ) -> None:
        if attempt.ended or attempt.launching or self.attempts.get(attempt.id) is not attempt:
            return
        before = attempt.tasks, attempt.handle
        if self.may_claim(record.claim, attempt):
            attempt.handle = record.claim
        entry = None if entries is None else entries.get(attempt.id)
        if entries is not None:
            attempt.waits = entry is not None and entry.waits
        if entry is not None and not attempt.handle:
            attempt.handle = entry.number
        sure = entries is not None and self._is_over(attempt, entry, started)
        if sure and not record.claim and not record.gone:
            # Nobody has claimed it. From here on nobody can: the job may only be late.
            record = await self._take_claim(attempt, record)
            sure = record.claim == FENCED
        judge(attempt, record, entry, sure, entries is not None)
        self.open_doors(attempt)
        if (attempt.tasks, attempt.handle) != before:
            self.mark(attempt)

    def may_claim(self, number: str, attempt: Attempt) -> bool:
        """Whether this job may be the attempt's: users write their claims themselves."""
        entry = self._by_number.get(number)
        if not number.isdigit() or entry is None:
            return number.isdigit() and not attempt.handle
        return is_of(entry, attempt)

    def _is_over(self, attempt: Attempt, entry: Entry | None, started: float) -> bool:
        """Whether Slurm has been saying so long enough for records to have arrived here."""
        if attempt.submitted > started:
            return False
        if entry is not None and not entry.over:
            attempt.over_since = None
            return False
        now = time.monotonic()
        attempt.over_since = attempt.over_since or now
        return now - attempt.over_since >= self._config.lost_after

    async def _take_claim(self, attempt: Attempt, record: Record) -> Record:
        try:
            answer, _ = await self._users.ask(attempt.user, "fence", {"attempt": attempt.id})
        except (Unreachable, Silent):
            return record
        return Record(str(answer.get("claim", "")), record.tasks, record.said)

    def open_doors(self, attempt: Attempt) -> None:
        for task, (node, port) in attempt.doors.items():
            running = attempt.tasks[task].phase is Phase.RUNNING
            if running and task not in attempt.opened:
                self._doors.write(attempt.id, task, self._address(node), port, attempt.token)
                attempt.opened.add(task)


async def _hints(event: asyncio.Event) -> AsyncIterator[None]:
    while True:
        await event.wait()
        event.clear()
        yield None
