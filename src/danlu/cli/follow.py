"""Follows logs: from many streams to the screen, across lost connections."""

from __future__ import annotations

import time

from danlu.cli.terminal import say, write_all
from danlu.cli.texts import t
from danlu.sdk.errors import ApiError, Lost, Unreachable
from danlu.sdk.patience import Pauses, is_away

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from danlu.cli.loop import Loop
    from danlu.sdk.logs import LogStream


class GaveUp(Exception):
    """The server did not come back in time."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class Absence:
    """Shared by all streams, so that an absent server is reported once."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._since: float | None = None

    def note(self, error: Exception) -> None:
        """A request failed. Raises GaveUp if that has gone on for too long."""
        now = time.monotonic()
        if self._since is None:
            self._since = now
            say(t("lost.following", cause=_cause(error), patience=int(self._patience)))
        elif now - self._since > self._patience:
            raise GaveUp(_cause(error))

    def over(self) -> None:
        if self._since is not None:
            self._since = None
            say(t("lost.back"))


def _cause(error: Exception) -> str:
    if isinstance(error, (Lost, Unreachable)):
        return error.cause
    return str(error)


class Tail:
    """One stream in a loop. Reopened at its offset whenever the connection is lost."""

    def __init__(
        self,
        loop: Loop,
        log: LogStream,
        sink: Callable[[bytes], None],
        absence: Absence,
        on_end: Callable[[], None],
    ) -> None:
        self.log = log
        self._loop = loop
        self._sink = sink
        self._absence = absence
        self._on_end = on_end
        self._pauses = Pauses()

    def start(self, patient: bool = True) -> None:
        """Opens it; unless `patient`, a server that was never reachable is an error at once."""
        try:
            self.log.open()
        except (Lost, Unreachable) as error:
            if not patient:
                raise
            self._retry(error)
            return
        self._loop.on_readable(self.log.fileno(), self._readable)

    def _readable(self) -> None:
        fd = self.log.fileno()
        try:
            data = self.log.pump()
        except (Lost, Unreachable, ApiError) as error:
            self._loop.forget(fd)
            self.log.close()
            if not is_away(error):
                raise
            self._retry(error)
            return
        self._pauses.reset()
        self._absence.over()
        if self.log.done:
            self._loop.forget(fd)
        if data:
            self._sink(data)
        if self.log.done:
            self._on_end()

    def _retry(self, error: Exception) -> None:
        self._absence.note(error)
        self._loop.after(self._pauses.next(), self.start)

    def close(self) -> None:
        if self.log.is_open:
            self._loop.forget(self.log.fileno())
            self.log.close()


def plain_sink(fd: int) -> Callable[[bytes], None]:
    """Copies bytes unchanged."""
    return lambda data: write_all(fd, data)


class LabelledSink:
    """Lines of one of several streams, each with a label."""

    def __init__(self, fd: int, label: str) -> None:
        self._fd = fd
        self._label = f"{label}: ".encode()
        self._held = b""

    def __call__(self, data: bytes) -> None:
        *lines, self._held = (self._held + data).split(b"\n")
        if lines:
            write_all(self._fd, b"".join(self._label + line + b"\n" for line in lines))
        if len(self._held) > 1 << 20:
            self.finish()

    def finish(self) -> None:
        """Terminates an unfinished last line, so that others do not run into it."""
        if self._held:
            write_all(self._fd, self._label + self._held + b"\n")
            self._held = b""
