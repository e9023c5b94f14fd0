"""An engine as unlike the local one as can be: a batch system with a queue of its own that places.

`BatchSystem` stands for what runs elsewhere, as Slurm does: it outlives the engines that talk to
it, numbers what it is given, starts it when it likes, and may forget what has ended. Tasks are real
processes. `QueueingEngine` is Danlu's side of it: it knows only what it asked in this life.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import shlex
import time
import weakref
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from danlu.engines.api import (
    NOTHING,
    InDoubt,
    Inventory,
    Launch,
    Observation,
    Phase,
    Placer,
    Plan,
    Refused,
    Seen,
    TaskRef,
    TaskSeen,
    Unreachable,
)
from danlu.engines.local.config import LocalConfig, NodeConfig
from danlu.engines.local.engine import LocalEngine
from danlu.engines.peers import ports_needed, wished_port
from danlu.spec.placement import Placement

NODES = (
    NodeConfig("q1", 4, 8 << 30, (("RTX3090", 4),)),
    NodeConfig("q2", 4, 8 << 30),
)
ENDED = frozenset({Phase.EXITED, Phase.LOST, Phase.ABSENT})
WAITS = "(Priority)"


@dataclass(slots=True, eq=False)
class Entry:
    """One gang in the batch system."""

    handle: str
    launch: Launch
    tasks: tuple[TaskSeen, ...]
    places: tuple[Placement, ...] = ()
    changed: int = 0
    begun: bool = False  # its processes were started, or are about to be

    @property
    def ended(self) -> bool:
        return all(task.phase in ENDED for task in self.tasks)

    def seen(self) -> Seen:
        return Seen(self.launch.attempt_id, self.tasks, self.handle, self.launch.installation)


@dataclass(slots=True, eq=False)
class BatchSystem:
    data: Path
    nodes: tuple[NodeConfig, ...] = NODES
    held: bool = False  # nothing starts
    pulls: bool = False  # what was submitted is starting at once, as while an image is pulled
    staged: bool = False  # of a gang only the first task starts
    away: bool = False  # nobody answers
    blind: bool = False  # it answers, but cannot say yet what there is
    forgets: bool = False  # what has ended is gone at once
    lost_answers: int = 0  # so many of the next submissions are carried out in silence
    entries: dict[str, Entry] = field(default_factory=dict)  # by handle
    submissions: list[str] = field(default_factory=list)  # attempt ids, as they came in
    _fenced: set[str] = field(default_factory=set)
    _epoch: int = 0
    _count: int = 0
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _runner: LocalEngine | None = None
    _loop: asyncio.Task[None] | None = None
    _starting: set[asyncio.Task[None]] = field(default_factory=set)
    _listeners: Any = field(default_factory=weakref.WeakSet)

    # -- life ---------------------------------------------------------------------------------

    async def start(self) -> None:
        if self._runner is None:
            self._runner = LocalEngine(LocalConfig(self.data, self.nodes))
            await self._runner.start()
            self._loop = asyncio.create_task(self._follow())

    async def close(self) -> None:
        """With all that it runs."""
        if self._runner is None:
            return
        for task in (self._loop, *self._starting):
            if task is not None:
                task.cancel()
        await self._runner.sweep(frozenset)
        await self._runner.close()
        self._runner = None

    @property
    def runner(self) -> LocalEngine:
        assert self._runner is not None, "the batch system was not started"
        return self._runner

    # -- what it is asked ---------------------------------------------------------------------

    def of(self, attempt_id: str) -> Entry | None:
        return next((e for e in self.entries.values() if e.launch.attempt_id == attempt_id), None)

    def submit(self, launch: Launch) -> Entry:
        if launch.attempt_id in self._fenced:
            raise Refused("it was settled as never started")
        known = self.of(launch.attempt_id)
        if known is not None:
            return known
        if launch.epoch < self._epoch:
            raise Refused(f"epoch {launch.epoch} is older than {self._epoch}")
        self._epoch = launch.epoch
        waits = TaskSeen(0, Phase.STARTING if self.pulls else Phase.PENDING, detail=WAITS)
        tasks = tuple(replace(waits, task=task.index) for task in launch.tasks)
        entry = Entry(f"q{next(self._numbers)}", launch, tasks)
        self.entries[entry.handle] = entry
        self.submissions.append(launch.attempt_id)
        self._mark(entry)
        self._dispatch()
        return entry

    def settle(self, attempt_id: str) -> Entry | None:
        entry = self.of(attempt_id)
        if entry is None:
            self._fenced.add(attempt_id)
        return entry

    async def cancel(self, handle: str, grace: float) -> None:
        entry = self.entries.get(handle)
        if entry is None or entry.ended:
            return
        if entry.begun:
            await self.runner.stop(entry.launch.attempt_id, grace)
            return
        end = {"phase": Phase.EXITED, "exit_code": 143, "signal": 15, "ended_at": time.time()}
        entry.tasks = tuple(replace(task, **end) for task in entry.tasks)
        self._mark(entry)

    async def drop(self, handle: str) -> None:
        entry = self.entries.pop(handle, None)
        if entry is not None:
            await self.runner.forget(entry.launch.attempt_id)
            self._dispatch()

    def release(self) -> None:
        """From now on what waits may start."""
        self.held = False
        self._dispatch()

    def forget(self) -> None:
        """What has ended is gone, and so is at once what ends from now on."""
        self.forgets = True
        self.entries = {handle: e for handle, e in self.entries.items() if not e.ended}

    async def start_rest(self) -> None:
        """Lets the other tasks of gangs start, too."""
        self.staged = False
        self._take_all(await self.runner.observe(None))

    def look(
        self, since: int | None, known: Mapping[str, str]
    ) -> tuple[int, list[Entry], set[str]]:
        """Until when, what changed, and of whom that says everything."""
        if self.blind:
            return self._count, [], set()
        entries = [e for e in self.entries.values() if since is None or e.changed > since]
        here = {entry.launch.attempt_id for entry in self.entries.values()}
        return self._count, entries, {e.launch.attempt_id for e in entries} | (set(known) - here)

    def listen(self) -> asyncio.Event:
        event = asyncio.Event()
        self._listeners.add(event)
        return event

    # -- what it does by itself ---------------------------------------------------------------

    def _mark(self, entry: Entry) -> None:
        self._count += 1
        entry.changed = self._count
        for event in self._listeners:
            event.set()

    def _dispatch(self) -> None:
        for entry in self.entries.values():
            if self.held or entry.begun or entry.ended:
                continue
            chosen = self._choose(entry.launch)
            if chosen is not None:
                entry.begun = True
                entry.places = chosen
                task = asyncio.create_task(self._begin(entry))
                self._starting.add(task)
                task.add_done_callback(self._starting.discard)

    def _choose(self, launch: Launch) -> tuple[Placement, ...] | None:
        free = {node.name: self._free(node) for node in self.nodes}
        places = []
        for task in launch.tasks:
            need = task.resources.gpus.count
            name = next((name for name, gpus in free.items() if len(gpus) >= need), None)
            if name is None:
                return None
            gpus, free[name] = free[name][:need], free[name][need:]
            places.append(Placement(name, tuple(gpus)))
        return tuple(places)

    def _free(self, node: NodeConfig) -> list[int]:
        taken = {
            index
            for entry in self.entries.values()
            if entry.begun and not entry.ended
            for place in entry.places
            if place.node == node.name
            for index in place.gpus
        }
        return [i for i in range(sum(count for _, count in node.gpus)) if i not in taken]

    async def _begin(self, entry: Entry) -> None:
        launch, gang = entry.launch, len(entry.launch.tasks)
        places = []
        for task, place in zip(launch.tasks, entry.places, strict=True):
            count, wished = ports_needed(task, gang), wished_port(task)
            ports = await self.runner.ports.lease(launch.attempt_id, place.node, count, wished)
            places.append(replace(place, ports=ports))
        entry.places = tuple(places)
        order = replace(launch, places=entry.places, epoch=1)
        try:
            await self.runner.launch(order, self.runner.plan(order))
        except Refused as refusal:
            lost = {"phase": Phase.LOST, "detail": str(refusal)}
            entry.tasks = tuple(replace(task, **lost) for task in entry.tasks)
            self._mark(entry)
            return
        # It may have ended before the answer came: the answer is old news by now.
        self._take_all(await self.runner.observe(None))

    async def _follow(self) -> None:
        hints, cursor = self.runner.changes(), None
        async for _ in hints:
            found = await self.runner.observe(cursor)
            cursor = found.cursor
            self._take_all(found)
            self._dispatch()

    def _take_all(self, found: Observation) -> None:
        for seen in found.seen:
            entry = self.of(seen.attempt_id)
            if entry is not None and not entry.ended:
                self._take(entry, seen)

    def _take(self, entry: Entry, seen: Seen) -> None:
        places = entry.places
        entry.tasks = tuple(
            TaskSeen(task.task, Phase.STARTING)
            if self.staged and task.task and task.phase is Phase.RUNNING
            else replace(task, gpus=places[task.task].gpus, ports=places[task.task].ports)
            for task in seen.tasks
        )
        if entry.ended and self.forgets:
            self.entries.pop(entry.handle, None)
        self._mark(entry)


class QueueingEngine:
    placer = Placer.ENGINE

    def __init__(self, system: BatchSystem, name: str = "queueing", latency: float = 0.002) -> None:
        self.name = name
        self.system = system
        self.latency = latency  # seconds until a question arrives, and an answer
        self._handles: dict[str, str] = {}  # of what was launched or seen in this life
        self._token = f"{id(self):x}"

    def __getattr__(self, name: str) -> Any:
        """Talking to tasks and reading logs: on the nodes, if the system can be reached."""
        if name.startswith("_") or not (hasattr(LocalEngine, name) or name == "ports"):
            raise AttributeError(name)  # also while it is away: it has no such ability
        self._reach()
        return getattr(self.system.runner, name)

    def _reach(self) -> None:
        if self.system.away:
            raise Unreachable("the batch system does not answer")

    async def _ask(self) -> None:
        self._reach()
        await asyncio.sleep(self.latency)
        self._reach()

    async def start(self) -> None:
        self._reach()
        await self.system.start()

    async def close(self) -> None:
        """The batch system goes on."""

    async def inventory(self) -> Inventory:
        await self._ask()
        return await self.system.runner.inventory()

    def plan(self, launch: Launch) -> Plan:
        if launch.places is not None:
            raise Refused("this engine places by itself: " + str(launch.places[0].node))
        lines = []
        for task in launch.tasks:
            if not task.command.words or any("\0" in word for word in task.command.words):
                raise Refused("the command is empty or contains a zero byte")
            lines.append(f"task {task.index}: {shlex.join(task.command.words)}")
            lines += [f"  {name}={value}" for name, value in sorted(task.env.items())]
            lines += [f"  {name}=***" for name in sorted(task.secrets)]
        text = "\n".join(lines)
        return Plan(text, b"", hashlib.sha256(text.encode()).hexdigest())

    async def launch(self, launch: Launch, plan: Plan) -> Seen:
        await self._ask()
        entry = self.system.submit(launch)
        if self.system.lost_answers:
            self.system.lost_answers -= 1
            raise InDoubt("no answer came")
        await asyncio.sleep(self.latency)
        self._handles[launch.attempt_id] = entry.handle
        return entry.seen()

    async def settle(self, attempt_id: str) -> Seen | None:
        self._reach()
        entry = self.system.settle(attempt_id)
        await asyncio.sleep(self.latency)  # the question was quick, the answer is late
        if entry is None:
            return None
        self._handles[attempt_id] = entry.handle
        return entry.seen()

    async def observe(self, cursor: str | None, known: Mapping[str, str] = NOTHING) -> Observation:
        await self._ask()
        token, _, count = (cursor or "").partition(":")
        since = int(count) if token == self._token else None
        until, entries, scope = self.system.look(since, known)
        for entry in entries:
            self._handles[entry.launch.attempt_id] = entry.handle
        seen = tuple(entry.seen() for entry in entries)
        return Observation(time.time(), frozenset(scope), seen, f"{self._token}:{until}")

    def changes(self) -> AsyncIterator[None]:
        return _hints(self.system.listen())

    async def stop(self, attempt_id: str, grace: float, handle: str = "") -> None:
        """By handle: of an attempt whose handle nobody knows it can stop nothing."""
        await self._ask()
        await self.system.cancel(handle or self._handles.get(attempt_id, ""), grace)

    async def forget(self, attempt_id: str, handle: str = "") -> None:
        await self._ask()
        await self.system.drop(handle or self._handles.pop(attempt_id, ""))

    async def sweep(self, live: Callable[[], frozenset[str]], installation: str = "") -> int:
        await self._ask()
        count, found = 0, list(self.system.entries.values())
        wanted = live()
        for entry in found:
            foreign = installation and entry.launch.installation not in ("", installation)
            if entry.launch.attempt_id not in wanted and not foreign:
                count += not entry.ended
                await self.system.cancel(entry.handle, 0.0)
                await self.system.drop(entry.handle)
        return count

    async def log_grew(self, task: TaskRef, stream: str, offset: int, timeout: float) -> bool:  # noqa: ASYNC109
        self._reach()
        entry = self.system.of(task.attempt_id)
        if entry is None or entry.tasks[task.task].phase is not Phase.PENDING:
            return await self.system.runner.log_grew(task, stream, offset, timeout)
        event = self.system.listen()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), timeout)
        return True  # it may have begun: look again


async def _hints(event: asyncio.Event) -> AsyncIterator[None]:
    while True:
        await event.wait()
        event.clear()
        yield None
