"""`--watch`: repeats the output whenever something changes."""

from __future__ import annotations

import select
import sys
import time

from danlu.cli.follow import Absence, GaveUp
from danlu.sdk.errors import ApiError, Lost, Unreachable
from danlu.sdk.patience import Pauses, is_away

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from danlu.cli.session import Session
    from danlu.sdk.stream import EventStream

    T = TypeVar("T")

GATHER = 0.2  # seconds: changes close together are drawn together
TICK = 1.0  # seconds after which relative times are redrawn
PATIENCE = 600.0
CLEAR = "\x1b[H\x1b[J"


def watch(
    session: Session, look: Callable[[], T], draw: Callable[[T], int], owner: str | None = None
) -> int:
    """Draws, and looks again on every change, until interrupted. Between changes only times pass:
    they are drawn without asking the server.
    """
    screen = sys.stdout.isatty()
    stream = session.client.event_stream(owner=owner, beat=TICK if screen else None)
    absence, pauses = Absence(PATIENCE), Pauses()
    seen: list[T] = []
    while True:
        try:
            if not stream.is_open:
                stream.open()
                stream.set_timeout(60.0)
            # The first message is a greeting: from then on nothing is missed.
            changed = bool(stream.pump())
            if changed or (screen and not seen):
                _gather(stream)
                again, seen = bool(seen), [look()]
                _draw(draw, seen[0], screen, again)
            elif screen:
                _draw(draw, seen[0], screen, again=True)
            absence.over()
            pauses.reset()
        except (Lost, Unreachable, ApiError) as error:
            stream.close()
            if not is_away(error) or not seen:
                raise
            try:
                absence.note(error)
            except GaveUp:
                raise error from None
            time.sleep(pauses.next())


def _gather(stream: EventStream) -> None:
    end = time.monotonic() + GATHER
    while (left := end - time.monotonic()) > 0:
        if stream.is_open and select.select([stream], [], [], left)[0]:
            stream.pump()


def _draw(draw: Callable[[T], int], value: T, screen: bool, again: bool) -> None:
    if screen:
        sys.stdout.write(CLEAR)
    elif again:
        sys.stdout.write("\n")
    draw(value)
    sys.stdout.flush()
