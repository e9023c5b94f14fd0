"""`danlu top`: the GPUs, their use and the queue, live."""

from __future__ import annotations

import os
import sys
import time

from danlu.cli import codes
from danlu.cli.board import Board, screen
from danlu.cli.formats import seconds
from danlu.cli.loop import Loop
from danlu.cli.options import UsageError
from danlu.cli.table import coloured, screen_columns
from danlu.cli.terminal import Terminal, is_terminal, write_all
from danlu.cli.texts import t
from danlu.sdk.errors import ApiError, Lost, Unreachable
from danlu.sdk.patience import is_away

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.options import Args
    from danlu.cli.session import Session

EVERY = 2.0
LEAST = 0.2
SIGWINCH = 28
# The alternate screen, without a cursor; what was on the screen before comes back at the end.
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
QUIT = frozenset(b"qQ\x03\x04\x1b")


def top(session: Session, args: Args) -> int:
    every = _every(args)
    board = Board(session.client)
    if session.json:
        board.look()
        return session.print_json(board.values())
    if args.flag("once") or not (is_terminal(0) and is_terminal(1)):
        board.look()
        lines = screen(board, screen_columns() or 100, None, coloured())
        sys.stdout.write("\n".join(lines) + "\n")
        return codes.OK
    live = _Live(board, every)
    try:
        live.run()
    finally:
        live.close()
    return codes.OK


def _every(args: Args) -> float:
    given = args.get("every")
    value = EVERY if given is None else seconds(given)
    if value is None:
        raise UsageError("usage.not_a_time", "top", option="--every", value=given)
    return max(LEAST, value)


class _Live:
    def __init__(self, board: Board, every: float) -> None:
        self._board = board
        self._every = every
        self._loop = Loop()
        self._terminal = Terminal(0)
        self._colour = coloured()
        self._trouble = ""

    def run(self) -> None:
        self._board.look()  # a server that cannot be reached is an error before the screen changes
        loop = self._loop
        self._terminal.make_raw(output=False)
        write_all(1, ENTER.encode())
        loop.on_readable(0, self._key)
        loop.on_signal(SIGWINCH, self._draw)
        for number in (codes.SIGTERM, codes.SIGHUP, codes.SIGINT):
            loop.on_signal(number, loop.stop)
        self._draw()
        loop.after(self._every, self._again)
        loop.run()

    def _again(self) -> None:
        started = time.monotonic()
        try:
            self._board.look()
            self._trouble = ""
        except (Lost, Unreachable, ApiError) as error:
            if not is_away(error):
                raise
            self._trouble = t("top.away", cause=getattr(error, "cause", "") or str(error))
        self._draw()
        # A slow server is not asked more often than it can answer.
        self._loop.after(max(self._every, 2 * (time.monotonic() - started)), self._again)

    def _key(self) -> None:
        try:
            keys = os.read(0, 64)
        except OSError:
            keys = b""
        if not keys or QUIT & set(keys[:1]):
            self._loop.stop()
        else:
            self._draw()

    def _draw(self) -> None:
        rows, columns = self._terminal.size() or (24, 80)
        lines = screen(self._board, columns, rows, self._colour, self._trouble)
        text = "\x1b[H" + "\n".join(f"{line}\x1b[K" for line in lines) + "\x1b[J"
        write_all(1, text.encode())

    def close(self) -> None:
        self._loop.close()
        write_all(1, LEAVE.encode())
        self._terminal.restore()
