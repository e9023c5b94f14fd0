"""Keeps the state of all attempts up to date and notifies listeners of changes."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
import weakref
from collections.abc import AsyncIterator, Callable

from danlu.engines.api import Observation, Phase, TaskSeen
from danlu.engines.local.attempts import ENDED, Attempt, Task, alive, look

_POLL = 0.5  # seconds, for keepers without a pidfd


class Watcher:
    def __init__(self, boot: str, on_lost: Callable[[Attempt, Task], None]) -> None:
        self.attempts: dict[str, Attempt] = {}
        self._boot = boot
        self._on_lost = on_lost
        self._token = secrets.token_hex(4)
        self._count = 0
        self._changed: dict[str, int] = {}  # attempt -> its last change, oldest first
        self._listeners: weakref.WeakSet[asyncio.Event] = weakref.WeakSet()
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self._unwatched: dict[tuple[str, int], tuple[Attempt, Task]] = {}
        self._early: set[tuple[str, int]] = set()  # ended before their launch was registered
        self._poller: asyncio.Task[None] | None = None
        self._work: set[asyncio.Task[None]] = set()

    # -- what is known ------------------------------------------------------------------------

    def add(self, attempt: Attempt) -> None:
        self.attempts[attempt.id] = attempt
        self.mark(attempt, hint=False)

    def drop(self, attempt_id: str) -> None:
        attempt = self.attempts.pop(attempt_id, None)
        self._changed.pop(attempt_id, None)
        for task in attempt.tasks if attempt else ():
            self._unwatch(attempt_id, task)

    def mark(self, attempt: Attempt, hint: bool = True) -> None:
        self._count += 1
        self._changed.pop(attempt.id, None)
        self._changed[attempt.id] = self._count
        if not hint:
            return
        for event in self._listeners:
            event.set()
        for waiter in self._waiting.pop(attempt.id, ()):
            if not waiter.done():
                waiter.set_result(None)

    def observe(self, cursor: str | None) -> Observation:
        token, _, count = (cursor or "").partition(":")
        if token == self._token:
            since = int(count)
            ids = []
            for attempt_id in reversed(self._changed):
                if self._changed[attempt_id] <= since:
                    break
                ids.append(attempt_id)
        else:
            ids = list(self.attempts)
        seen = tuple(self.attempts[attempt_id].view() for attempt_id in ids)
        return Observation(time.time(), frozenset(ids), seen, f"{self._token}:{self._count}")

    def changes(self) -> AsyncIterator[None]:
        event = asyncio.Event()
        self._listeners.add(event)  # now, not on the first wait, so that no change is missed
        return _hints(event)

    def next_change(self, attempt_id: str) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(attempt_id, set()).add(future)
        return future

    def stop_waiting(self, attempt_id: str, future: asyncio.Future[None]) -> None:
        waiters = self._waiting.get(attempt_id)
        if waiters is not None:
            waiters.discard(future)
            if not waiters:
                del self._waiting[attempt_id]

    # -- keepers ------------------------------------------------------------------------------

    def refresh(self, attempt: Attempt, task: Task) -> None:
        """Reads the state again, and watches the keeper while it lives."""
        before = task.seen
        seen = look(attempt, task, self._boot)
        if seen.phase in ENDED:
            self._unwatch(attempt.id, task)
        elif task.watch < 0 and task.pid:
            self.watch(attempt, task)
        if seen.phase is Phase.LOST and before.phase is not Phase.LOST and seen.started_at:
            self._work.add(work := asyncio.create_task(self._lose(attempt, task, seen)))
            work.add_done_callback(self._work.discard)
        elif seen != before:
            task.seen = seen
            self.mark(attempt)

    async def _lose(self, attempt: Attempt, task: Task, seen: TaskSeen) -> None:
        """It is lost only once none of its processes are left."""
        await asyncio.to_thread(self._on_lost, attempt, task)
        task.seen = seen
        if self.attempts.get(attempt.id) is attempt:
            self.mark(attempt)

    def ended(self, tasks: list[tuple[str, int]]) -> None:
        """Reported by keepers that live on for other tasks."""
        for attempt_id, index in tasks:
            attempt = self.attempts.get(attempt_id)
            if attempt is not None:
                self.refresh(attempt, attempt.tasks[index])
            else:
                self._early.add((attempt_id, index))

    def watch(self, attempt: Attempt, task: Task) -> None:
        """Watches for the keeper's end."""
        if (attempt.id, task.index) in self._early:
            self._early.discard((attempt.id, task.index))
            asyncio.get_running_loop().call_soon(self.refresh, attempt, task)
            return
        try:
            fd = os.pidfd_open(task.pid)
        except ProcessLookupError:
            fd = -1
        except OSError:  # old kernel, or out of descriptors
            self._unwatched[(attempt.id, task.index)] = (attempt, task)
            if self._poller is None:
                self._poller = asyncio.create_task(self._poll())
            return
        if fd >= 0 and not alive(task.pid, task.start):
            os.close(fd)
            fd = -1
        if fd < 0:
            asyncio.get_running_loop().call_soon(self.refresh, attempt, task)
            return
        task.watch = fd
        asyncio.get_running_loop().add_reader(fd, self._keeper_ended, attempt, task)

    def signal(self, task: Task, number: int) -> bool:
        """Never signals another process that reused the keeper's pid."""
        if task.watch >= 0:
            try:
                signal.pidfd_send_signal(task.watch, number)
            except OSError:
                return False
            return True
        if not alive(task.pid, task.start):
            return False
        os.kill(task.pid, number)
        return True

    def _keeper_ended(self, attempt: Attempt, task: Task) -> None:
        self._unwatch(attempt.id, task)
        self.refresh(attempt, task)

    def _unwatch(self, attempt_id: str, task: Task) -> None:
        self._unwatched.pop((attempt_id, task.index), None)
        if task.watch >= 0:
            asyncio.get_running_loop().remove_reader(task.watch)
            os.close(task.watch)
            task.watch = -1

    async def _poll(self) -> None:
        while self._unwatched:
            await asyncio.sleep(_POLL)
            for attempt, task in list(self._unwatched.values()):
                if not alive(task.pid, task.start):
                    self._keeper_ended(attempt, task)
        self._poller = None

    def close(self) -> None:
        if self._poller is not None:
            self._poller.cancel()
        for attempt in self.attempts.values():
            for task in attempt.tasks:
                self._unwatch(attempt.id, task)


async def _hints(event: asyncio.Event) -> AsyncIterator[None]:
    while True:
        await event.wait()
        event.clear()
        yield None


def running(task: Task, at: float) -> TaskSeen:
    """For a task whose keeper was just started."""
    return TaskSeen(task.index, Phase.RUNNING, task.node, started_at=at)
