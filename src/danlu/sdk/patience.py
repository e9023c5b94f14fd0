"""Retries while a server is away."""

from __future__ import annotations

import time

from danlu.sdk.errors import ApiError, Lost, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

DEFAULT = 600.0
"""Seconds after which to give up on a server that does not come back."""

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0


def is_away(error: Exception) -> bool:
    """Whether the same request may succeed once the server is back."""
    return isinstance(error, (Unreachable, Lost)) or (isinstance(error, ApiError) and error.passing)


def persist(
    ask: Callable[[], Any],
    patience: float = DEFAULT,
    on_lost: Callable[[Exception], None] | None = None,
) -> Any:
    """Retries until there is an answer, with growing pauses."""
    pause = FIRST_PAUSE
    end: float | None = None
    while True:
        try:
            return ask()
        except (Unreachable, Lost, ApiError) as error:
            if not is_away(error):
                raise
            now = time.monotonic()
            end = now + patience if end is None else end
            if now + pause > end:
                raise
            if on_lost:
                on_lost(error)
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
