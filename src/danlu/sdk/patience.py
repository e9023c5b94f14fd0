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


class Pauses:
    """Each `next()` is twice as long as the one before."""

    __slots__ = ("_first", "_longest", "_pause")

    def __init__(self, first: float = FIRST_PAUSE, longest: float = LONGEST_PAUSE) -> None:
        self._first = self._pause = first
        self._longest = longest

    def next(self) -> float:
        """Seconds."""
        pause = self._pause
        self._pause = min(pause * 2, self._longest)
        return pause

    def reset(self) -> None:
        """Call after a success."""
        self._pause = self._first


class Retries:
    """When to send a request again, and when to give up."""

    __slots__ = ("_end", "_patience", "_pauses")

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._pauses = Pauses()
        self._end: float | None = None

    def after(self, error: Exception) -> float:
        """Seconds until the next try. Raises `error` if it does not pass or patience is over."""
        if not is_away(error):
            raise error
        now = time.monotonic()
        if self._end is None:
            self._end = now + self._patience
        pause = self._pauses.next()
        if now + pause > self._end:
            raise error
        return pause

    def reset(self) -> None:
        """Call after a success."""
        self._pauses.reset()
        self._end = None


def persist(
    ask: Callable[[], Any],
    patience: float = DEFAULT,
    on_lost: Callable[[Exception], None] | None = None,
) -> Any:
    """Retries until there is an answer, with growing pauses."""
    retries = Retries(patience)
    while True:
        try:
            return ask()
        except (Unreachable, Lost, ApiError) as error:
            pause = retries.after(error)
            if on_lost:
                on_lost(error)
        time.sleep(pause)
