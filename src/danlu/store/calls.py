"""Calls from the event loop to a thread and back, with one wake-up for many results."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from danlu.store.errors import StoreError
from danlu.store.tx import Tx


class Phase(Enum):
    WAITING = 0  # nothing of it can be in the database; it may be dropped
    COMMITTING = 1  # it may be in the database; only the database can tell
    OVER = 2


class Call:
    """A queued function and its result."""

    __slots__ = ("deadline", "error", "function", "future", "leads", "loop", "phase", "value")

    def __init__(self, function: Callable[[Tx], Any], seconds: float, leads: bool = False) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.function = function
        self.deadline = time.monotonic() + seconds
        self.leads = leads
        self.phase = Phase.WAITING
        self.value: Any = None
        self.error: BaseException | None = None


class Gate:
    """Arbitrates between the thread about to commit and the loop that gives up waiting."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def commit(self, calls: Iterable[Call]) -> bool:
        """False if one was given up meanwhile: then nothing of this may be committed."""
        with self._lock:
            if any(call.phase is Phase.OVER for call in calls):
                return False
            for call in calls:
                call.phase = Phase.COMMITTING
            return True

    def undone(self, calls: Iterable[Call]) -> None:
        for call in calls:
            call.phase = Phase.WAITING

    def drop(self, call: Call) -> bool:
        """True if it is now certain that it will never be done."""
        with self._lock:
            if call.phase is not Phase.WAITING:
                return False
            call.phase = Phase.OVER
            return True


def answer(calls: list[Call]) -> None:
    """Delivers the results. From any thread; one wake-up for all."""
    loop = calls[0].loop if calls else None
    if loop is None:
        return
    for call in calls:
        call.phase = Phase.OVER
    # Nobody waits on a closed loop.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(_deliver, calls)


def refuse(calls: list[Call], problem: StoreError) -> None:
    for call in calls:
        call.error = problem.again()
    answer(calls)


def _deliver(calls: list[Call]) -> None:
    for call in calls:
        if call.future.done():  # the waiter is gone
            continue
        if call.error is None:
            call.future.set_result(call.value)
        else:
            call.future.set_exception(_bearable(call.error))


def _bearable(error: BaseException) -> Exception:
    """A future refuses StopIteration, and an exit would end the whole loop."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"a function given to the store raised {error!r}")
