"""Tables for a terminal, aligned by display width."""

from __future__ import annotations

import os
import sys

RESET = "\x1b[0m"
LEAST = 8  # columns kept of a cell
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
    """Columns on screen: CJK characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(
        0 if combining(c) or c in "\u200b\u200d\ufe0f" else 2 if east_asian_width(c) in "WF" else 1
        for c in text
    )


def clip(text: str, room: int) -> str:
    """Truncates to so many columns, with a mark."""
    if width(text) <= room:
        return text
    kept = ""
    for character in text:
        if width(kept + character) > room - 1:
            break
        kept += character
    return kept + "…"


def wrapped(text: str, room: int) -> list[str]:
    """Lines of at most so many columns, broken at spaces where there are any."""
    lines, line = [], ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if width(joined) > room and line:
            lines.append(line)
            joined = word
        while width(joined) > room:
            kept = clip(joined, room)[:-1] or joined[0]
            lines.append(kept)
            joined = joined[len(kept) :]
        line = joined
    return [*lines, line]


def printable(text: str) -> str:
    """One line without control characters: a job's name must not control the reader's terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def coloured() -> bool:
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def paint(text: str, colour: str, on: bool) -> str:
    return f"{COLOURS[colour]}{text}{RESET}" if on and colour in COLOURS else text


def screen_columns() -> int | None:
    """The width of the terminal; None if the output is not one."""
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
    """Prints it. On a terminal, columns are cut to fit; otherwise nothing is."""
    lines = table_lines(headers, rows, right, state, states, screen_columns(), coloured())
    sys.stdout.write("\n".join(lines) + "\n")


def table_lines(
    headers: list[str],
    rows: list[list[str]],
    right: str,
    state: int | None,
    states: list[str] | None,
    columns: int | None,
    colour: bool,
) -> list[str]:
    """The lines of a table.

    `right` marks right-aligned columns ("  >": the third). `state` is the column colored by
    `states`. `columns`: what it has to fit into, the last column giving way first.
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    last = len(headers) - 1
    widths = [max(width(row[i]) for row in [headers, *rows]) for i in range(len(headers))]
    if columns is not None:
        _squeeze(widths, [width(head) for head in headers], columns - 2 * last)
    lines: list[str] = []
    for at, row in enumerate([headers, *rows]):
        cells: list[str] = []
        for i, text in enumerate(row):
            cell = text if columns is None else clip(text, widths[i])
            if i != last:
                pad = " " * (widths[i] - width(cell))
                cell = pad + cell if right[i : i + 1] == ">" else cell + pad
            if at == 0:
                cell = paint(cell, "bold", colour)
            elif i == state and states:
                cell = paint(cell, states[at - 1], colour)
            cells.append(cell)
        lines.append("  ".join(cells).rstrip())
    return lines


def _squeeze(widths: list[int], heads: list[int], room: int) -> None:
    """Makes columns narrower until they fit: the last one, then the widest."""
    last = len(widths) - 1
    widths[last] = max(min(widths[last], room - sum(widths[:last])), min(widths[last], LEAST))
    while sum(widths) > room:
        most = max(range(len(widths)), key=lambda i: widths[i] - max(heads[i], LEAST))
        if widths[most] <= max(heads[most], LEAST):
            return
        widths[most] -= 1
