"""The user's terminal: raw mode, size, one-key questions, complete writes."""

from __future__ import annotations

import os
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

IFLAG, OFLAG, LFLAG, CC = 0, 1, 3, 6

CLEAR_LINE = "\r\x1b[K"

_raw: Terminal | None = None
_status = False


class Terminal:
    """A terminal that can be put into raw mode and back."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._saved: list[Any] | None = None

    def make_raw(self, output: bool = True) -> None:
        """Keys arrive unprocessed; with `output`, output is unprocessed, too."""
        global _raw
        import termios

        if self._saved is None:
            self._saved = termios.tcgetattr(self.fd)
        mode: list[Any] = [list(part) if isinstance(part, list) else part for part in self._saved]
        mode[IFLAG] &= ~(
            termios.BRKINT | termios.ICRNL | termios.INPCK | termios.ISTRIP | termios.IXON
        )
        if output:
            mode[OFLAG] &= ~termios.OPOST
            _raw = self
        mode[LFLAG] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
        mode[CC][termios.VMIN], mode[CC][termios.VTIME] = 1, 0
        termios.tcsetattr(self.fd, termios.TCSANOW, mode)

    def restore(self, raw: Terminal | None = None) -> None:
        """Restores the terminal; `raw`: whether it stays raw for someone else."""
        global _raw
        if self._saved is None:
            return
        import termios

        saved, self._saved = self._saved, None
        _raw = raw
        try:  # noqa: SIM105 - contextlib is slow to import
            termios.tcsetattr(self.fd, termios.TCSADRAIN, saved)
        except termios.error:
            pass  # the terminal is gone

    def size(self) -> tuple[int, int] | None:
        """Rows and columns."""
        try:
            found = os.get_terminal_size(self.fd)
        except OSError:
            return None
        return found.lines, found.columns


def say(text: str) -> None:
    """A message of ours on stderr, separate from the job's output."""
    clear_status()
    end = "\r\n" if _raw is not None else "\n"
    try:
        sys.stderr.write(f"danlu: {text}{end}")
        sys.stderr.flush()
    except OSError:
        pass


def show_status(text: str) -> None:
    """A line of ours on stderr, a terminal, that the next output replaces."""
    global _status
    from danlu.cli.table import clip, printable

    try:
        columns = os.get_terminal_size(2).columns or 80
        sys.stderr.write(CLEAR_LINE + clip(printable(f"danlu: {text}"), columns - 1))
        sys.stderr.flush()
        _status = True
    except OSError:
        pass


def clear_status() -> None:
    global _status
    if _status:
        _status = False
        try:
            sys.stderr.write(CLEAR_LINE)
            sys.stderr.flush()
        except OSError:
            pass


def is_terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:
        return False


def in_foreground(fd: int) -> bool:
    """Whether reading from this terminal would not suspend us: we are its foreground job."""
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False


def ask_key(question: str) -> str | None:
    """One key from the controlling terminal; None if there is none. Ctrl-C is a key."""
    try:
        fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return None
    try:
        if not in_foreground(fd):
            return None
        terminal = Terminal(fd)
        before = _raw
        terminal.make_raw(output=False)
        clear_status()
        try:
            end = "\r\n" if before is not None else "\n"
            os.write(fd, f"{end}danlu: {question} ".encode())
            key = os.read(fd, 1).decode("latin-1")
            os.write(fd, f"{key if key.isprintable() else ''}{end}".encode())
        finally:
            terminal.restore(before)
        return key
    except OSError:
        return None
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    """Writes every byte, even if someone made the descriptor non-blocking."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            poll = select.poll()
            poll.register(fd, select.POLLOUT)
            poll.poll()
