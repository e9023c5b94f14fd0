"""Tables for a terminal: aligned by the width characters have on screen, wide ones included."""

from __future__ import annotations

import os
import sys

RESET = "\x1b[0m"
COLOURS = {
    "queued": "\x1b[33m",
    "starting": "\x1b[36m",
    "running": "\x1b[32m",
    "stopping": "\x1b[35m",
    "succeeded": "\x1b[2m",
    "failed": "\x1b[31m",
    "stopped": "\x1b[2m",
    "bold": "\x1b[1m",
    "down": "\x1b[31m",
    "used": "\x1b[33m",
    "free": "\x1b[32m",
}


def width(text: str) -> int:
    """Columns on screen: Chinese, Japanese and Korean characters take two, marks take none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(
        0 if combining(c) or c in "\u200b\u200d\ufe0f" else 2 if east_asian_width(c) in "WF" else 1
        for c in text
    )


def clip(text: str, room: int) -> str:
    """The text within so many columns, with a mark where it was cut."""
    if width(text) <= room:
        return text
    kept = ""
    for character in text:
        if width(kept + character) > room - 1:
            break
        kept += character
    return kept + "…"


def printable(text: str) -> str:
    """One line, no control characters: a job's name must not steer the reader's terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def coloured() -> bool:
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def paint(text: str, colour: str, on: bool) -> str:
    return f"{COLOURS[colour]}{text}{RESET}" if on and colour in COLOURS else text


def screen_columns() -> int | None:
    """How wide the terminal is; None when the output does not go to one."""
    try:
        return os.get_terminal_size(1).columns or None if sys.stdout.isatty() else None
    except OSError:
        return None


def write_table(
    headers: list[str],
    rows: list[list[str]],
    right: str = "",
    state: int | None = None,
    states: list[str] | None = None,
) -> None:
    """Writes it to stdout.

    `right` marks columns aligned right ("  >" : the third). `state` is the column painted after the
    words in `states`. On a terminal the last column is cut to fit; elsewhere nothing ever is.
    """
    columns = screen_columns()
    colour = coloured()
    rows = [[printable(cell) for cell in row] for row in rows]
    last = len(headers) - 1
    widths = [max(width(row[i]) for row in [headers, *rows]) for i in range(len(headers))]
    room = None if columns is None else max(8, columns - sum(widths[:last]) - 2 * last)
    lines: list[str] = []
    for at, row in enumerate([headers, *rows]):
        cells: list[str] = []
        for i, text in enumerate(row):
            if i == last:
                cell = text if room is None else clip(text, room)
            else:
                pad = " " * (widths[i] - width(text))
                cell = pad + text if right[i : i + 1] == ">" else text + pad
            if at == 0:
                cell = paint(cell, "bold", colour)
            elif i == state and states:
                cell = paint(cell, states[at - 1], colour)
            cells.append(cell)
        lines.append("  ".join(cells).rstrip())
    sys.stdout.write("\n".join(lines) + "\n")
