"""Copies a task's output to its log: byte for byte, up to a cap, surviving a full disk."""

from __future__ import annotations

import os

_PIECE = 256 * 1024


def size_text(size: int) -> str:
    for unit, factor in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}B"
    return f"{size} B"


class Budget:
    """The remaining log space of a task, over all its streams."""

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self.left = cap


class Log:
    """One log file. Never raises on disk errors: lost bytes are counted and marked."""

    def __init__(self, fd: int, budget: Budget, end: bytes = b"\n") -> None:
        self.fd = fd
        self._end = end  # of our own lines: what a terminal prints is shown on one as it is
        self._budget = budget
        self._capped = False
        self._at_line_start = True
        self._lost = 0
        self._why = ""
        self.lost_total = 0

    def pump(self, source: int) -> bool:
        """Copies what is available. False: end of stream."""
        try:
            data = os.read(source, _PIECE)
        except BlockingIOError:
            return True
        except OSError:  # EIO from a terminal without processes
            return False
        if data:
            self.write(data)
        return bool(data)

    def write(self, data: bytes) -> None:
        if self._capped:
            return
        kept = data[: self._budget.left] if len(data) > self._budget.left else data
        self._keep(kept)
        self._budget.left -= len(kept)
        if len(kept) < len(data):
            self._capped = True
            cap = size_text(self._budget.cap)
            self.note(
                f"log limit of {cap} reached; further output is not kept. "
                f"日志达到上限 {cap}，之后的输出不再保存"
            )

    def note(self, text: str) -> None:
        """Adds a line from Danlu. It does not count towards the cap."""
        self._keep(self._line(text))

    def close(self) -> None:
        """A last attempt to mark a gap."""
        if self._lost:
            self._mark_gap()

    def _line(self, text: str) -> bytes:
        start = b"" if self._at_line_start else self._end
        return start + f"[danlu] {text}".encode() + self._end

    def _keep(self, data: bytes) -> None:
        if not data:
            return
        if self._lost and not self._mark_gap():
            self._lose(len(data))
            return
        written = self._put(data)
        if written:
            self._at_line_start = data[written - 1 : written] == b"\n"
        if written < len(data):
            self._lose(len(data) - written)

    def _lose(self, count: int) -> None:
        self._lost += count
        self.lost_total += count

    def _mark_gap(self) -> bool:
        mark = self._line(
            f"{self._lost} bytes of output were lost here: {self._why}. "
            f"此处丢失 {self._lost} 字节输出：{self._why}"
        )
        before = os.lseek(self.fd, 0, os.SEEK_END)
        if self._put(mark) < len(mark):
            os.ftruncate(self.fd, before)
            return False
        self._lost = 0
        self._at_line_start = True
        return True

    def _put(self, data: bytes) -> int:
        done = 0
        view = memoryview(data)
        while done < len(data):
            try:
                done += os.write(self.fd, view[done:])
            except OSError as error:
                self._why = (error.strerror or "error").lower()
                break
        return done
