"""Somebody at a terminal: starts a command there, types, reads, resizes the window."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.server import DanluServer

LONGEST = 180.0


class Terminal:
    """A program, found by the PATH of its environment, on a terminal of its own."""

    def __init__(
        self,
        *words: str,
        env: Mapping[str, str],
        folder: Path | None = None,
        rows: int = 24,
        cols: int = 80,
    ) -> None:
        self.seen = ""
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            # The child of a process that runs threads: nothing but exec.
            if folder is not None:
                os.chdir(folder)
            os.execvpe(words[0], words, {**env, "TERM": "xterm-256color"})
        self.resize(rows, cols)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._fd)

    def resize(self, rows: int, cols: int) -> None:
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def type(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def read_until(self, words: str) -> str:
        """Everything up to and including these words; what follows is read next time."""
        deadline = time.monotonic() + LONGEST
        while words not in self.seen:
            assert time.monotonic() < deadline, f"no {words!r} in {self.seen!r}"
            if not self._read(1.0):
                break
        assert words in self.seen, f"the end came without {words!r}: {self.seen!r}"
        end = self.seen.index(words) + len(words)
        found, self.seen = self.seen[:end], self.seen[end:]
        return found

    def _read(self, wait: float) -> bool:
        if not select.select([self._fd], [], [], wait)[0]:
            return True
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            return False
        self.seen += data.decode("utf-8", "replace")
        return bool(data)

    def end(self) -> int:
        """Reads the rest and gives the exit code."""
        deadline = time.monotonic() + LONGEST
        while self._read(1.0):
            assert time.monotonic() < deadline, f"it does not end: {self.seen!r}"
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def echoes(self) -> bool:
        """Whether the terminal is in its usual mode."""
        return bool(termios.tcgetattr(self._fd)[3] & termios.ECHO)


class Person(Terminal):
    """Uses `danlu`."""

    def __init__(self, server: DanluServer, *words: str, rows: int = 24, cols: int = 80) -> None:
        command = (sys.executable, "-m", "danlu.cli", *words)
        super().__init__(*command, env={**server.env, "NO_COLOR": "1"}, rows=rows, cols=cols)
