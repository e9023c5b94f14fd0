"""One request: its socket, its values, and whether anybody still waits for it."""

from __future__ import annotations

import select
import socket
import time
from typing import Any

from danlu.files.helper import wire
from danlu.files.helper.beneath import Place, Root, place
from danlu.files.helper.faults import Cancelled, Fault, fault_of

EVERY = 0.3  # seconds between reports, and between looks whether it is still wanted
MOST_PROBLEMS = 100
MOST_RESULTS = 1000


class Request:
    def __init__(
        self,
        sock: socket.socket,
        values: wire.Values,
        roots: list[Root],
        pipe: int | None = None,
    ) -> None:
        self.sock = sock
        self.values = values
        self.roots = roots
        self.pipe = pipe  # for bytes in one direction, if the server wants them that way
        self.files = 0
        self.bytes = 0
        self.files_total: int | None = None
        self.bytes_total: int | None = None
        self.results: list[str] = []
        self.problems: list[dict[str, str]] = []
        self.problem_count = 0
        self._told = time.monotonic()
        self._ticks = 0
        self._room = values.get("room")  # bytes that may be written; None: any number

    # -- what is asked ------------------------------------------------------------------------

    def place(self, key: str = "path") -> Place:
        return self._place(self.values[key])

    def places(self, key: str = "paths") -> list[Place]:
        return [self._place(given) for given in self.values[key]]

    def _place(self, given: Any) -> Place:
        index, below = given
        return place(self.roots[index], below)

    def text(self, key: str) -> str:
        return str(self.values.get(key, ""))

    def number(self, key: str, default: int = 0) -> int:
        value = self.values.get(key)
        return default if value is None else int(value)

    def outlet(self, part: wire.Values) -> int:
        """Where the bytes of a part go: the pipe, or the socket."""
        return self.pipe if self.pipe is not None and part.get("piped") else self.sock.fileno()

    # -- answering ----------------------------------------------------------------------------

    def answer(self, **values: Any) -> None:
        wire.send(self.sock, values)

    def tick(self, files: int = 0, size: int = 0) -> None:
        """Counts what was done, reports now and then. Raises Cancelled."""
        self.files += files
        self.bytes += size
        self._ticks += 1
        if size and self._room is not None and self.bytes > int(self._room):
            raise Fault("over_quota", "", self.text("room_detail"))
        if self._ticks & 15 and not size:
            return
        now = time.monotonic()
        if now - self._told < EVERY:
            return
        self._told = now
        if self.gone():
            raise Cancelled
        self.report()

    def gone(self) -> bool:
        """The server has closed its end, or says something, which can only be to stop."""
        poll = select.poll()  # not select(): descriptors may be beyond 1024
        poll.register(self.sock, select.POLLIN)
        return bool(poll.poll(0))

    def report(self) -> None:
        self.answer(
            progress={
                "files_done": self.files,
                "bytes_done": self.bytes,
                "files_total": self.files_total,
                "bytes_total": self.bytes_total,
            }
        )

    def made(self, where: Place) -> None:
        if len(self.results) < MOST_RESULTS:
            self.results.append(where.shown)

    def problem(self, error: BaseException, path: str) -> None:
        """Something that does not stop the rest."""
        self.problem_count += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(fault_of(error, path).values() | {"path": path})

    def outcome(self, **more: Any) -> None:
        self.report()
        self.answer(
            results=self.results, problems=self.problems, problem_count=self.problem_count, **more
        )


def deadline(seconds: float, path: str) -> Any:
    """A function that raises when the time is over."""
    end = time.monotonic() + seconds

    def check() -> None:
        if time.monotonic() > end:
            raise Fault("too_long", path)

    return check
