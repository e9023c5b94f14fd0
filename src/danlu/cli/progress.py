"""One line on the terminal that says how far a transfer is."""

from __future__ import annotations

import time

from danlu.cli.formats import duration, size
from danlu.cli.terminal import clear_status, is_terminal, show_status

EVERY = 0.2
BAR = 20


class Progress:
    def __init__(self, quiet: bool) -> None:
        self._shown = not quiet and is_terminal(2)
        self._name = ""
        self._total: int | None = None
        self._begun = self._told = time.monotonic()
        self._start = 0

    def begin(self, name: str, total: int | None, start: int = 0) -> None:
        """`start`: bytes that were there before."""
        self._name, self._total, self._start = name, total, start
        self._begun = time.monotonic()

    def at(self, done: int) -> None:
        now = time.monotonic()
        if not self._shown or now - self._told < EVERY:
            return
        self._told = now
        speed = (done - self._start) / max(0.001, now - self._begun)
        parts = [self._name]
        if self._total:
            share = min(1.0, done / self._total)
            full = int(share * BAR)
            parts.append(f"[{'#' * full}{'.' * (BAR - full)}] {share:4.0%}")
        parts.append(f"{size(done)}, {size(speed)}/s")
        if self._total and speed > 0:
            parts.append(duration(max(0, self._total - done) / speed))
        show_status("  ".join(parts))

    def end(self) -> None:
        if self._shown:
            clear_status()
