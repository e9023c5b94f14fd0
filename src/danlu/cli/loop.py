"""A small event loop for descriptors, signals and timers, in one thread."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found,unused-ignore]  # `signal` imports `enum`
import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

READ = select.POLLIN | select.POLLHUP | select.POLLERR | select.POLLNVAL
WRITE = select.POLLOUT


class Loop:
    """`run` continues until `stop` is called."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._readers: dict[int, Callable[[], None]] = {}
        self._writers: dict[int, Callable[[], None]] = {}
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._watched: set[int] = set()
        self._made = 0
        self._stopped = False
        self._wake_in = self._wake_out = -1
        self._signals: dict[int, Callable[[], None]] = {}
        self._before: dict[int, object] = {}

    def on_readable(self, fd: int, call: Callable[[], None]) -> None:
        self._readers[fd] = call
        self._register(fd)

    def on_writable(self, fd: int, call: Callable[[], None] | None) -> None:
        if call is None:
            self._writers.pop(fd, None)
        else:
            self._writers[fd] = call
        self._register(fd)

    def forget(self, fd: int) -> None:
        self._readers.pop(fd, None)
        self._writers.pop(fd, None)
        self._register(fd)

    def _register(self, fd: int) -> None:
        wanted = (READ if fd in self._readers else 0) | (WRITE if fd in self._writers else 0)
        if wanted:
            self._poll.register(fd, wanted)
            self._watched.add(fd)
        elif fd in self._watched:
            self._watched.discard(fd)
            self._poll.unregister(fd)

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        self._made += 1
        self._timers.append((time.monotonic() + seconds, self._made, call))
        self._timers.sort(key=lambda timer: timer[:2])

    def on_signal(self, number: int, call: Callable[[], None]) -> None:
        """Turns a signal into an event of the loop. Ignored signals stay ignored (nohup)."""
        if _signal.getsignal(number) == _signal.SIG_IGN:
            return
        if self._wake_in < 0:
            self._wake_in, self._wake_out = os.pipe()
            os.set_blocking(self._wake_in, False)
            os.set_blocking(self._wake_out, False)
            _signal.set_wakeup_fd(self._wake_out, warn_on_full_buffer=False)
            self.on_readable(self._wake_in, self._take_signals)
        self._signals[number] = call
        self._before[number] = _signal.signal(number, _noted)

    def _take_signals(self) -> None:
        try:
            numbers = os.read(self._wake_in, 64)
        except BlockingIOError:
            return
        for number in dict.fromkeys(numbers):
            call = self._signals.get(number)
            if call:
                call()

    def stop(self) -> None:
        self._stopped = True

    def run(self) -> None:
        self._stopped = False
        while not self._stopped:
            self._turn()

    def _turn(self) -> None:
        wait = None
        if self._timers:
            wait = max(0.0, (self._timers[0][0] - time.monotonic()) * 1000)
        for fd, events in self._poll.poll(wait):
            # A callback may have removed a later one of the same turn.
            if events & WRITE and fd in self._writers:
                self._writers[fd]()
            if events & READ and fd in self._readers:
                self._readers[fd]()
            if self._stopped:
                return
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now and not self._stopped:
            self._timers.pop(0)[2]()

    def close(self) -> None:
        """Restores signal handlers."""
        for number, before in self._before.items():
            _signal.signal(number, before)
        self._before.clear()
        if self._wake_in >= 0:
            _signal.set_wakeup_fd(-1)
            self.forget(self._wake_in)
            os.close(self._wake_in)
            os.close(self._wake_out)
            self._wake_in = -1


def _noted(number: int, frame: object) -> None:
    """The wakeup descriptor has it already; this only prevents the default action."""
