"""`--watch`: the same answer again whenever something changes."""

from __future__ import annotations

import select
import sys
import time

from danlu.cli.follow import Absence, GaveUp
from danlu.sdk.errors import ApiError, Lost, Unreachable
from danlu.sdk.patience import FIRST_PAUSE, LONGEST_PAUSE, is_away

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from danlu.cli.session import Session
    from danlu.sdk.stream import EventStream

GATHER = 0.2  # seconds: what changes together is shown together
TICK = 5.0  # seconds after which times on a screen are shown anew
PATIENCE = 600.0
CLEAR = "\x1b[H\x1b[J"


def watch(session: Session, draw: Callable[[], int], owner: str | None = None) -> int:
    """Draws, and draws again at every change, until somebody interrupts."""
    screen = sys.stdout.isatty()
    stream = session.client.event_stream(owner=owner, beat=TICK if screen else None)
    absence, pause, drawn = Absence(PATIENCE), FIRST_PAUSE, False
    while True:
        try:
            if not stream.is_open:
                stream.open()
                stream.set_timeout(60.0)
            # The first message is a greeting: from then on nothing is missed.
            changed = bool(stream.pump()) or screen
            if changed:
                _gather(stream)
                _draw(draw, screen, again=drawn)
                drawn = True
            absence.over()
            pause = FIRST_PAUSE
        except (Lost, Unreachable, ApiError) as error:
            stream.close()
            if not is_away(error) or not drawn:
                raise
            try:
                absence.note(error)
            except GaveUp:
                raise error from None
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)


def _gather(stream: EventStream) -> None:
    end = time.monotonic() + GATHER
    while (left := end - time.monotonic()) > 0:
        if stream.is_open and select.select([stream], [], [], left)[0]:
            stream.pump()


def _draw(draw: Callable[[], int], screen: bool, again: bool) -> None:
    if screen:
        sys.stdout.write(CLEAR)
    elif again:
        sys.stdout.write("\n")
    draw()
    sys.stdout.flush()
